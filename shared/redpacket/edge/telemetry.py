"""Logs and metrics, as structured events; never tokens, bodies, greetings or nicknames."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


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


def _count(name: str) -> None:
    from aws_lambda_powertools.metrics import MetricUnit, single_metric

    with single_metric(name=name, unit=MetricUnit.Count, value=1):
        pass


journal = LoggedJournal()
