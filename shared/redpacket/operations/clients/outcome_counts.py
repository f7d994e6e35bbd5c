"""Outcome counts from CloudWatch, which adds up the log lines of all functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from redpacket.platform.aws.errors import translated
from redpacket.platform.telemetry import OUTCOME_COUNT

if TYPE_CHECKING:
    from redpacket.platform.runtime import Clock

_CACHED_MS = 60_000
_HOUR_MS = 3_600_000
_POINTS = 60
"""Maximum data points per metric in one answer; CloudWatch keeps one-minute data for 15 days."""


class CloudWatchOutcomes:
    """Reader of request outcome counts; outcomes from a busy process's last minute may be missing.

    A process caches the counts for a minute, because CloudWatch charges for each metric.
    """

    def __init__(self, connect: Callable[[], Any], namespace: str, clock: Clock) -> None:
        self._connect, self._namespace, self._clock = connect, namespace, clock
        self._cached: dict[int, tuple[int, Mapping[str, int]]] = {}

    @cached_property
    def _cloudwatch(self) -> Any:  # noqa: ANN401 - botocore's clients have no type at run time
        return self._connect()

    def count(self, hours: int) -> Mapping[str, int]:
        """Return the counts for all codes and stages in the last *hours*. Raises Unavailable."""
        now_ms = self._clock.now_ms()
        at_ms, counts = self._cached.get(hours, (0, {}))
        if now_ms >= at_ms + _CACHED_MS:
            with translated("CloudWatch"):
                counts = self._counted(hours, now_ms)
            self._cached[hours] = now_ms, counts
        return counts

    def _counted(self, hours: int, now_ms: int) -> dict[str, int]:
        name = {"Namespace": self._namespace, "MetricName": OUTCOME_COUNT}
        # One page holds 500 metrics, more than the number of outcomes.
        metrics = self._cloudwatch.list_metrics(**name)["Metrics"]
        outcomes = sorted({each["Dimensions"][0]["Value"] for each in metrics})
        if not outcomes:
            return {}
        queries = [
            {
                "Id": f"outcome{number}",
                "MetricStat": {
                    "Metric": {**name, "Dimensions": [{"Name": "outcome", "Value": outcome}]},
                    "Period": hours * _HOUR_MS // _POINTS // 1000,
                    "Stat": "Sum",
                },
            }
            for number, outcome in enumerate(outcomes)
        ]
        response = self._cloudwatch.get_metric_data(
            MetricDataQueries=queries,
            StartTime=(now_ms - hours * _HOUR_MS) / 1000,
            EndTime=now_ms / 1000,
        )
        sums = {each["Id"]: round(sum(each["Values"])) for each in response["MetricDataResults"]}
        return {each: sums.get(f"outcome{number}", 0) for number, each in enumerate(outcomes)}
