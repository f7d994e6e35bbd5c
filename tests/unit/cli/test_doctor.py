"""`redpacket doctor` and `redpacket queue list`."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from botocore.exceptions import EndpointConnectionError

from redpacket_cli import doctor
from redpacket_cli.session import Session
from redpacket_cli.show import Screen
from redpacket_cli.target import Target
from tests.unit.cli.test_command import Stack, _ok, _problem, stack

__all__ = ["stack"]

EMPTY = _ok(items=[], next=None)


class Counted:
    """Clients for SQS, CloudWatch and Lambda, with given messages, alarms and idle functions."""

    def __init__(
        self,
        alive: int = 3,
        dead: int = 0,
        alarms: tuple[str, ...] = (),
        idle: tuple[str, ...] = (),
    ) -> None:
        self.counts, self.alarms, self.idle = {"alive": alive, "dead": dead}, alarms, idle
        self.runs = [{"name": "3f", "startDate": datetime(2026, 1, 31, tzinfo=UTC)}]

    def describe_stack_resource(self, *, LogicalResourceId: str, **_: str) -> Any:  # noqa: N803
        return {"StackResourceDetail": {"PhysicalResourceId": LogicalResourceId}}

    def get_function_configuration(self, *, FunctionName: str, Qualifier: str) -> Any:  # noqa: N803
        assert Qualifier == "live"
        return {"State": "Inactive" if FunctionName in self.idle else "Active"}

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: list[str]) -> Any:  # noqa: N803
        return {"Attributes": dict.fromkeys(AttributeNames, str(self.counts[QueueUrl]))}

    def describe_alarms(self, **arguments: Any) -> Any:
        assert arguments == {"StateValue": "ALARM", "AlarmNamePrefix": "redpacket-local"}
        times = {"StateUpdatedTimestamp": "later", "StateTransitionedTimestamp": "noon"}
        what = {**times, "AlarmDescription": "Runbook - page.md"}
        alarms = [{"AlarmName": name, **what} for name in self.alarms]
        return {"MetricAlarms": alarms}

    def list_executions(self, **arguments: Any) -> Any:
        machine = {"stateMachineArn": "ReconcileMachine", "statusFilter": "SUCCEEDED"}
        assert arguments == {**machine, "maxResults": 1}
        return {"executions": self.runs[-1:]}


def _webhook(name: str, failure_count: int, *, is_on: bool = True) -> dict[str, Any]:
    return {"name": name, "is_on": is_on, "failure_count": failure_count}


@pytest.fixture(autouse=True)
def cache(stack: Stack) -> Iterator[socket.socket]:
    """Serve a half-full cache, which answers each connection once, until the socket is closed."""
    yield from _serve_cache(stack, maxmemory=200)


def _serve_cache(stack: Stack, maxmemory: int) -> Iterator[socket.socket]:
    facts = f"# Memory\r\nused_memory:100\r\nmaxmemory:{maxmemory}\r\n".encode()
    server = socket.create_server(("127.0.0.1", 0))
    ready = json.loads((stack.folder / "stack.json").read_text())
    ready["cache"] = f"127.0.0.1:{server.getsockname()[1]}"
    (stack.folder / "stack.json").write_text(json.dumps(ready))

    def answer() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection:
                    connection.recv(1024)
                    connection.sendall(b"$%d\r\n%b\r\n" % (len(facts), facts))

    threading.Thread(target=answer, daemon=True).start()
    yield server
    _close(server)


def _close(server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        server.shutdown(
            socket.SHUT_RDWR
        )  # The method close() alone does not wake a thread in accept().
    server.close()


def _sound(stack: Stack, aws: Any = None) -> None:
    stack.clients |= dict.fromkeys(
        ("sqs", "cloudwatch", "lambda", "cloudformation", "stepfunctions"), aws or Counted()
    )
    _output(stack, PaymentChannels="none", PaymentsTable="payments")
    switches = [{"name": "send", "on": True, "reason": "", "changed_at_ms": 0}]
    stack.answers |= {
        "GET /health": _ok(status="ok", version="1.2.3"),
        "GET /admin/switches": _ok(items=switches),
        "GET /admin/approvals": EMPTY,
        "GET /admin/payments/returns": EMPTY,
        "GET /admin/payments/debts": EMPTY,
        "GET /admin/withdrawals": EMPTY,
        "GET /admin/reconcile/3f": _ok(checks=[{"differences": 0}]),
        "GET /admin/webhooks": _ok(items=[_webhook("shop", 4), _webhook("off", 9, is_on=False)]),
    }


class Providers:
    """DynamoDB client with the row that counts the wallet's answers."""

    def __init__(self, **answers: int) -> None:
        self._answers = answers

    def get_paginator(self, name: str) -> Any:
        assert name == "query"
        return self

    def paginate(self, *, ExpressionAttributeValues: Any, **_: Any) -> Any:  # noqa: N803
        is_host = ExpressionAttributeValues[":pk"]["S"] == "gateway#host"
        numbers = {name: {"N": str(value)} for name, value in self._answers.items()}
        return [{"Items": [{"sk": {"S": "answers"}, **numbers}] if is_host else []}]


@pytest.mark.parametrize(
    ("channels", "answers", "state", "detail"),
    [
        ("host", {"answered_at_ms": 1_000}, "ok", "answering, last at 1970-01-01"),
        (
            "wechat,host",
            {"silent_since_ms": 1_000, "answered_at_ms": 9},
            "fail",
            "no answer since 1970",
        ),
        ("host", {}, "ok", "not called yet"),
        ("none", {"answered_at_ms": 1_000}, "ok", "not configured"),
    ],
)
def test_each_provider_has_a_line(
    stack: Stack, channels: str, answers: dict[str, int], state: str, detail: str
) -> None:
    _sound(stack)
    stack.clients["dynamodb"] = Providers(**answers)
    _output(stack, PaymentChannels=channels)

    items = stack.ask_json("doctor", code=1 if state == "fail" else 0)["items"]

    lines = {item["check"]: item for item in items if item["check"].startswith("provider ")}
    assert lines.keys() == {"provider host", "provider wechat"}
    assert lines["provider host"]["state"] == state
    assert detail in lines["provider host"]["detail"]


@pytest.mark.parametrize(
    ("answers", "detail"),
    [
        (["no answer", "refused out_of_funds NOT_ENOUGH"], "the merchant account is out of money"),
        (["refused out_of_funds NOT_ENOUGH", "success"], "no answer since 1970"),
        ([], "no answer since 1970"),
    ],
)
def test_a_provider_without_funds_is_not_reported_as_silent(
    stack: Stack, answers: list[str], detail: str
) -> None:
    _sound(stack)
    stack.clients["dynamodb"] = Providers(silent_since_ms=1_000)
    _output(stack, PaymentChannels="host,wechat")
    withdrawal = {"withdrawal_id": "w1", "channel": "host", "created_at_ms": time.time() * 1000}
    calls = [{"at_ms": at_ms, "answer": answer} for at_ms, answer in enumerate(answers)]
    stack.answers["GET /admin/withdrawals"] = _ok(items=[withdrawal], next=None)
    stack.answers["GET /admin/withdrawals/w1"] = _ok(**withdrawal, calls=calls[::-1])

    items = stack.ask_json("doctor", code=1)["items"]

    lines = {item["check"]: item for item in items}
    assert lines["provider host"]["state"] == "fail"
    assert detail in lines["provider host"]["detail"]
    assert "money" not in lines["provider wechat"]["detail"]


def _output(stack: Stack, **outputs: str) -> None:
    ready = json.loads((stack.folder / "stack.json").read_text())
    ready["outputs"] |= outputs
    (stack.folder / "stack.json").write_text(json.dumps(ready))


def _states(stack: Stack, *words: str, code: int) -> dict[str, str]:
    items = stack.ask_json("doctor", *words, code=code)["items"]
    return {item["check"]: item["state"] for item in items}


def test_a_healthy_stack_has_no_findings(stack: Stack) -> None:
    _sound(stack)

    states = _states(stack, "--strict", code=0)

    assert set(states.values()) == {"ok"}
    assert states.keys() == {
        *("api", "cache", "alarms", "switches", "queue payout", "approvals", "returns", "debts"),
        *("withdrawals", "provider host", "provider wechat", "webhooks", "functions"),
        "reconciliation",
    }
    assert "1.2.3" in stack.run("doctor").stdout


def test_each_finding_has_a_next_step(stack: Stack) -> None:
    _sound(stack, Counted(dead=2, alarms=("redpacket-local-DeadLettersAlarm",)))

    items = stack.ask_json("doctor", code=1)["items"]

    wrong = {item["check"]: item["detail"] for item in items if item["state"] == "fail"}
    assert wrong == {
        "alarm": "redpacket-local-DeadLettersAlarm since noon. Runbook - page.md",
        "queue payout": "2 given up. See redpacket dlq list payout",
    }


def test_a_function_whose_snapshot_expired_fails(stack: Stack) -> None:
    _sound(stack, Counted(idle=("LotteryFunction",)))

    states = _states(stack, code=1)

    assert states["function LotteryFunction"] == "fail"
    assert "functions" not in states


def test_an_unavailable_cache_fails(stack: Stack, cache: socket.socket) -> None:
    _sound(stack)
    _close(cache)

    assert _states(stack, code=1)["cache"] == "fail"


@pytest.mark.parametrize(("maxmemory", "state"), [(0, "ok"), (101, "ok"), (100, "fail")])
def test_a_full_cache_fails(stack: Stack, maxmemory: int, state: str) -> None:
    _sound(stack)
    serving = _serve_cache(stack, maxmemory)
    next(serving)

    assert _states(stack, code=int(state == "fail"))["cache"] == state
    next(serving, None)


@pytest.mark.parametrize(("ago_s", "state"), [(10, "warn"), (3_700, "ok")])
def test_a_cache_that_recently_lost_its_data_is_a_warning(
    stack: Stack, ago_s: int, state: str
) -> None:
    _sound(stack)
    ready = json.loads((stack.folder / "stack.json").read_text())
    ready["cache_lost_at_ms"] = int((time.time() - ago_s) * 1000)
    (stack.folder / "stack.json").write_text(json.dumps(ready))

    assert _states(stack, code=0)["cache"] == state


@pytest.mark.parametrize(("status", "state"), [("available", "ok"), ("create-failed", "fail")])
def test_a_cache_of_aws_is_judged_by_its_status(status: str, state: str) -> None:
    target = Target(stack="redpacket-prod", connect=lambda _: _Group(status))

    (finding,) = doctor._cache(Session(target, Screen()))

    assert finding[:2] == (state, "cache")


class _Group:
    """Fake CloudFormation and ElastiCache clients with one replication group."""

    def __init__(self, status: str) -> None:
        self._status = status

    def describe_stack_resource(self, **_: Any) -> Any:
        return {"StackResourceDetail": {"PhysicalResourceId": "group"}}

    def describe_replication_groups(self, *, ReplicationGroupId: str) -> Any:  # noqa: N803
        assert ReplicationGroupId == "group"
        return {"ReplicationGroups": [{"Status": self._status}]}


def test_a_check_without_data_does_not_pass(stack: Stack) -> None:
    (stack.folder / "stack.json").unlink()

    states = _states(stack, code=5)

    assert set(states.values()) == {"unknown"}


def test_work_that_waits_for_an_operator_is_a_warning(stack: Stack) -> None:
    _sound(stack)
    off = {"name": "grab", "on": False, "reason": "a try", "changed_at_ms": 0}
    stack.answers["GET /admin/switches"] = _ok(items=[off])
    stack.answers["GET /admin/approvals"] = _ok(items=[{}] * 100, next="1")
    stack.answers["GET /admin/payments/debts"] = _ok(items=[{}], next=None)
    stack.answers["GET /admin/withdrawals"] = _ok(
        items=[{"created_at_ms": 0, "channel": "host"}], next=None
    )
    stack.answers["GET /admin/webhooks"] = _ok(items=[_webhook("shop", 5)])

    states = _states(stack, code=0)

    warned = {check for check, state in states.items() if state == "warn"}
    assert warned == {
        *("switch grab", "approvals", "debts", "withdrawals", "webhook shop"),
    }
    assert _states(stack, "--strict", code=1) == states
    assert "100 or more wait" in stack.run("doctor").stdout


@pytest.mark.parametrize(
    ("answer", "state", "code"),
    [(_problem(503, "unavailable"), "fail", 1), (_problem(403, "forbidden"), "unknown", 0)],
)
def test_a_failed_check_does_not_stop_the_others(
    stack: Stack, answer: httpx.Response, state: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    _sound(stack)
    stack.answers["GET /admin/switches"] = answer

    states = _states(stack, code=code)

    assert (states["switches"], states["debts"]) == (state, "ok")


def test_an_unavailable_aws_is_a_failure(stack: Stack) -> None:
    class _Away:
        def __getattr__(self, _: str) -> Any:
            raise EndpointConnectionError(endpoint_url="http://aws")

    _sound(stack, _Away())

    states = _states(stack, code=1)

    assert (states["alarms"], states["messages"], states["api"]) == ("fail", "fail", "ok")


def test_a_difference_of_the_last_reconciliation_outlives_its_alarm(stack: Stack) -> None:
    aws = Counted()
    _sound(stack, aws)
    stack.answers["GET /admin/reconcile/3f"] = _ok(checks=[{"differences": 2}, {"differences": 1}])

    items = stack.ask_json("doctor")["items"]
    aws.runs = []

    (told,) = (item for item in items if item["check"] == "reconciliation")
    assert told["state"] == "warn"
    assert told["detail"].startswith("3 differences in the run of 2026-01-31")
    assert _states(stack, code=0)["reconciliation"] == "ok"


def test_queues_are_listed_with_their_dead_letters(stack: Stack) -> None:
    _sound(stack, Counted(alive=7, dead=1))

    listed = stack.ask_json("queue", "list")["items"]

    assert listed == [{"queue": "payout", "waiting": 7, "in_flight": 7, "delayed": 7, "dead": 1}]
