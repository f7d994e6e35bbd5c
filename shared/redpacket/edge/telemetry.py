"""Logs and metrics, as structured events; never tokens, bodies, greetings or nicknames."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


@cache
def logger() -> Logger:
    """Return the logger; nearly no request has anything to log, and none pays for its import."""
    from aws_lambda_powertools import Logger

    return Logger()


class LoggedJournal:
    """Implements Journal: a log line and a count in CloudWatch for every event."""

    def event(self, name: str, **details: str | int) -> None:
        """Warn and count."""
        logger().warning(name, extra=details)
        _count(name)

    def failure(self, name: str, error: Exception, **details: str | int) -> None:
        """Log the error with its cause, and count."""
        logger().error(name, exc_info=error, extra=details)
        _count(name)


def _count(name: str) -> None:
    from aws_lambda_powertools.metrics import MetricUnit, single_metric

    with single_metric(name=name, unit=MetricUnit.Count, value=1):
        pass


journal = LoggedJournal()
