"""Structured logs and metrics, which never contain tokens, bodies, greetings or nicknames."""

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

REFUSALS_EVERY_S = 60.0
REFUSED_COUNT = "refused_count"
"""Metric of refusals, whose dimension `code` has as many values as the API has codes."""

ALL_HANDLERS = "api"
"""Service name of metrics that all handlers share, because an alarm allows at most ten metrics."""


@cache
def powertools_logger() -> Logger:
    """Return the logger, imported lazily because most requests log nothing."""
    from aws_lambda_powertools import Logger

    return Logger(serialize_stacktrace=False)  # `exception` has the same


class CurrentRequest:
    """Current request of this process; Lambda sends a process one request at a time."""

    request_id = ""


current_request = CurrentRequest()


def write_line(message: str, **details: Any) -> None:  # noqa: ANN401 - any JSON
    """Write a log line without the costly import of the logger."""
    line = {"level": "INFO", "message": message, **details}
    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")


class Refusals:
    """Counter of refusals by code, which writes a line for each code at most once a minute.

    This saves a log line for each loser. The first refusal is written at once; those in a process's
    last minute may be lost. Failures also count in the metric of ApiErrorsAlarm.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._counts: dict[str, int] = {}
        self._failed_count = 0
        self._written_at_s: float | None = None

    def count(self, code: str, *, is_failure: bool = False) -> None:
        """Count a refusal; *is_failure* means neither by design nor by a switch."""
        self._counts[code] = self._counts.get(code, 0) + 1
        self._failed_count += is_failure
        if self._written_at_s is None or self._now_s() >= self._written_at_s + REFUSALS_EVERY_S:
            self.write()

    def write(self) -> None:
        """Write and reset the counts."""
        self._written_at_s = self._now_s()
        counts, self._counts = self._counts, {}
        failed_count, self._failed_count = self._failed_count, 0
        if not counts:
            return
        # CloudWatch's embedded metric format, written here to save the import of the logger.
        metric = {
            "Namespace": os.environ.get("POWERTOOLS_METRICS_NAMESPACE", ""),
            "Dimensions": [["code"]],
            "Metrics": [{"Name": REFUSED_COUNT, "Unit": "Count"}],
        }
        told = {"Timestamp": time.time_ns() // 1_000_000, "CloudWatchMetrics": [metric]}
        for each, count in counts.items():
            write_line("refused", _aws=told, code=each, **{REFUSED_COUNT: count})
        if failed_count:
            _count("request_failed", failed_count, service=ALL_HANDLERS)


refusals = Refusals()


class CountingLogger:
    """Implementation of EventLogger with a log line and a CloudWatch count for each event."""

    def event(self, name: str, **details: str | int) -> None:
        """Warn and count."""
        powertools_logger().warning(name, extra=_traced(details))
        _count(name)

    def failure(self, name: str, error: Exception, **details: str | int) -> None:
        """Log the error with its cause, and count."""
        powertools_logger().error(name, exc_info=error, extra=_traced(details))
        _count(name)
        if isinstance(error, AddressRefused):
            _count("address_refused")


def _traced(details: dict[str, str | int]) -> dict[str, str | int]:
    return (
        {**details, "request_id": current_request.request_id}
        if current_request.request_id
        else details
    )


def _count(name: str, value: int = 1, service: str = "") -> None:
    from aws_lambda_powertools.metrics import MetricUnit, single_metric

    with single_metric(name=name, unit=MetricUnit.Count, value=value) as metric:
        if service:
            metric.add_dimension("service", service)


logger = CountingLogger()
