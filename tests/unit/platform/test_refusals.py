"""Refusals are counted by code, and a crowd of losers writes no line each."""

import json
import time
from collections import Counter
from typing import Any

import pytest

from local.alarms import metrics_of
from redpacket.lottery.errors import DayNotStarted
from redpacket.packets.errors import PacketEmptied
from redpacket.platform import errors
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest
from redpacket.platform.telemetry import REFUSALS_EVERY_S, CountingLogger, Refusals


class Seconds:
    """A clock."""

    at_s = 5.0

    def __call__(self) -> float:
        return self.at_s


def _counted(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return _written(capsys)[0]


def _written(capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, Any]], int]:
    """Return the lines of refusals, and how many failures the metric got."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    failed_count = sum(sum(line.get("request_failed", ())) for line in lines)
    return [line for line in lines if line.get("message") == "refused"], failed_count


def _ask(error: Exception) -> str:
    """Ask a handler that fails with *error*; return the code that it answers."""
    handler = Api()

    @handler.route("GET /thing")
    def read(_request: HttpRequest) -> HttpAnswer[None]:
        raise error

    answer = handler({"routeKey": "GET /thing", "requestContext": {"requestId": "r"}}, None)
    return str(json.loads(answer["body"])["code"])


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    """Let each test begin a process, and count into a namespace."""
    clock = Seconds()
    monkeypatch.setattr("redpacket.platform.http.api.refusals", Refusals(clock))
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "redpacket")
    return clock


def test_a_crowd_of_losers_writes_a_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Seconds()
    refusals = Refusals(clock)

    for number in range(3_001):
        clock.at_s = 5.0 + number / 25
        refusals.count("packet_emptied" if number % 10 else "rate_limited")

    lines = _counted(capsys)
    counts = Counter({"packet_emptied": 0})
    for line in lines:
        counts[line["code"]] += line["refused_count"]
    # The first at once, then each minute's together.
    assert len(lines) == 1 + 2 + 2
    assert counts.total() == 3_001
    assert counts["rate_limited"] == 301


def test_a_single_refusal_is_written_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Seconds()
    refusals = Refusals(clock)

    refusals.count("packet_emptied")
    first = _counted(capsys)
    clock.at_s += REFUSALS_EVERY_S - 1
    refusals.count("packet_emptied")

    ((key, count),) = metrics_of(json.dumps(first[0]))
    assert key == ("redpacket", "refused_count", (("code", "packet_emptied"),))
    assert count == 1
    assert first[0]["_aws"]["Timestamp"] == pytest.approx(time.time() * 1000, abs=60_000)
    assert _counted(capsys) == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PacketEmptied("all gone"), "packet_emptied"),
        (errors.SwitchedOff("later"), "switched_off"),
        (DayNotStarted(3), "campaign_not_started"),
        (errors.Unavailable("no answer"), "unavailable"),
        (errors.InvariantViolated("a bug"), "internal_error"),
        (ZeroDivisionError(), "internal_error"),
    ],
)
def test_each_refusal_of_a_handler_is_counted_by_its_code(
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    code: str,
) -> None:
    answered = _ask(error)

    lines, failed_count = _written(capsys)
    assert answered == code
    assert [line["code"] for line in lines] == [code]
    # Temporary refusals are not logged as errors: a crowd writes no stack traces.
    is_expected = code in {"packet_emptied", "switched_off", "campaign_not_started"}
    assert (caplog.records == []) is is_expected
    assert failed_count == (0 if is_expected else 1)


def test_a_crowd_that_waits_for_the_days_round_has_not_failed(
    capsys: pytest.CaptureFixture[str], clock: Seconds
) -> None:
    for number in range(1_000):
        clock.at_s = 5.0 + number / 10
        _ask(DayNotStarted(3))

    lines, failed_count = _written(capsys)
    assert {line["code"] for line in lines} == {"campaign_not_started"}
    assert failed_count == 0


def test_an_outage_among_refusals_is_counted_failure_by_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for _ in range(12):
        _ask(DayNotStarted(3))
        _ask(errors.Unavailable("no answer"))

    # Within the minute, though nothing follows by which a process would write what it counted.
    assert _written(capsys)[1] == 12


def test_what_is_answered_is_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    handler = Api()

    @handler.route("GET /thing")
    def read(_request: HttpRequest) -> HttpAnswer[None]:
        return HttpAnswer(None)

    handler({"routeKey": "GET /thing", "requestContext": {"requestId": "r"}}, None)

    assert _counted(capsys) == []


@pytest.mark.parametrize("error", [errors.Unavailable, errors.AddressRefused])
def test_an_address_that_may_not_call_is_counted_beside_what_was_asked(
    error: type[Exception], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "test")
    CountingLogger().failure("look_failed", error("not from here"))

    names = {name for line in capsys.readouterr().out.splitlines() for name in json.loads(line)}
    assert "look_failed" in names
    assert ("address_refused" in names) == (error is errors.AddressRefused)
