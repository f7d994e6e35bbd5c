"""Structured logs and metrics, which contain no access tokens, bodies, greetings or nicknames."""

from __future__ import annotations

import json
import os
import sys
import time
from functools import cache
from typing import TYPE_CHECKING, Any

from redpacket.platform.errors import AddressRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_lambda_powertools import Logger

WRITES_PER_MINUTE = 10
OUTCOME_COUNT = "outcome_count"
"""Outcome metric; its dimension `outcome` has the API's codes and the funnel's stages."""

_VALUES_MAX = 100
"""Maximum values of one metric that CloudWatch accepts in a log line."""

ALL_HANDLERS = "api"
"""Service name of metrics that all handlers share, because an alarm allows at most ten metrics."""


@cache
def powertools_logger() -> Logger:
    """Return the logger, imported lazily because most requests log nothing."""
    from aws_lambda_powertools import Logger

    return Logger(serialize_stacktrace=False)  # the field `exception` contains the stack trace


class CurrentRequest:
    """Current request of this process; Lambda sends a process one request at a time."""

    request_id = ""


current_request = CurrentRequest()


def write_line(message: str, **details: Any) -> None:  # noqa: ANN401 - any JSON
    """Write a log line without the cost of importing the logger."""
    line = {"level": "INFO", "message": message, **details}
    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")


class Outcomes:
    """Counter of request outcomes, which a process writes up to ten times a minute.

    Frequent outcomes, such as losing grabs, share log lines. A quiet process loses no counts. A
    busy process loses the counts since its last write if no request follows, because Lambda
    announces a shutdown only to extensions, which slow down each cold start. Failures also count
    toward the metric for ApiErrorsAlarm, and cause an additional write.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._counts: dict[str, int] = {}
        self._failed_count = 0
        self._write_count = 0
        self._minute_ends_at_s = 0.0

    def count(self, outcome: str, number: int = 1, *, is_failure: bool = False) -> None:
        """Count an outcome; *is_failure* marks 5xx responses except `switched_off`."""
        self._counts[outcome] = self._counts.get(outcome, 0) + number
        self._failed_count += is_failure

    def flush(self) -> None:
        """Write the counts, unless this minute already has the maximum number of writes."""
        now_s = self._now_s()
        if now_s >= self._minute_ends_at_s:
            self._minute_ends_at_s, self._write_count = now_s + 60, 0
        if self._counts and self._write_count < WRITES_PER_MINUTE:
            self._write_count += 1
            self.write()

    def write(self) -> None:
        """Write and reset the counts."""
        counts, self._counts = self._counts, {}
        failed_count, self._failed_count = self._failed_count, 0
        for each, count in counts.items():
            _write_metric("outcome", OUTCOME_COUNT, count, outcome=each)
        if failed_count:
            # The alarm counts values without adding them, so that no negative value hides failures.
            values = [1] * min(failed_count, _VALUES_MAX)
            _write_metric("failures", "request_failed", values, service=ALL_HANDLERS)


def _write_metric(message: str, name: str, value: int | list[int], **dimension: str) -> None:
    """Write a count in CloudWatch's embedded metric format, without importing the logger."""
    metric = {
        "Namespace": os.environ.get("POWERTOOLS_METRICS_NAMESPACE", ""),
        "Dimensions": [[*dimension]],
        "Metrics": [{"Name": name, "Unit": "Count"}],
    }
    told = {"Timestamp": time.time_ns() // 1_000_000, "CloudWatchMetrics": [metric]}
    write_line(message, _aws=told, **dimension, **{name: value})


outcomes = Outcomes()


class CountingLogger:
    """EventLogger that writes a log line and a CloudWatch count for each event."""

    def event(self, name: str, **details: str | int) -> None:
        """Log a warning and count the event."""
        powertools_logger().warning(name, extra=_traced(details))
        _count(name)

    def failure(self, name: str, error: Exception, **details: str | int) -> None:
        """Log the error with its cause, and count the failure."""
        powertools_logger().error(name, exc_info=error, extra=_traced(details))
        _count(name)
        if isinstance(error, AddressRefused):
            _count("address_refused")

    def count(self, outcome: str, number: int = 1) -> None:
        """Count the outcome, without a log line for each call."""
        outcomes.count(outcome, number)


def _traced(details: dict[str, str | int]) -> dict[str, str | int]:
    return (
        {**details, "request_id": current_request.request_id}
        if current_request.request_id
        else details
    )


def _count(name: str) -> None:
    from aws_lambda_powertools.metrics import MetricUnit, single_metric

    with single_metric(name=name, unit=MetricUnit.Count, value=1):
        pass


logger = CountingLogger()
