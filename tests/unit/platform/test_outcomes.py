"""Counts of outcomes: many losers do not write one line each."""

import json
import time
from collections import Counter
from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from local.alarms import metrics_of
from redpacket.campaigns.errors import CampaignNotStarted
from redpacket.packets.errors import PacketEmptied
from redpacket.platform import errors
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest
from redpacket.platform.telemetry import WRITES_PER_MINUTE, CountingLogger, Outcomes
from redpacket.platform.time_budget import REQUEST_S, time_budget


class Seconds:
    """A clock."""

    at_s = 5.0

    def __call__(self) -> float:
        return self.at_s


def _counted(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return _written(capsys)[0]


def _written(capsys: pytest.CaptureFixture[str]) -> tuple[list[dict[str, Any]], int]:
    """Return the lines of outcomes, and the number of failures in the metric."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    failed_count = sum(sum(line.get("request_failed", ())) for line in lines)
    return [line for line in lines if line.get("message") == "outcome"], failed_count


def _ask(error: Exception) -> str:
    """Call a handler that fails with *error*; return the code of its answer."""

    def fail() -> None:
        raise error

    return str(json.loads(_answer(fail))["code"])


def _answer(do: Callable[[], None]) -> str:
    handler = Api()

    @handler.route("GET /thing")
    def read(_request: HttpRequest) -> HttpAnswer[None]:
        do()
        return HttpAnswer(None)

    event = {"routeKey": "GET /thing", "requestContext": {"requestId": "r"}}
    return str(handler(event, None)["body"])


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    """Start a process with a namespace for each test."""
    clock = Seconds()
    monkeypatch.setattr("redpacket.platform.http.api.outcomes", Outcomes(clock))
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "redpacket")
    return clock


def test_a_request_has_a_time_budget_that_ends_with_it() -> None:
    left_s: list[float] = []

    _answer(lambda: left_s.append(time_budget.timeout_s(inf)))

    assert left_s[0] <= REQUEST_S
    assert time_budget.timeout_s(inf) == inf


def test_many_losers_cause_ten_lines_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Seconds()
    outcomes = Outcomes(clock)

    for number in range(3_001):
        clock.at_s = 5.0 + number / 25
        outcomes.count("packet_emptied" if number % 10 else "rate_limited")
        outcomes.flush()

    counts: Counter[str] = Counter()
    lines = _counted(capsys)
    for line in lines:
        counts[line["outcome"]] += line["outcome_count"]
    # In the second and third minute, the first write has a line for each of the two codes.
    assert len(lines) == 3 * WRITES_PER_MINUTE - 9 + 2
    assert counts == {"packet_emptied": 2_700, "rate_limited": 301}


def test_pending_counts_are_written_when_a_later_request_ends(
    capsys: pytest.CaptureFixture[str], clock: Seconds
) -> None:
    for _ in range(WRITES_PER_MINUTE + 3):
        _ask(PacketEmptied("all gone"))
    first = _counted(capsys)
    clock.at_s += 60
    _answer(lambda: None)

    ((key, count),) = metrics_of(json.dumps(first[0]))
    assert key == ("redpacket", "outcome_count", (("outcome", "packet_emptied"),))
    assert (count, len(first)) == (1, WRITES_PER_MINUTE)
    assert first[0]["_aws"]["Timestamp"] == pytest.approx(time.time() * 1000, abs=60_000)
    assert [line["outcome_count"] for line in _counted(capsys)] == [3]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (PacketEmptied("all gone"), "packet_emptied"),
        (errors.SwitchedOff("later"), "switched_off"),
        (errors.Busy(), "idempotency_key_in_use"),
        (CampaignNotStarted(), "campaign_not_started"),
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
    assert [line["outcome"] for line in lines] == [code]
    # Expected refusals are not logged as errors, so that crowds cause no stack traces.
    is_expected = code not in {"unavailable", "internal_error"}
    assert (caplog.records == []) is is_expected
    assert failed_count == (0 if is_expected else 1)


def test_users_who_wait_for_a_campaign_are_not_counted_as_failures(
    capsys: pytest.CaptureFixture[str], clock: Seconds
) -> None:
    for number in range(1_000):
        clock.at_s = 5.0 + number / 10
        _ask(CampaignNotStarted())

    lines, failed_count = _written(capsys)
    assert {line["outcome"] for line in lines} == {"campaign_not_started"}
    assert failed_count == 0


def test_failures_among_refusals_are_counted_one_by_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for _ in range(12):
        _ask(CampaignNotStarted())
        _ask(errors.Unavailable("no answer"))

    # Each failure is written at once, even after the last write of the minute.
    assert _written(capsys)[1] == 12


def test_successful_answers_are_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    _answer(lambda: None)

    assert _counted(capsys) == []


@pytest.mark.parametrize("error", [errors.Unavailable, errors.AddressRefused])
def test_a_refused_source_address_is_counted_with_its_operation(
    error: type[Exception], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "test")
    CountingLogger().failure("look_failed", error("not from here"))

    names = {name for line in capsys.readouterr().out.splitlines() for name in json.loads(line)}
    assert "look_failed" in names
    assert ("address_refused" in names) == (error is errors.AddressRefused)
