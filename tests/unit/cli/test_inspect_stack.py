"""Commands for incidents: rows, logs, metrics, work lists, runs, the cache."""

import io
import json
import re
import socket
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.provider_name import ProviderName
from redpacket.operations.dynamodb.audit_log import note_action
from redpacket.operations.model.operators import (
    ACTION_CURSOR,
    Action,
    ActionKind,
    Change,
    user_subject,
)
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.payments.dynamodb import items
from redpacket.platform import tls
from redpacket.platform.user import User
from tests.unit.cli.test_command import PACKET, Caller, Journal, Stack, _body, _ok, stack

__all__ = ["stack"]


class Tables(Journal):
    """DynamoDB whose rows are keyed by partition or by work list."""

    class exceptions:  # noqa: N801 - boto3's name
        class TransactionCanceledException(Exception):
            """Error of a failed condition."""

    def __init__(self, **rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        super().__init__()
        self.requests: list[dict[str, Any]] = []
        self.is_changed = False

    def transact_write_items(self, *, TransactItems: list[dict[str, Any]]) -> None:  # noqa: N803
        if self.is_changed:
            raise self.exceptions.TransactionCanceledException
        super().transact_write_items(TransactItems=TransactItems)

    def get_paginator(self, name: str) -> "Tables":
        assert name == "query"
        return self

    def paginate(self, **query: Any) -> Any:
        self.requests.append(query)
        values = query["ExpressionAttributeValues"]
        named = values[":list" if ":list" in values else ":pk"]["S"]
        half = len(self.rows.get(named, [])) // 2
        stored = self.rows.get(named, [])
        return [{"Items": stored[:half]}, {"Items": stored[half:]}]


def _row(**values: str | int) -> dict[str, Any]:
    return {
        name: {"N": str(value)} if isinstance(value, int) else {"S": value}
        for name, value in values.items()
    }


@pytest.fixture
def tables(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Tables:
    names = ("PacketsTable", "SharesTable", "AccountsTable", "PaymentsTable", "ExpireFunction")
    more = {name: name for name in (*names, "TransferFunction", "JournalTable")}
    more["WorkShards"] = str(keys.WORK_SHARDS)
    monkeypatch.setattr("redpacket_cli.target.Target.outputs", more)
    tables = Tables()
    stack.clients |= {"dynamodb": tables, "sts": Caller()}
    return tables


def test_a_packet_is_shown_with_its_shares_and_without_its_seed(
    stack: Stack, tables: Tables
) -> None:
    tables.rows = {
        f"packet#{PACKET}": [_row(pk="p", sk="packet", status="open", sealed_seed="secret")],
        f"shares#{PACKET}#0": [_row(pk="s", sk="share#0000001", fate="claimed", amount_fen=5)],
    }

    items = stack.ask_json("ledger", "packet", PACKET)["items"]

    assert items == [
        {"pk": "p", "sk": "packet", "status": "open"},
        {"pk": "s", "sk": "share#0000001", "fate": "claimed", "amount_fen": 5},
    ]
    assert "share#0000001" in stack.run("ledger", "packet", PACKET).stdout


@pytest.mark.parametrize(("balance_fen", "code"), [(7, 0), (8, 1)])
def test_a_balance_is_compared_with_its_entries(
    stack: Stack, tables: Tables, balance_fen: int, code: int
) -> None:
    tables.rows["user:ann"] = [
        _row(sk="balance", balance_fen=balance_fen),
        _row(sk="entry#1", amount_fen=10),
        _row(sk="entry#2", amount_fen=-3),
        _row(sk="entry#3", note="no money"),
    ]

    answer = stack.ask_json("ledger", "account", "user:ann", code=code)

    assert answer == {"balance_fen": balance_fen, "entries_fen": 7, "entry_count": 2}


def test_a_corrected_balance_leaves_a_row_in_the_audit_log(stack: Stack, tables: Tables) -> None:
    tables.rows["user:ann"] = [
        _row(sk="balance", balance_fen=8),
        _row(sk="entry#1", amount_fen=10),
        _row(sk="entry#2", amount_fen=-3),
    ]

    told = stack.ask_json("ledger", "correct", "user:ann", "--wrong", "8", "--reason", "drill")

    assert told == {"account": "user:ann", "before_fen": 8, "after_fen": 7}
    update, noted = (each.get("Update") or each["Put"] for each in tables.written)
    assert update["ConditionExpression"] == "balance_fen = :wrong"
    assert update["ExpressionAttributeValues"] == {":right": {"N": "7"}, ":wrong": {"N": "8"}}
    row = noted["Item"]
    action = Action(
        User("arn:aws:sts::1:assumed-role/operator/ann"),
        ActionKind.BALANCE_CORRECTED,
        user_subject("ann"),
        int(row["at_ms"]["N"]),
        (Change("balance_fen", "8", "7"), Change("reason", None, "drill")),
    )
    (expected,) = note_action("JournalTable", action)
    of_package = {**expected["Put"]["Item"], "sk": row["sk"], "list_sk": row["list_sk"]}
    assert row == of_package
    assert row["sk"] == row["list_sk"]
    assert re.fullmatch(ACTION_CURSOR, row["sk"]["S"])


def test_a_corrected_counter_leaves_a_row_in_the_audit_log(stack: Stack, tables: Tables) -> None:
    words = ("user:ann", "open_count", "--wrong", "3", "--right", "2", "--reason", "drill")

    told = stack.ask_json("ledger", "correct-count", *words)

    assert told == {"account": "user:ann", "before": 3, "after": 2}
    update, noted = (each.get("Update") or each["Put"] for each in tables.written)
    assert update["Key"] == {"pk": {"S": "user:ann"}, "sk": {"S": "balance"}}
    assert update["UpdateExpression"] == "SET open_count = :right"
    assert update["ConditionExpression"] == "open_count = :wrong"
    assert noted["Item"]["subject"] == {"S": "user:ann"}
    assert _changes(noted) == [
        ("command", None, "ledger correct-count"),
        ("open_count", "3", "2"),
        ("reason", None, "drill"),
    ]


def test_the_corrected_amount_of_a_share_leaves_a_row_in_the_audit_log(
    stack: Stack, tables: Tables
) -> None:
    words = (PACKET, "7", "--wrong", "999", "--right", "502", "--reason", "drill")

    told = stack.ask_json("ledger", "correct-share", *words)

    assert told == {"share": 7, "before_fen": 999, "after_fen": 502}
    update, noted = (each.get("Update") or each["Put"] for each in tables.written)
    key = {name: text["S"] for name, text in update["Key"].items()}
    assert key == packet_keys.share(PACKET, 7)
    # The payout of a settled share is final.
    condition = "amount_fen = :wrong AND attribute_not_exists(settled_at_ms)"
    assert update["ConditionExpression"] == condition
    assert noted["Item"]["subject"] == {"S": f"packet:{PACKET}"}
    assert ("amount_fen", "999", "502") in _changes(noted)


def _changes(noted: dict[str, Any]) -> list[tuple[str, ...]]:
    return [tuple(each.values()) for each in json.loads(noted["Item"]["changes"]["S"])]


@pytest.mark.parametrize(
    "words",
    [
        ("correct", "user:ann", "--wrong", "8"),
        ("correct-count", "user:ann", "open_count", "--wrong", "8", "--right", "7"),
        ("correct-share", PACKET, "7", "--wrong", "8", "--right", "7"),
    ],
)
def test_a_value_that_changed_meanwhile_is_not_corrected(
    stack: Stack, tables: Tables, words: tuple[str, ...]
) -> None:
    tables.is_changed = True

    refused = stack.run("ledger", *words, "--reason", "drill")

    assert refused.exit_code == 3
    assert tables.written == []


@pytest.mark.parametrize(
    "words",
    [("ledger", "account", "user:bob"), ("ledger", "packet", PACKET), ("payments", "show", "p1")],
)
def test_an_id_without_rows_is_refused(
    stack: Stack, tables: Tables, words: tuple[str, ...]
) -> None:
    refused = stack.run(*words)

    assert refused.exit_code == 3
    assert f"{words[-1]} is not in the tables" in refused.stderr
    assert tables.requests[0]["ConsistentRead"] is True


def test_a_withdrawal_is_shown_with_the_reason_why_it_waits(stack: Stack) -> None:
    waits = {
        "withdrawal_id": "1",
        "waits_for": "the next call",
        "next_step": "Wait.",
        "next_at_ms": 0,
    }
    details = {**waits, "calls": [{"at_ms": 0, "answer": "refused NOT_ENOUGH"}]}
    stack.answers["GET /admin/withdrawals"] = _ok(items=[waits], next=None)
    stack.answers["GET /admin/withdrawals/1"] = _ok(**details)

    assert stack.ask_json("withdrawals", "list", "--status", "queued")["items"] == [waits]
    assert stack.ask_json("withdrawals", "show", "1") == details
    assert "refused NOT_ENOUGH" in stack.run("withdrawals", "show", "1").stdout
    assert "the next call" in stack.run("withdrawals", "list").stdout
    (first, _) = stack.sent("GET /admin/withdrawals")
    assert dict(first.url.params)["status"] == "queued"


def test_withdrawals_fit_into_100_columns(stack: Stack) -> None:
    waits = {
        "withdrawal_id": "0" * 32,
        "status": "awaiting_confirmation",
        "amount_fen": 8_888_888,
        "channel": "wechat",
        "user": "alice",
        "user_token": "A" * 22,
        "created_at_ms": 0,
        "waits_for": "the user's confirmation",
        "next_step": "Wait for the user.",
        "next_at_ms": 0,
    }
    stack.answers["GET /admin/withdrawals"] = _ok(items=[waits], next=None)

    output = stack.run("withdrawals", "list").stdout

    (row,) = (line for line in output.splitlines() if "000" in line)
    assert row.replace("│", " ").split(maxsplit=3)[:3] == ["0" * 32, waits["status"], "8888888"]
    assert "the user's confirmation" in row
    assert max(map(len, output.splitlines())) <= 100


def test_a_payment_is_shown_without_its_prompt(stack: Stack, tables: Tables) -> None:
    tables.rows = {"payment#1": [_row(sk="payment", payment_status="paid", prompt="secret")]}

    paid = stack.ask_json("payments", "show", "1")["items"]

    assert paid == [{"sk": "payment", "payment_status": "paid"}]


def test_a_work_list_is_read_in_every_partition(stack: Stack, tables: Tables) -> None:
    late = _row(pk="b", sk="x", work_pk="due#31", work_at_ms=2)
    tables.rows = {
        "due#31": [late],
        "due#0": [_row(pk="a", sk="x", work_pk="due#0", work_at_ms=1)],
        "look-wechat#7": [_row(pk="c", sk="x", work_pk="look-wechat#7", work_at_ms=1)],
        "look-host#0": [_row(pk="d", sk="x", work_pk="look-host#0", work_at_ms=0)],
    }

    due = stack.ask_json("work", "list", "due")["items"]
    look = stack.ask_json("work", "list", "look")["items"]

    assert [item["pk"] for item in due] == ["a", "b"]
    assert [item["pk"] for item in look] == ["d", "c"]
    assert len(tables.requests) == keys.WORK_SHARDS + len(ProviderName) * len(items.SHARDS)


def test_listed_returns_and_debts_are_shown_and_a_return_is_resolved(stack: Stack) -> None:
    path = "/admin/payments/returns"
    stack.answers |= {
        f"GET {path}": _ok(items=[{"payment_id": "1", "amount_fen": 5}], next=None),
        "GET /admin/payments/debts": _ok(items=[], next=None),
        f"POST {path}": _ok(payment_id="1"),
    }

    listed = stack.ask_json("payments", "returns")["items"]
    given = ("--by", "outside", "--reference", "bank-7", "--reason", "closed")
    stack.ask_json("payments", "resolve", "1", "42", *given)

    assert listed == [{"payment_id": "1", "amount_fen": 5}]
    assert stack.run("payments", "debts").stdout == "none\n"
    (sent,) = stack.sent(f"POST {path}")
    assert _body(sent) == {
        "payment_id": "1",
        "transaction_id": "42",
        "by": "outside",
        "reference": "bank-7",
        "reason": "closed",
    }


class Aws:
    """Fake CloudFormation, CloudWatch, Logs and Lambda clients."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answer: dict[str, Any] = {"Payload": io.BytesIO(b'{"closed_count": 1}')}

    def describe_stack_resource(self, *, StackName: str, LogicalResourceId: str) -> Any:  # noqa: N803
        return {"StackResourceDetail": {"PhysicalResourceId": f"{StackName}-{LogicalResourceId}"}}

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self, **_: Any) -> Any:
        names = ("PayoutLogs", "GrabLogs", "ApiLogs", "Table")
        return [{"StackResourceSummaries": [{"LogicalResourceId": name} for name in names]}]

    def filter_log_events(self, **arguments: Any) -> Any:
        self.requests.append(arguments)
        line = json.dumps({"level": "ERROR", "exception": "Traceback\n  at\nUnavailable: 红包"})
        return {"events": [{"message": "plain"}, {"message": line}]}

    def get_metric_statistics(self, **arguments: Any) -> Any:
        self.requests.append(arguments)
        hours = (datetime(2026, 1, 31, hour, tzinfo=UTC) for hour in (2, 1))
        return {"Datapoints": [{"Timestamp": hour, "Sum": 3.0} for hour in hours]}

    def invoke(self, **arguments: Any) -> Any:
        self.requests.append(arguments)
        return self.answer


@pytest.fixture
def aws(stack: Stack) -> Aws:
    aws = Aws()
    stack.clients |= dict.fromkeys(("cloudformation", "cloudwatch", "logs", "lambda"), aws)
    return aws


@pytest.mark.usefixtures("aws")
def test_an_output_or_a_resource_is_printed_alone(stack: Stack) -> None:
    assert stack.run("resource", "PayoutDlqUrl").stdout == "dead\n"
    assert stack.run("resource", "GrabLogs").stdout == "redpacket-local-GrabLogs\n"


def test_the_newest_lines_of_a_log_are_printed(stack: Stack, aws: Aws) -> None:
    lines = stack.run("logs", "payout", "claim_refused", "--last", "1").stdout
    stack.run("logs", "payout")

    assert lines == '{"level": "ERROR", "exception": "Unavailable: 红包"}\n'
    assert aws.requests[0]["logGroupName"] == "redpacket-local-PayoutLogs"
    assert aws.requests[0]["filterPattern"] == '"claim_refused"'
    assert "filterPattern" not in aws.requests[1]


@pytest.mark.usefixtures("aws")
def test_a_missing_log_is_distinguished_from_an_empty_one(stack: Stack) -> None:
    unknown, gateway = stack.run("logs", "nope"), stack.run("logs", "api", "503")

    assert unknown.exit_code == gateway.exit_code == 5
    assert "choose one of: api, grab, payout" in unknown.stderr
    assert "no such log" in gateway.stderr


def test_an_event_is_counted_by_hour(stack: Stack, aws: Aws) -> None:
    counted = stack.ask_json("count", "payout", "claim_refused")["items"]

    assert [each["hour"] for each in counted] == ["2026-01-31 01:00", "2026-01-31 02:00"]
    assert aws.requests[0]["Dimensions"] == [{"Name": "service", "Value": "payout"}]


def test_a_schedule_runs_at_once_and_reports(stack: Stack, aws: Aws, tables: Tables) -> None:
    report = stack.ask_json("run", "sweep")
    aws.answer["Payload"] = io.BytesIO(b"{}")
    stack.ask_json("run", "statements", "--day", "2026-01-31", "--skip")
    aws.answer["Payload"] = io.BytesIO(b"{}")
    stack.ask_json("run", "statements", "--return", "0123456789")

    assert report == {"closed_count": 1}
    assert tables.commands() == ["run statements --skip --day 2026-01-31"]
    noted = tables.written[-1]["Put"]["Item"]
    assert noted["kind"] == {"S": ActionKind.WITHDRAWAL_RETURNED}
    assert noted["subject"] == {"S": "withdrawal:0123456789"}
    assert [json.loads(request["Payload"]) for request in aws.requests] == [
        {},
        {"task": "compare_bills", "day": "2026-01-31", "skip": True},
        {"task": "return_forgotten", "withdrawal_id": "0123456789"},
    ]
    for words in (
        ["sweep", "--day", "2026-01-31"],
        ["statements", "--skip"],
        ["follow", "--return", "1"],
        ["statements", "--return", "1", "--day", "2026-01-31"],
    ):
        assert stack.run("run", *words).exit_code == 2
    assert stack.run("run", "statements", "--day", "today").exit_code == 2


@pytest.mark.usefixtures("tables")
def test_a_run_that_fails_is_unknown(stack: Stack, aws: Aws) -> None:
    aws.answer = {"Payload": io.BytesIO(b'{"errorMessage": "late"}'), "FunctionError": "Unhandled"}

    result = stack.run("run", "sweep")

    assert result.exit_code == 4
    assert "late" in result.stderr


@pytest.mark.parametrize(
    ("answer", "shown", "code"),
    [
        (b"+PONG\r\n", "PONG", 0),
        (b":7\r\n", "7", 0),
        (b"$-1\r\n", "(none)", 0),
        (b"*2\r\n$1\r\na\r\n$3\r\nb\r\n\r\n", "a\nb\n", 0),
        (b"-NOPERM no\r\n", "", 3),
    ],
)
def test_a_command_of_the_cache_is_sent_and_its_answer_shown(
    stack: Stack, answer: bytes, shown: str, code: int
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ready = json.loads((stack.folder / "stack.json").read_text())
        ready["cache"] = f"127.0.0.1:{server.getsockname()[1]}"
        (stack.folder / "stack.json").write_text(json.dumps(ready))
        thread = threading.Thread(target=_answer_once, args=(server, answer))
        thread.start()
        result = stack.run("cache", "GET", "键")
        thread.join()

    assert result.exit_code == code
    assert result.stdout.strip() == shown.strip()
    if not code:
        server.close()
        assert stack.run("cache", "PING").exit_code == 4


def _answer_once(server: socket.socket, answer: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        assert connection.recv(100) == "*2\r\n$3\r\nGET\r\n$3\r\n键\r\n".encode()
        connection.sendall(answer)


def test_the_cache_of_aws_is_signed_in_to_by_a_token(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = socket.socketpair()

    class _Plain:
        def wrap_socket(self, plain: socket.socket, *, server_hostname: str) -> socket.socket:
            assert server_hostname == "cache.example"
            return plain

    class _Cache(Aws):
        def describe_replication_groups(self, **_: Any) -> Any:
            endpoint = {"PrimaryEndpoint": {"Address": "cache.example"}}
            return {"ReplicationGroups": [{"NodeGroups": [endpoint]}]}

    stack.is_local = False
    stack.clients |= dict.fromkeys(("cloudformation", "elasticache"), _Cache())
    for name, value in {"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setattr(socket, "create_connection", lambda *_: ours)
    monkeypatch.setattr(tls, "context_for", lambda _: _Plain())
    theirs.sendall(b"+OK\r\n+PONG\r\n")

    with theirs:
        assert stack.run("cache", "PING").stdout == "PONG\n"
        sent = theirs.recv(10_000).decode()

    assert "AUTH\r\n$28\r\nredpacket-prod-FunctionsUser\r\n" in sent
    assert "redpacket-prod-Cache/?Action=connect" in sent
