"""Logs and metrics, as structured events; never tokens, bodies, greetings or nicknames."""

from __future__ import annotations

import json
import sys
import time
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from aws_lambda_powertools import Logger

REFUSALS_EVERY_S = 60.0

ALL_DOORS = "api"
"""The service of what all doors count together: an alarm looks at no more than ten metrics."""


@cache
def logger() -> Logger:
    """Return the logger; nearly no request has anything to log, and none pays for its import."""
    from aws_lambda_powertools import Logger

    return Logger()


class Asked:
    """The request that this process answers now: Lambda hands a process one at a time."""

    request_id = ""


asked = Asked()


def write_line(message: str, **details: Any) -> None:  # noqa: ANN401 - any JSON
    """Write a log line without the logger, whose import would be all that a batch pays for it."""
    line = {"level": "INFO", "message": message, **details}
    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")


class Refusals:
    """Counts by code of what this process refused: a line for each code, once a minute at most.

    A crowd of losers writes no line each. The first refusal is written at once; what came in the
    last minute of a process may be missing. Of refusals that are failures it sends the metric that
    ApiErrorsAlarm watches.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._counts: dict[str, int] = {}
        self._failed_count = 0
        self._written_at_s: float | None = None

    def count(self, code: str, *, is_failure: bool = False) -> None:
        """Count a refusal; *is_failure* if it is neither by design nor by a switch."""
        self._counts[code] = self._counts.get(code, 0) + 1
        self._failed_count += is_failure
        if self._written_at_s is None or self._now_s() >= self._written_at_s + REFUSALS_EVERY_S:
            self.write()

    def write(self) -> None:
        """Write what was counted since the last time."""
        self._written_at_s = self._now_s()
        counts, self._counts = self._counts, {}
        failed_count, self._failed_count = self._failed_count, 0
        for each, count in counts.items():
            write_line("refused", code=each, refused_count=count)
        if failed_count:
            _count("request_failed", failed_count, service=ALL_DOORS)


refusals = Refusals()


class LoggedJournal:
    """Implements Journal: a log line and a count in CloudWatch for every event."""

    def event(self, name: str, **details: str | int) -> None:
        """Warn and count."""
        logger().warning(name, extra=_traced(details))
        _count(name)

    def failure(self, name: str, error: Exception, **details: str | int) -> None:
        """Log the error with its cause, and count."""
        logger().error(name, exc_info=error, extra=_traced(details))
        _count(name)


def _traced(details: dict[str, str | int]) -> dict[str, str | int]:
    """Add whose request it was, as its answer says."""
    return {**details, "request_id": asked.request_id} if asked.request_id else details


def _count(name: str, value: int = 1, service: str = "") -> None:
    """Count *value* of the metric, which is this function's, or of another *service*."""
    from aws_lambda_powertools.metrics import MetricUnit, single_metric

    with single_metric(name=name, unit=MetricUnit.Count, value=value) as metric:
        if service:
            metric.add_dimension("service", service)


journal = LoggedJournal()
