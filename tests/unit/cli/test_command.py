"""Command `redpacket`, tested with a mock API and fake AWS clients."""

import ast
import hmac
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import httpx
import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
)
from rich.console import Console
from rich.text import Text
from typer.testing import CliRunner, Result

import redpacket
from local.places import ROOT
from redpacket.platform.unit import Unit
from redpacket_cli import amounts, campaigns, packets
from redpacket_cli.main import app
from redpacket_cli.session import Session
from redpacket_cli.show import Screen, plot, table
from redpacket_cli.target import Target

PACKET = "q3Zb0kP2xYw7LhT9sVd1Rg1mN4cB8uQ"
Answer = httpx.Response | Callable[[httpx.Request], httpx.Response]


@dataclass
class Stack:
    """Local stack whose API answers as the test defines."""

    folder: Path
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[httpx.Request] = field(default_factory=list)
    clients: dict[str, Any] = field(default_factory=dict)
    is_local: bool = True

    def __post_init__(self) -> None:
        ready = {"api": "http://api", "emulator": "http://aws", "outputs": OUTPUTS}
        (self.folder / "stack.json").write_text(json.dumps(ready))

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if request.url.path == "/dev/tokens":
            return httpx.Response(200, json={"token": f"token of {_body(request)['sub']}"})
        route = f"{request.method} {request.url.path}"
        if route == "GET /health" and route not in self.answers:
            return httpx.Response(200, json={"status": "ok", "version": "1.2.3"})
        answer = self.answers[route]
        return answer if isinstance(answer, httpx.Response) else answer(request)

    def run(self, *words: str, stdin: str = "") -> Result:
        transport = httpx.MockTransport(self.answer)
        target = Target(state_dir=self.folder, transport=transport, connect=self._connect)
        if not self.is_local:
            target.stack = "redpacket-prod"
        screen = Screen(notes=Console(stderr=True, width=200))
        # The runner replaces the standard streams while it runs.
        screen.console = _Console(width=120)
        try:
            return CliRunner().invoke(app, list(words), obj=Session(target, screen), input=stdin)
        finally:
            amounts.use(Unit)  # Otherwise, later tests would ask this stack for its unit.

    def ask_json(self, *words: str, code: int = 0, stdin: str = "") -> Any:
        result = self.run("--json", *words, stdin=stdin)
        assert result.exit_code == code, result.output
        return json.loads(result.stdout)

    def sent(self, route: str) -> list[httpx.Request]:
        return [each for each in self.requests if f"{each.method} {each.url.path}" == route]

    def _connect(self, service: str, **_options: Any) -> Any:
        return self.clients[service]


class _Console(Console):
    """Console that writes to the current standard output."""


OUTPUTS = {
    "JournalTable": "journal",
    "SharesTable": "shares",
    "PayoutDlqUrl": "dead",
    "PayoutQueueUrl": "alive",
    "ApiUrl": "https://api",
    "ReportsWorkGroup": "workgroup",
    "ReportsDatabase": "reports",
}


def _body(request: httpx.Request) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(request.content or b"{}")
    return parsed


def _problem(status: int, code: str, **more: Any) -> httpx.Response:
    body = {"code": code, "detail": "why", "instance": "request-1", **more}
    return httpx.Response(status, json=body)


def _ok(**body: Any) -> httpx.Response:
    return httpx.Response(200, json=body)


class Caller:
    """STS client that names an operator."""

    def get_caller_identity(self) -> dict[str, str]:
        return {"Arn": "arn:aws:sts::1:assumed-role/operator/ann"}


class Journal:
    """DynamoDB that accepts transactions."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []

    def transact_write_items(self, *, TransactItems: list[dict[str, Any]]) -> None:  # noqa: N803
        self.written += TransactItems

    def commands(self) -> list[str]:
        """Return the commands in the audit log's rows."""
        rows = [each["Put"]["Item"] for each in self.written if "Put" in each]
        changes = [json.loads(row["changes"]["S"]) for row in rows]
        return [change["after"] for (change,) in filter(None, changes)]


def _audited(*differences: Any, unsettled_since_ms: int | None = None) -> httpx.Response:
    count = 3 if unsettled_since_ms else 0
    counts = {"share_count": 9, "unsettled_count": count, "unsettled_since_ms": unsettled_since_ms}
    return _ok(ok=not differences, differences=differences, **counts)


def test_an_audit_lists_the_examined_items_and_unpaid_claims(stack: Stack) -> None:
    route = f"GET /admin/packets/{PACKET}/audit"
    stack.answers[route] = _audited()
    done = stack.run("audit", PACKET).stdout
    stack.answers[route] = _audited(unsettled_since_ms=1_800_000_000_000)
    waiting = stack.run("audit", PACKET)

    assert done == "Everything adds up. Shares examined: 9\n"
    assert waiting.exit_code == 0
    assert "Claims not paid out: 3, since 2027-01-15" in waiting.stdout


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Stack(tmp_path)


# ---- exit codes


def test_the_exit_code_depends_on_the_result(stack: Stack) -> None:
    route = f"GET /admin/packets/{PACKET}/audit"
    ended = []
    for answer in (
        _audited(),
        _audited(_difference()),
        _problem(404, "packet_not_found"),
        _problem(503, "unavailable"),
        _problem(429, "rate_limited"),
        httpx.Response(502, text="<html>"),
    ):
        stack.answers[route] = answer
        ended.append(stack.run("audit", PACKET).exit_code)

    assert ended == [0, 1, 3, 4, 4, 4]
    assert stack.run("audit").exit_code == 2
    assert stack.run("audit", "../switches").exit_code == 2
    (stack.folder / "stack.json").unlink()
    assert stack.run("audit", PACKET).exit_code == 5


def _difference() -> dict[str, Any]:
    return {"rule": "I2", "subject": "packet", "what": "paid_fen", "expected": 1, "actual": 2}


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (NoRegionError(), 5, "region. Set AWS_PROFILE and AWS_DEFAULT_REGION"),
        (ClientError({"Error": {"Code": "ValidationError", "Message": "nope"}}, "Ask"), 5, "list-"),
        (NoCredentialsError(), 5, "credentials"),
        (EndpointConnectionError(endpoint_url="https://aws"), 4, "https://aws"),
        (ClientError({"Error": {"Code": "ExpiredToken", "Message": "old"}}, "Ask"), 5, "old"),
        (ClientError({"Error": {"Code": "Throttling", "Message": "fast"}}, "Ask"), 4, "fast"),
    ],
)
def test_an_aws_failure_is_reported_in_one_line(
    stack: Stack, error: Exception, code: int, words: str
) -> None:
    class Formation:
        def describe_stacks(self, **_: Any) -> Any:
            raise error

    stack.is_local = False
    stack.clients = {"cloudformation": Formation()}

    result = stack.run("switch", "list")

    assert result.exit_code == code
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--json", "audit"), "packet_id"),
        (("audit", "--json"), "packet_id"),
        (("--json", "audti"), "Did you mean 'audit'"),
        (("--json", "--nope", "audit"), "--nope"),
        (("--json", "audit", PACKET, "--nope"), "--nope"),
        (("--json", "audit", "../switches"), "can't be an id"),
        (("--json", "limits", "set", "sends_per_day", "many"), "is neither a number"),
        (("--json",), "Missing command."),
        (("--json", "switch"), "Missing command."),
    ],
)
def test_with_json_a_wrong_command_line_is_one_object(
    stack: Stack, words: tuple[str, ...], told: str
) -> None:
    result = stack.run(*words)

    assert (result.exit_code, result.stdout) == (2, "")
    problem = json.loads(result.stderr)
    assert problem["code"] == "usage"
    assert told in problem["detail"]


def test_a_command_starts_without_the_modules_of_other_commands() -> None:
    code = "import sys, redpacket_cli.main; print(*sys.modules)"
    path = os.pathsep.join((str(ROOT / "shared"), str(ROOT / "cli")))

    loaded = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    heavy = {"boto3", "httpx", "yaml", "rich.progress", "redpacket.verify", "xlsxwriter"}
    assert heavy & set(loaded) == set()
    assert [name for name in loaded if name.startswith("redpacket.packets")] == []


def test_the_command_prints_its_version_and_has_a_short_option_for_help() -> None:
    told = CliRunner().invoke(app, ["--version"]).output

    assert told == f"redpacket {redpacket.__version__}\n"
    for words in ((), ("switch",), ("switch", "list")):
        result = CliRunner().invoke(app, [*words, "-h"])
        assert (result.exit_code, "Usage" in result.output) == (0, True)


def test_a_problem_names_the_request_and_each_field(stack: Stack) -> None:
    errors = [{"field": "delta", "message": "is too large"}]
    stack.answers["POST /admin/deposits"] = _problem(422, "invalid_request", errors=errors)

    result = stack.run("--json", "deposit", "alice", "5")

    problem = json.loads(result.stderr)
    assert (problem["code"], problem["request_id"]) == ("invalid_request", "request-1")
    assert "delta: is too large" in stack.run("deposit", "alice", "5").stderr
    # The detail of most problems already contains the field errors.
    detail = "delta: is too large"
    response = _problem(422, "invalid_request", errors=errors, detail=detail)
    stack.answers["POST /admin/deposits"] = response
    assert stack.run("deposit", "alice", "5").stderr == f"422 invalid_request: {detail}\n"


def test_a_cause_that_a_person_can_fix_is_explained(stack: Stack) -> None:
    def away(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    route = "GET /admin/switches"
    for answer, code, words in (
        (away, 4, "refused"),
        (httpx.Response(401, json={"message": "Unauthorized"}), 3, "the token is missing, expired"),
    ):
        stack.answers[route] = answer
        result = stack.run("switch", "list")
        assert (result.exit_code, words in result.stderr) == (code, True)
    # A bug in the command itself propagates as an exception.
    stack.answers[route] = _ok()
    assert isinstance(stack.run("switch", "list").exception, KeyError)
    named = ["--api", "api.example", "--token", "t", "switch", "list"]
    result = CliRunner().invoke(app, named)
    assert (result.exit_code, "--api is not an address" in result.stderr) == (5, True)


def test_with_json_standard_output_holds_one_document(stack: Stack) -> None:
    stack.answers["GET /admin/switches"] = _ok(
        items=[{"name": "grab", "on": False, "reason": "修理", "changed_at_ms": 0}]
    )

    answer = stack.ask_json("switch", "list")
    output = stack.run("switch", "list").stdout

    assert answer["items"][0]["reason"] == "修理"
    assert "OFF" in output
    assert "修理" in output
    # Most people write an option after the command.
    assert json.loads(stack.run("switch", "list", "--json").stdout) == answer


def test_a_program_reads_whole_values_with_one_row_per_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    token, address = "t" * 500, f"https://{'a' * 90}"

    screen = Screen()
    screen.report({}, Text(token))
    screen.report({"commitment": "c" * 64, "share_url": address})
    screen.report({}, table(("approval", "subject"), [("a" * 32, "s" * 200)]))
    screen.note("why " * 50)

    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0] == token
    assert ["c" * 64, address] == [line.split()[1] for line in lines[1:3]]
    assert not any(line.endswith(" ") for line in lines)
    assert f"{'a' * 32} │ {'s' * 200}" in told.out
    assert told.err.count("\n") == 1


def test_a_narrow_terminal_folds_values_and_truncates_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    Screen().report({}, table(("approval", "subject"), [("a" * 32, "s" * 200)]))

    told = capsys.readouterr().out
    assert "a" * 32 in told
    assert (told.count("s"), "…" in told) == (201, False)


# ---- targets of calls


def test_an_operator_of_a_local_stack_needs_no_token(stack: Stack) -> None:
    stack.answers["GET /admin/switches"] = _ok(items=[])

    stack.run("switch", "list")

    (made, request) = stack.requests
    assert _body(made) == {"sub": "operator", "scope": "hongbao/admin"}
    assert request.headers["authorization"] == "Bearer token of operator"


def test_the_local_stack_is_that_of_make_up_or_of_make_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    addresses = []

    for name in ("run", "up"):
        folder = tmp_path / ".local" / "state" / name
        folder.mkdir(parents=True)
        (folder / "stack.json").write_text(json.dumps({"api": name}))
        addresses.append(Target().address)

    assert addresses == ["run", "up"]


def test_a_killed_stack_is_not_called(stack: Stack) -> None:
    (stack.folder / "lock").touch()  # No process holds the lock.

    result = stack.run("audit", PACKET)

    assert result.exit_code == 5
    assert "no local stack runs" in result.stderr
    assert not stack.requests


def _pool(stack: Stack) -> None:
    """Make the stack look like one on AWS, with a user pool whose tokens last an hour."""

    class Formation:
        def describe_stacks(self, **_: Any) -> Any:
            named = {
                **OUTPUTS,
                "UserPoolId": "pool",
                "OperatorClientId": "client",
                "OperatorTokenUrl": "https://issuer/token",
            }
            outputs = [{"OutputKey": key, "OutputValue": value} for key, value in named.items()]
            return {"Stacks": [{"Outputs": outputs}]}

    class Pool:
        def describe_user_pool_client(self, **arguments: Any) -> Any:
            assert arguments == {"UserPoolId": "pool", "ClientId": "client"}
            return {"UserPoolClient": {"ClientId": "client", "ClientSecret": "secret"}}

    stack.is_local = False
    stack.clients = {"cloudformation": Formation(), "cognito-idp": Pool()}
    stack.answers = {
        "POST /token": _ok(access_token="made", expires_in=3600),
        "GET /admin/switches": _ok(items=[]),
    }


def test_on_aws_the_secret_of_the_operators_client_makes_the_token(stack: Stack) -> None:
    _pool(stack)

    assert stack.run("switch", "list").exit_code == 0

    request = stack.requests[-1]
    assert (request.url.host, request.headers["authorization"]) == ("api", "Bearer made")


def test_a_token_is_requested_once_until_it_ends(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pool(stack)
    folder = tmp_path / "cache" / "redpacket"

    for _ in range(3):
        assert stack.run("switch", "list").exit_code == 0
    (kept,) = folder.iterdir()
    modes = [each.stat().st_mode & 0o777 for each in (folder, kept)]
    assert (len(stack.sent("POST /token")), modes) == (1, [0o700, 0o600])

    an_hour_later = time.time() + 3600
    monkeypatch.setattr("time.time", lambda: an_hour_later)
    assert stack.run("switch", "list").exit_code == 0
    assert len(stack.sent("POST /token")) == 2


def test_an_issuer_that_does_not_answer_is_reported(stack: Stack) -> None:
    def silent(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no route")

    _pool(stack)
    stack.answers["POST /token"] = silent

    result = stack.run("switch", "list")

    assert (result.exit_code, "the token issuer does not answer" in result.stderr) == (4, True)


@pytest.mark.parametrize("kept", ["", "[]", '{"token": "old"}', '{"token": 1, "ends_at_s": "x"}'])
def test_a_damaged_token_file_is_replaced(stack: Stack, tmp_path: Path, kept: str) -> None:
    _pool(stack)
    file = tmp_path / "cache" / "redpacket" / "client.json"
    file.parent.mkdir(parents=True)
    file.write_text(kept)

    assert stack.run("switch", "list").exit_code == 0

    assert json.loads(file.read_text())["token"] == "made"


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "HOME"])
def test_a_user_without_a_writable_folder_gets_a_token_each_time(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    _pool(stack)
    (tmp_path / "file").touch()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv(variable, str(tmp_path / "file" / "nowhere"))

    for _ in range(2):
        assert stack.run("switch", "list").exit_code == 0

    assert len(stack.sent("POST /token")) == 2


def test_on_aws_the_command_makes_no_tokens_for_users(stack: Stack) -> None:
    stack.is_local = False

    assert stack.run("token", "alice").exit_code == 5
    assert stack.run("send", "100", "2", "--as", "alice").exit_code == 5


def test_answers_and_errors_are_chinese_if_the_locale_is(stack: Stack) -> None:
    items = [{"name": "grab", "on": False, "reason": "off", "changed_at_ms": 0}]
    stack.answers["GET /admin/switches"] = _ok(items=items)
    stack.answers["POST /admin/deposits"] = _problem(403, "four_eyes")

    shown = stack.run("--lang", "zh", "switch", "list").stdout
    refused = stack.run("--lang", "zh", "deposit", "alice", "88.88")
    wrong = stack.run("--lang", "zh", "deposit", "alice", "8.8.8")
    unnamed = stack.run("--lang", "zh", "balance").stderr

    assert [word in shown for word in ("开关", "关", "off")] == [True] * 3
    assert refused.stderr == "403 需要另一位运营批准 (four_eyes): why\n"
    assert (refused.exit_code, wrong.exit_code) == (3, 2)
    assert "不是金额" in wrong.stderr
    assert "请指定用户" in unnamed
    assert "name the user" in stack.run("balance").stderr


# ---- money and packets


def test_a_deposit_repeated_with_its_key_moves_money_once(stack: Stack) -> None:
    stack.answers["POST /admin/deposits"] = _ok(transfer_id="t", balance_fen=5)

    for _ in range(2):
        stack.ask_json("deposit", "alice", "5", "--key", "case-1")
    stack.ask_json("deposit", "alice", "5")

    keys = [each.headers["idempotency-key"] for each in stack.sent("POST /admin/deposits")]
    assert keys[:2] == ["case-1", "case-1"]
    assert len(keys[2]) == 32


def test_an_unknown_result_names_the_key_for_a_harmless_repeat(stack: Stack) -> None:
    stack.answers["POST /admin/deposits"] = _problem(503, "unavailable")

    told = stack.run("deposit", "alice", "5")

    (sent,) = stack.sent("POST /admin/deposits")
    key = sent.headers["idempotency-key"]
    last = told.stderr.splitlines()[-1]
    only_with_key = "The result is unknown. Repeat the command only with --key"
    assert (told.exit_code, last) == (4, f"{only_with_key} {key}")
    problem = json.loads(stack.run("--json", "deposit", "alice", "5", "--key", "k").stderr)
    assert (problem["code"], problem["idempotency_key"]) == ("unavailable", "k")
    assert problem["detail"].endswith(f"{only_with_key} k")
    assert (
        "必须加上 --key k"
        in stack.run("--lang", "zh", "deposit", "alice", "5", "--key", "k").stderr
    )


def test_a_lost_answer_of_a_deposit_suggests_no_repeat_without_its_key(stack: Stack) -> None:
    def lose(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("timed out", request=request)

    stack.answers["POST /admin/deposits"] = lose

    problem = json.loads(stack.run("--json", "deposit", "alice", "5", "--key", "k").stderr)

    assert problem["detail"].lower().count("repeat") == 1
    assert problem["detail"].endswith("Repeat the command only with --key k")


def test_a_packet_is_sent_by_a_user_or_paid_by_a_campaign(stack: Stack) -> None:
    routes = "POST /packets", "POST /admin/packets"
    stack.answers |= dict.fromkeys(routes, _ok(packet_id=PACKET))

    stack.ask_json("send", "100", "2", "--as", "alice", "--greeting", "恭喜")
    stack.ask_json("send", "100", "2", "--campaign", "gala", "--kind", "equal")

    ((first,), (second,)) = (stack.sent(route) for route in routes)
    assert first.headers["authorization"] == "Bearer token of alice"
    assert _body(first) == {"kind": "lucky", "total_fen": 100, "count": 2, "greeting": "恭喜"}
    assert second.headers["authorization"] == "Bearer token of operator"
    assert _body(second)["campaign_id"] == "gala"
    assert stack.run("send", "100", "2").exit_code == 2
    assert stack.run("balance").exit_code == 2
    assert stack.run("draw", "spring").exit_code == 2


def test_a_packet_is_watched_until_it_is_emptied(stack: Stack, monkeypatch: Any) -> None:
    counts = iter([0, 10, 30, 50])

    def feed(_: httpx.Request) -> httpx.Response:
        claimed = next(counts)
        status = "emptied" if claimed == 50 else "open"
        left = 50 - claimed
        told = {"status": status, "count": 50, "claimed_count": claimed, "remaining_count": left}
        return _ok(greeting="恭喜", **told)

    times = iter(float(second) for second in range(10))
    monkeypatch.setattr("time.monotonic", lambda: next(times))
    stack.answers[f"GET /packets/{PACKET}/feed"] = feed

    result = stack.run("--json", "watch", PACKET)

    looks = [json.loads(line) for line in result.stdout.splitlines()]
    assert [look["per_second"] for look in looks] == [0, 10, 20, 20]
    assert looks[2]["seconds_left"] == pytest.approx(20 / 15, abs=0.1)
    assert looks[-1]["status"] == "emptied"
    counts = iter([50])
    times = iter(float(second) for second in range(200))
    assert "恭喜  已领完" in stack.run("--lang", "zh", "watch", PACKET).stdout
    # Watch without a token, because watchers need none.
    assert all("authorization" not in each.headers for each in stack.requests)


def test_a_plot_is_as_high_as_its_highest_value() -> None:
    assert plot([0, 5, 10]) == " ▄█"
    assert plot([]) == ""


def test_amounts_have_the_unit_of_the_stack(stack: Stack) -> None:
    unit = {"name": "points", "symbol": "pts", "decimals": 0}
    stack.answers["GET /health"] = _ok(status="ok", version="1", unit=unit)
    stack.answers["GET /me"] = _ok(balance_fen=123_456)
    stack.answers["POST /admin/deposits"] = _ok(transfer_id="t", balance_fen=1500)

    shown = stack.run("balance", "--as", "ann").stdout
    stack.run("deposit", "ann", "1,500 pts")
    fraction = stack.run("deposit", "ann", "88.88")
    tax = stack.run("report", "tax", "--year", "2026")

    assert shown == "123,456 pts\n"
    assert _body(stack.sent("POST /admin/deposits")[0])["amount_fen"] == 1500
    assert "88.88 is not an amount: write 8888" in fraction.stderr
    assert (tax.exit_code, "points is not money" in tax.stderr) == (3, True)


class Logs:
    """CloudWatch Logs client with the given lines, keyed by log groups' names in the template."""

    def __init__(self, **lines: dict[str, Any]) -> None:
        self._lines = {f"log of {group}": line for group, line in lines.items()}

    def filter_log_events(self, **query: Any) -> Any:
        line = self._lines.get(query["logGroupName"])
        return {"events": [{"message": json.dumps(line)}] if line else []}


class Formation:
    def describe_stack_resource(self, **named: Any) -> Any:
        name = f"log of {named['LogicalResourceId']}"
        return {"StackResourceDetail": {"PhysicalResourceId": name}}


class Rows:
    def get_item(self, **arguments: Any) -> Any:
        rows = {
            (f"user#{USER}", f"claim#{PACKET}"): {"share_no": {"N": "7"}},
            (f"shares#{PACKET}#0", "share#0000007"): {"fate": {"S": "claimed"}},
        }
        key = arguments["Key"]["pk"]["S"], arguments["Key"]["sk"]["S"]
        return {"Item": rows[key]} if key in rows else {}


def test_the_id_of_a_request_is_enough_to_find_the_outcome_of_its_share(stack: Stack) -> None:
    settled = {"message": "settle", "claims": [f"r-0 {PACKET}#6", f"r-1 {PACKET}#7"]}
    logs = Logs(ApiLogs={"request_id": "r-1", "status": "200"}, PayoutLogs=settled)
    stack.clients = {"logs": logs, "cloudformation": Formation(), "dynamodb": Rows()}
    stack.answers[f"GET /admin/packets/{PACKET}/audit"] = _ok(ok=True, differences=[])

    answer = stack.ask_json("find", "r-1")

    assert answer["packet_id"] == PACKET
    assert answer["share"] == {"share_no": 7, "fate": "claimed"}
    assert answer["audit"]["ok"]
    # The log line also lists another user's claim, which is left out.
    assert answer["lines"][1]["claims"] == [f"r-1 {PACKET}#7"]


def test_a_request_is_searched_in_the_logs_of_all_handlers() -> None:
    handlers = {
        handler.parent.name.title()
        for handler in (ROOT / "functions").glob("*/app.py")
        if "handler.route(" in handler.read_text(encoding="utf-8")
    }

    assert set(packets._LOGS) == {"ApiLogs", "PayoutLogs", *(f"{name}Logs" for name in handlers)}


def test_a_refused_request_leads_to_its_lines(stack: Stack) -> None:
    logs = Logs(ApiLogs={"request_id": "r-1", "status": "410"})
    stack.clients = {"logs": logs, "cloudformation": Formation(), "dynamodb": Rows()}
    stack.answers[f"GET /admin/packets/{PACKET}/audit"] = _ok(ok=True, differences=[])

    alone = stack.ask_json("find", "r-1")
    named = stack.ask_json("find", "r-1", "--packet", PACKET, "--user", USER)

    assert alone == {"lines": [{"request_id": "r-1", "status": "410"}], "packet_id": None}
    assert named["share"] == {"share_no": 7, "fate": "claimed"}
    assert stack.run("find", "r-1", "--user", USER).exit_code == 2
    stack.clients["logs"] = Logs()
    assert stack.run("find", "r-1").exit_code == 1


def test_a_share_is_found_by_its_users_id_at_the_host(stack: Stack) -> None:
    claim = {"share_no": 7, "user": "alice", "user_token": "another"}
    stack.clients = {"logs": Logs(), "cloudformation": Formation(), "dynamodb": Rows()}
    stack.answers[f"GET /admin/packets/{PACKET}/audit"] = _ok(ok=True, differences=[])
    stack.answers[f"GET /admin/packets/{PACKET}/claims"] = _ok(items=[claim], next=None)
    words = ("find", "r-1", "--packet", PACKET, "--user")

    found = stack.ask_json(*words, "alice")
    missing = stack.ask_json(*words, "nobody")

    assert found["share"] == {"share_no": 7, "fate": "claimed"}
    assert missing["share"] is None
    assert "none: nobody has no share of this packet" in stack.run(*words, "nobody").stdout


def test_a_line_that_only_contains_the_id_belongs_to_another_request(stack: Stack) -> None:
    trace = {"message": "settle_failed", "exception": "Traceback\n  idx=_w(x)\nValueError: r-1"}
    own = {**trace, "request_id": "r-1"}
    logs = Logs(ApiLogs=own, PayoutLogs=trace, GrabLogs={"request_id": "r-12"})
    stack.clients = {"logs": logs, "cloudformation": Formation()}

    assert stack.ask_json("find", "r-1")["lines"] == [own]
    shown = stack.run("find", "r-1").stdout
    assert ("ValueError" in shown, "Traceback" in shown) == (True, False)
    assert stack.run("find", "x").exit_code == 1


USER = "bXktdXNlci10b2tlbi0wMDAx"


def test_a_proof_is_checked_offline(stack: Stack, tmp_path: Path) -> None:
    proof = tmp_path / "proof.json"
    proof.write_text("{}")

    assert stack.run("verify", str(proof)).exit_code == 5
    assert not stack.requests


# ---- campaigns


PLAN = """
title: 新年
starts_at: 2027-01-29T20:00:00+08:00
ends_at: "2027-01-29T21:00:00+08:00"
status: "on"
prizes:
  cup: {title: 杯子, kind: goods, weight: 1, total: 5}
"""
SHOWN = {
    "title": "新年",
    "status": "on",
    "version": 1,
    "starts_at_ms": 0,
    "ends_at_ms": 1,
    "budget_fen": 0,
    "budget_left_fen": 0,
    "audience_mode": None,
    "quota_per_user": 0,
    "rules": {"attempts_per_user_per_day": 5, "wins_per_user_per_day": 0},
    "prizes": [],
}


@pytest.mark.parametrize(("quota", "told"), [(3, "3"), (0, "any")])
def test_a_campaign_is_shown_with_its_quota_and_rules(stack: Stack, quota: int, told: str) -> None:
    stack.answers = {"GET /admin/campaigns/newyear": _ok(**SHOWN | {"quota_per_user": quota})}

    shown = stack.run("campaign", "show", "newyear").stdout

    assert f"shares for one user: {told}; rules: attempts_per_user_per_day 5\n" in shown


def test_a_campaign_is_edited_from_a_file_with_its_prizes(stack: Stack) -> None:
    path = "/admin/campaigns/newyear"
    stack.answers = {
        f"PUT {path}": _ok(**SHOWN),
        f"PUT {path}/prizes/cup": _ok(),
        f"GET {path}": _ok(**SHOWN),
    }

    stack.ask_json("campaign", "edit", "newyear", "-", stdin=PLAN)

    (put,) = stack.sent(f"PUT {path}")
    assert _body(put) == {
        "title": "新年",
        "status": "on",
        "starts_at_ms": 1_801_224_000_000,
        "ends_at_ms": 1_801_227_600_000,
    }
    (cup,) = stack.sent(f"PUT {path}/prizes/cup")
    assert _body(cup)["title"] == "杯子"


def test_a_bare_on_in_a_file_is_a_status(stack: Stack) -> None:
    stack.answers = {"PUT /admin/campaigns/newyear": _ok(**SHOWN)}

    for written in ("on", "off", '"off"'):
        stack.ask_json("campaign", "edit", "newyear", "-", stdin=f"status: {written}")

    put = stack.sent("PUT /admin/campaigns/newyear")
    assert [_body(each) for each in put] == [{"status": each} for each in ("on", "off", "off")]


def test_a_refused_prize_is_named(stack: Stack) -> None:
    path = "/admin/campaigns/newyear"
    refused = _problem(402, "insufficient_funds")
    stack.answers = {f"PUT {path}": _ok(**SHOWN), f"PUT {path}/prizes/cup": refused}

    result = stack.run("campaign", "edit", "newyear", "-", stdin=PLAN)

    assert result.exit_code == 3
    assert "Prize cup failed" in result.stderr
    assert "402 insufficient_funds" in result.stderr


WAITING = {"approval_id": "a" * 32, "status": "awaiting", "expires_at_ms": 1}


WAITING_CALLS = [
    ("POST /admin/deposits", ("deposit", "bob", "600", "--key", "once")),
    ("PUT /admin/campaigns/newyear", ("campaign", "edit", "newyear", "-")),
    ("PUT /admin/campaigns/newyear/prizes/cup", ("prize", "edit", "newyear", "cup", "-")),
    ("POST /admin/campaigns/newyear/prizes/cup/stock", ("prize", "stock", "newyear", "cup", "5")),
    ("PUT /admin/campaigns/newyear/prizes/cup", ("campaign", "edit", "newyear", "-")),
    (
        "POST /admin/accounts/acme/campaign-money",
        ("money", "move", "acme", "beta", "--reason", "it ends"),
    ),
]
"""Routes that may answer 202 with an approval, each with a command that calls it."""


def test_each_route_that_may_wait_for_an_approval_is_called_by_a_command() -> None:
    paths = json.loads((ROOT / "openapi.json").read_text("utf-8"))["paths"]
    waiting = [
        f"{method.upper()} {re.sub('{.*?}', '[^/]+', path)}"
        for path, methods in paths.items()
        for method, operation in methods.items()
        if "AwaitingApproval" in str(operation["responses"].get("202"))
    ]

    called = [
        {route for route, _ in WAITING_CALLS if re.fullmatch(each, route)} for each in waiting
    ]

    assert len(waiting) >= 5
    assert all(called), waiting


@pytest.mark.parametrize(("route", "words"), WAITING_CALLS)
def test_a_request_that_waits_for_approval_says_so_and_ends_the_command(
    stack: Stack, route: str, words: tuple[str, ...]
) -> None:
    stack.answers = {
        "PUT /admin/campaigns/newyear": _ok(**SHOWN),
        route: httpx.Response(202, json=WAITING),
    }

    text = PLAN if words[0] == "campaign" else '{"title": "杯子"}'
    answer = stack.ask_json(*words, code=6, stdin=text)
    result = stack.run(*words, stdin=text)

    assert answer == WAITING
    assert result.exit_code == 6
    assert "Nothing changed" in result.stderr
    assert f"redpacket approvals approve {WAITING['approval_id']}" in result.stderr
    assert "The rest is not saved" in result.stderr or words[0] != "campaign"
    assert stack.requests[-1].method == route.split(maxsplit=1)[0]


def test_an_answer_of_unfinished_work_is_not_an_approval(stack: Stack) -> None:
    route = "POST /admin/withdrawals/w1/cancel"
    stack.answers[route] = httpx.Response(202, json={"withdrawal_id": "w1", "status": "cancelling"})

    target = Target(state_dir=stack.folder, transport=httpx.MockTransport(stack.answer))

    content = target.operator.post("/admin/withdrawals/w1/cancel")

    assert content["status"] == "cancelling"


def test_stock_is_added_and_removed(stack: Stack) -> None:
    route = "POST /admin/campaigns/gala/prizes/cup/stock"
    stack.answers[route] = _ok(total=1)

    for words in (("5",), ("-5",), ("--", "-5")):
        stack.ask_json("prize", "stock", "gala", "cup", *words)

    assert [_body(request)["delta"] for request in stack.sent(route)] == [5, -5, -5]


def test_a_file_without_a_plan_changes_nothing(stack: Stack) -> None:
    wrong = "starts_at: 2027-01-29T20:00:00", "title: 2027-01-29", "a: [", "prizes: 1"
    for text in ("- a list", *wrong):
        assert stack.run("campaign", "edit", "newyear", "-", stdin=text).exit_code == 5
    assert not [each for each in stack.requests if each.method == "PUT"]


def test_a_preheat_continues_to_its_end(stack: Stack) -> None:
    pages = iter(["one", None])

    def page(_: httpx.Request) -> httpx.Response:
        return _ok(packet_count=3, loaded_count=2, next=next(pages))

    stack.answers["POST /admin/campaigns/gala/preheat"] = page

    answer = stack.ask_json("campaign", "preheat", "gala")

    assert answer == {"packet_count": 6, "loaded_count": 4}
    requests = stack.sent("POST /admin/campaigns/gala/preheat")
    assert [each.url.params.get("cursor") for each in requests] == [None, "one"]


def test_an_audience_is_imported_in_blocks_of_five_hundred_before_its_use_is_set(
    stack: Stack,
) -> None:
    refusals = iter([_problem(503, "unavailable")])

    def put(request: httpx.Request) -> httpx.Response:
        if "mode" in _body(request):
            return _ok(size=1_200, mode="allow")
        return next(refusals, _ok(size=0, mode=None))

    stack.answers["GET /admin/campaigns/gala"] = _ok(audience_size=0)
    stack.answers["POST /admin/campaigns/gala/audience"] = put
    users = "\n".join(["user-0", *(f"user-{number},a name" for number in range(1_200)), ""])

    words = ("audience", "import", "gala", "-", "--mode", "allow", "--parallel", "1")
    answer = stack.ask_json(*words, stdin=users)

    assert answer == {"size_before": 0, "imported": 1_200, "size": 1_200, "mode": "allow"}
    bodies = [_body(each) for each in stack.sent("POST /admin/campaigns/gala/audience")]
    # The first call was retried.
    assert [len(body.get("add", [])) for body in bodies] == [500, 500, 500, 200, 0]
    assert bodies[-1] == {"mode": "allow"}
    assert campaigns.USERS_PER_CALL == 500


def test_an_audience_is_replaced_after_a_confirmation_with_both_sizes(stack: Stack) -> None:
    route = "POST /admin/campaigns/gala/audience"
    sizes = iter([700, 0])

    def edit(request: httpx.Request) -> httpx.Response:
        return _ok(size=next(sizes) if "remove_all" in _body(request) else 2, mode="deny")

    stack.answers |= {"GET /admin/campaigns/gala": _ok(audience_size=1_200), route: edit}
    file = stack.folder / "users.txt"
    file.write_text("ann\nbob\n")
    words = ("audience", "import", "gala", str(file), "--replace")

    refused = stack.run(*words, stdin="n\n")
    untouched = not stack.sent(route)
    answer = stack.ask_json(*words, "--yes")

    assert "Replace the 1200 users on the list of gala by 2?" in refused.stderr
    assert refused.exit_code == 1
    assert untouched
    assert answer == {"size_before": 1_200, "imported": 2, "size": 2, "mode": "deny"}
    bodies = [_body(each) for each in stack.sent(route)]
    assert bodies == [{"remove_all": True}, {"remove_all": True}, {"add": ["ann", "bob"]}, {}]


def test_a_replacement_continues_although_erased_users_stay_in_the_size(stack: Stack) -> None:
    stack.answers["GET /admin/campaigns/gala"] = _ok(audience_size=3)
    stack.answers["POST /admin/campaigns/gala/audience"] = _ok(size=1, mode=None)

    words = ("audience", "import", "gala", "-", "--replace", "--yes")
    answer = stack.ask_json(*words, stdin="ann")

    bodies = [_body(each) for each in stack.sent("POST /admin/campaigns/gala/audience")]
    assert answer["imported"] == 1
    assert bodies == [{"remove_all": True}] * 2 + [{"add": ["ann"]}, {}]
    assert stack.run(*words, stdin="\n").exit_code == 5


def test_codes_are_added_in_order_in_blocks_of_five_hundred_without_duplicates(
    stack: Stack,
) -> None:
    refusals = iter([_problem(503, "unavailable")])
    stack.answers["POST /admin/campaigns/gala/prizes/tea/codes"] = lambda _: next(
        refusals, _ok(prize_id="tea", total=501)
    )
    codes = [f"TEA,{number}" for number in range(501)]
    words = ("prize", "codes", "gala", "tea", "-")

    answer = stack.ask_json(*words, stdin="\ufeff" + "\r\n".join([*codes, "", " "]))

    assert answer["total"] == 501
    sent = stack.sent("POST /admin/campaigns/gala/prizes/tea/codes")
    # The first call was retried.
    assert [_body(each)["add"] for each in sent] == [codes[:500], codes[:500], codes[500:]]
    for wrong in ("", "TEA-1\nTEA-2\nTEA-1 "):
        assert stack.run(*words, stdin=wrong).exit_code == 5
    assert len(stack.sent("POST /admin/campaigns/gala/prizes/tea/codes")) == len(sent)


# ---- operating


def test_a_switch_is_turned_with_a_reason(stack: Stack) -> None:
    stack.answers["PUT /admin/switches/payout"] = _ok(name="payout", on=False)

    stack.ask_json("switch", "off", "payout", "a claim is refused")
    stack.ask_json("switch", "on", "payout")

    off, on = (_body(each) for each in stack.sent("PUT /admin/switches/payout"))
    assert off == {"on": False, "reason": "a claim is refused"}
    assert on == {"on": True}


def test_a_limit_is_set_and_restored(stack: Stack) -> None:
    shown = {"name": "sends_per_day", "value": 5, "default": 1000, "lowest": 1, "highest": 10**6}
    stack.answers["PUT /admin/limits/sends_per_day"] = _ok(**shown)
    stack.answers["GET /admin/limits"] = _ok(items=[shown])

    stack.ask_json("limits", "set", "sends_per_day", "5")
    stack.ask_json("limits", "set", "sends_per_day", "default")

    assert stack.ask_json("limits", "show") == {"items": [shown]}
    bodies = [_body(each) for each in stack.sent("PUT /admin/limits/sends_per_day")]
    assert bodies == [{"value": 5}, {"value": None}]
    assert stack.run("limits", "set", "sends_per_day", "many").exit_code == 2


def test_a_link_to_the_staging_stack_is_signed_with_its_secret(
    stack: Stack, monkeypatch: Any
) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000.0)
    outputs = {"StagingSecretArn": "arn:staging", "PageUrl": "https://red.example"}
    (stack.folder / "stack.json").write_text(json.dumps({"emulator": "", "outputs": outputs}))
    secrets = stack.clients["secretsmanager"] = mock.Mock()
    text = json.dumps({"domain": "d1.cloudfront.net", "key": "k" * 32})
    secrets.get_secret_value.return_value = {"SecretString": text}

    answer = stack.ask_json("staging", "link", "--path", "/wallet", "--days", "1")

    word = "staging.87400"
    signature = hmac.digest(b"k" * 32, word.encode(), "sha256").hex()
    assert answer["url"] == f"https://red.example/wallet?to={word}.{signature}"
    secrets.get_secret_value.assert_called_once_with(SecretId="arn:staging")


def test_a_user_is_denied_for_some_hours(stack: Stack, monkeypatch: Any) -> None:
    monkeypatch.setattr("time.time", lambda: 1_000.0)
    stack.answers["POST /admin/risk"] = _ok(verdict="deny", until_ms=0)

    stack.ask_json("risk", "alice", "deny", "--hours", "2")

    (request,) = stack.sent("POST /admin/risk")
    assert _body(request) == {"user": "alice", "verdict": "deny", "until_ms": 8_200_000}


def test_a_reconciliation_is_followed_to_its_end(stack: Stack, monkeypatch: Any) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    checks = [{"name": "check_entries", "examined": 7, "differences": 0}]
    run: dict[str, Any] = {"run_id": "3f", "checks": [], "differences": [], "until_ms": None}
    run |= {"step": None, "is_truncated": False, "export": None}
    done = {**run, "status": "done", "checks": checks, "until_ms": 9, "export": "full"}
    steps = [_ok(**{**run, "status": "running", "step": kind}) for kind in ("exporting",) * 2]
    answers = iter([_ok(status="running", **run), *steps, _ok(**done)])
    stack.answers["POST /admin/reconcile"] = _ok(run_id="3f")
    stack.answers["GET /admin/reconcile/3f"] = lambda _: next(answers)

    followed = stack.run("--json", "reconcile")
    assert json.loads(followed.stdout)["checks"] == checks
    assert followed.stderr.split() == ["exporting"]
    empty = {"name": "check_draws", "examined": 0, "differences": 0}
    stack.answers["GET /admin/reconcile/3f"] = _ok(**{**done, "checks": [*checks, empty]})
    told = stack.run("reconcile").stdout
    assert "Everything adds up in 1 of 2 checks; the others examined no rows." in told
    assert "are left to the next run" in told

    many = {"differences": [_difference()], "is_truncated": True}
    stack.answers["GET /admin/reconcile/3f"] = _ok(**{**done, **many})
    result = stack.run("reconcile")
    assert (result.exit_code, "found more differences" in result.stdout) == (1, True)
    assert result.stdout.startswith("done full\n")
    stack.answers["GET /admin/reconcile/3f"] = _ok(status="failed", **run)
    failed = stack.run("reconcile")
    assert (failed.exit_code, failed.stdout.strip()) == (1, "failed")  # the queues disagree


class Queues:
    """SQS with dead letters."""

    def __init__(self, bodies: list[str]) -> None:
        self.dead, self.alive = dict(enumerate(bodies)), list[str]()
        self.is_away = False

    def get_queue_attributes(self, **_: Any) -> Any:
        return {"Attributes": {"ApproximateNumberOfMessages": str(len(self.dead))}}

    def receive_message(self, *, QueueUrl: str, **_: Any) -> Any:  # noqa: N803
        assert QueueUrl == "dead"
        messages = [
            {"MessageId": f"m-{key}", "Body": body, "ReceiptHandle": key}
            for key, body in self.dead.items()
        ]
        return {"Messages": messages[:10]} if messages else {}

    def purge_queue(self, *, QueueUrl: str) -> None:  # noqa: N803
        assert QueueUrl == "dead"
        self.dead.clear()

    def send_message(self, *, QueueUrl: str, MessageBody: str) -> None:  # noqa: N803
        assert QueueUrl == "alive"
        self.alive.append(MessageBody)

    def delete_message(self, *, QueueUrl: str, ReceiptHandle: int) -> None:  # noqa: N803
        assert QueueUrl == "dead"
        assert self.dead[ReceiptHandle] in self.alive
        del self.dead[ReceiptHandle]


def test_dead_letters_are_shown_and_moved_back(stack: Stack) -> None:
    queues = Queues([json.dumps({"share_no": number}) for number in range(12)])
    stack.clients["sqs"] = queues

    shown = stack.ask_json("dlq", "list", "payout")
    moved = stack.ask_json("dlq", "redrive", "payout")

    assert (shown["count"], len(shown["items"])) == (12, 10)
    # The log line of a refused message names the same id.
    assert shown["items"][3] == {"message_id": "m-3", "body": {"share_no": 3}}
    assert moved == {"moved": 12}
    assert (len(queues.alive), queues.dead) == (12, {})


@pytest.mark.parametrize(
    ("words", "stdin", "code", "left"),
    [((), "n\n", 1, 3), ((), "", 1, 3), ((), "y\n", 0, 0), (("--yes",), "", 0, 0)],
)
def test_dead_letters_are_purged_after_confirmation(
    stack: Stack, words: tuple[str, ...], stdin: str, code: int, left: int
) -> None:
    queues = stack.clients["sqs"] = Queues(["{}"] * 3)
    journal = stack.clients["dynamodb"] = Journal()
    stack.clients["sts"] = Caller()

    result = stack.run("--json", "dlq", "purge", "payout", *words, stdin=stdin)

    assert (result.exit_code, len(queues.dead), queues.alive) == (code, left, [])
    # The runner echoes typed input on standard output.
    assert ('{"purged": 3}\n' in result.stdout) is (code == 0)
    assert ("about 3 messages of payout" in result.stderr) is not bool(words)
    assert journal.commands() == ([] if code else ["dlq purge payout"])


def test_a_crowd_reports_its_results(stack: Stack) -> None:
    def grab(request: httpx.Request) -> httpx.Response:
        if request.headers["authorization"].endswith("-0"):
            return _ok(outcome="claimed", amount_fen=7)
        return _problem(410, "packet_emptied")

    stack.answers[f"POST /packets/{PACKET}/grab"] = grab

    answer = stack.ask_json("load", PACKET, "--users", "5", "--parallel", "2")

    assert answer["outcomes"] == {"packet_emptied": 4, "claimed": 1}
    assert answer["claimed_fen"] == 7


def test_a_crowd_for_an_unknown_packet_fails(stack: Stack) -> None:
    stack.answers[f"POST /packets/{PACKET}/grab"] = _problem(404, "packet_not_found")

    answer = stack.ask_json("load", PACKET, "--users", "3", code=3)

    assert answer["outcomes"] == {"packet_not_found": 3}


def test_the_wheel_contains_everything_that_its_tests_use() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = (ROOT / "requirements" / "dev.in").read_text(encoding="utf-8").splitlines()
    tested = {pin.partition(" # ")[0] for pin in pins}

    assert set(project["dependencies"]) <= tested
    assert project["scripts"] == {"redpacket": "redpacket_cli.main:main"}


def test_the_wheel_contains_all_rules_that_it_imports() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    target = tomllib.loads(text)["tool"]["hatch"]["build"]["targets"]["wheel"]
    # Without these settings, the wheel would hold the whole server as a package named "shared".
    assert target["only-include"] == ["cli/redpacket_cli"]
    assert target["sources"] == ["cli"]
    wheel = {"cli/redpacket_cli": "redpacket_cli"} | target["force-include"]
    files = [
        file
        for place in wheel
        for file in ([ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("*.py"))
    ]

    imported = {
        node.module
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("redpacket.")
    }

    installed = [place.removesuffix(".py").replace("/", ".") for place in wheel.values()]
    assert not [
        module
        for module in imported
        if not any(module == place or module.startswith(f"{place}.") for place in installed)
    ]


def test_each_command_describes_its_effect() -> None:
    named = [(), ("campaign",), ("prize",), ("audience",), ("switch",), ("dlq",)]
    for words in named:
        result = CliRunner().invoke(app, [*words, "--help"])

        assert result.exit_code == 0
        assert "Usage" in result.output
    assert packets.watch.__doc__
    assert "Alias of `packets`." in CliRunner().invoke(app, ["--help"]).output
    assert "Alias of `list`." in CliRunner().invoke(app, ["switch", "--help"]).output


def test_help_lists_the_commands_by_task() -> None:
    output = CliRunner().invoke(app, ["--help"]).output

    panels = ["Options", "Campaigns", "Packets", "Money", "Operations", "Trial"]
    assert re.findall(r"^╭─ (\w+) ", output, re.MULTILINE) == panels


@pytest.mark.parametrize(
    ("words", "amount_fen"), [("8888", 8888), ("88.88", 8888), ("88,8", 8880), ("0.01", 1)]
)
def test_amounts_are_fen_or_yuan(stack: Stack, words: str, amount_fen: int) -> None:
    stack.answers["POST /admin/deposits"] = _ok(transfer_id="t", balance_fen=1)

    stack.run("deposit", "ann", words)

    assert _body(stack.sent("POST /admin/deposits")[0])["amount_fen"] == amount_fen


@pytest.mark.parametrize("words", ["0", "1,500", "8.888", "-1", "1e3", "ten"])
def test_an_invalid_amount_is_a_wrong_command_line(stack: Stack, words: str) -> None:
    assert stack.run("deposit", "--", "ann", words).exit_code == 2


def test_a_balance_is_shown_and_a_sent_link_comes_first(stack: Stack) -> None:
    stack.answers["POST /dev/tokens"] = _ok(token="token")
    stack.answers["GET /me"] = _ok(user_token="u", balance_fen=123_456)
    stack.answers["POST /packets"] = _ok(packet_id=PACKET, share_url="https://link", host=None)

    assert stack.run("balance", "--as", "ann").stdout == "¥1,234.56\n"
    lines = stack.run("send", "88.88", "3", "--as", "ann").stdout.splitlines()
    assert "https://link" in lines[0]
    assert not any("host" in line for line in lines)
