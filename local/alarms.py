"""Local CloudWatch: metrics from log lines, and states of the template's alarms.

The emulator reads no metrics from log lines, has no queue metrics, and ignores dimensions and
missing data. A thread evaluates alarms as CloudWatch does, for `redpacket count` and `redpacket
doctor`. Alarms on metrics that the emulator lacks keep their initial states.
"""

from __future__ import annotations

import json
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

EVERY_S = 10.0
"""Seconds between two checks of logs, queues, and alarms."""
LOOK_BACK_MS = 60_000
"""Milliseconds of logs that each check reads, because new lines may become readable late."""
QUEUE_METRICS = ("ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage")

UNKNOWN_NAMESPACES = ("AWS/Lambda", "AWS/States")
"""Namespaces whose metrics the emulator lacks (failed invocations and executions, for example)."""

_STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "Maximum": max,
    "SampleCount": len,
    "Sum": sum,
}

Key = tuple[str, str, tuple[tuple[str, str], ...]]
"""A metric's namespace, name, and dimensions."""
Aws = Callable[[str], Any]


class Alarms:
    """Metrics of one stack since the start, and the states of the stack's alarms."""

    def __init__(
        self, aws: Aws, queue_urls: list[str], now_s: Callable[[], float] = time.time
    ) -> None:
        self._cloudwatch, self._logs, self._sqs = aws("cloudwatch"), aws("logs"), aws("sqs")
        self._queue_urls, self._now_s = queue_urls, now_s
        self._points: dict[Key, list[tuple[float, float]]] = defaultdict(list)
        self._seen: Counter[tuple[str, int, str]] = Counter()
        self._waiting_since_s: dict[str, float] = {}

    def watch(self) -> None:
        """Check in an endless loop; if a check fails, print the error and try again."""
        while True:
            try:
                self.look()
            except Exception:  # noqa: BLE001 - the next check tries again
                traceback.print_exc()
            time.sleep(EVERY_S)

    def look(self) -> None:
        """Read logs and queues, then set the state of each alarm that changed."""
        self._read_logs()
        self._read_queues()
        for page in self._cloudwatch.get_paginator("describe_alarms").paginate():
            for alarm in page["MetricAlarms"]:
                if alarm["Namespace"] in UNKNOWN_NAMESPACES:
                    continue
                state = self._state(alarm)
                if state != alarm["StateValue"]:
                    self._cloudwatch.set_alarm_state(
                        AlarmName=alarm["AlarmName"], StateValue=state, StateReason="judged locally"
                    )

    def _read_logs(self) -> None:
        since_ms = int(self._now_s() * 1000) - LOOK_BACK_MS
        for group in self._logs.describe_log_groups()["logGroups"]:
            pages = self._logs.get_paginator("filter_log_events").paginate(
                logGroupName=group["logGroupName"], startTime=since_ms, filterPattern='"_aws"'
            )
            counts = Counter(
                (group["logGroupName"], event["timestamp"], event["message"])
                for page in pages
                for event in page["events"]
            )
            # Count equal lines, because the emulator gives log lines no ids.
            for line, fresh in (counts - self._seen).items():
                self._seen[line] += fresh
                for key, value in [*metrics_of(line[2])] * fresh:
                    self._count(key, value, line[1] / 1000)

    def _count(self, key: Key, value: float, at_s: float) -> None:
        self._points[key].append((at_s, value))
        namespace, name, dimensions = key
        datum = {"MetricName": name, "Value": value, "Unit": "Count", "Timestamp": at_s}
        datum["Dimensions"] = [{"Name": each, "Value": text} for each, text in dimensions]
        self._cloudwatch.put_metric_data(Namespace=namespace, MetricData=[datum])

    def _read_queues(self) -> None:
        now_s = self._now_s()
        for url in self._queue_urls:
            query = {"QueueUrl": url, "AttributeNames": ["ApproximateNumberOfMessages"]}
            attributes = self._sqs.get_queue_attributes(**query)
            count = int(attributes["Attributes"]["ApproximateNumberOfMessages"])
            # On AWS, the metric is the age of the oldest message. Approximate it by the time since
            # the queue was last empty.
            since_s = self._waiting_since_s.setdefault(url, now_s)
            if not count:
                since_s = self._waiting_since_s[url] = now_s
            dimensions = (("QueueName", url.rpartition("/")[2]),)
            for name, value in zip(QUEUE_METRICS, (count, now_s - since_s), strict=True):
                self._points["AWS/SQS", name, dimensions].append((now_s, value))

    def _state(self, alarm: dict[str, Any]) -> str:
        """Return ALARM if enough periods breach, otherwise OK; missing data never breaches."""
        bad = sum(_breaches(alarm, value) for value in self._values(alarm))
        return (
            "ALARM" if bad >= alarm.get("DatapointsToAlarm", alarm["EvaluationPeriods"]) else "OK"
        )

    def _values(self, alarm: dict[str, Any]) -> Iterator[float]:
        """Return the statistics, if any, of the current period and of EvaluationPeriods before it.

        As in CloudWatch, periods begin at multiples of their length. If they ended now instead, two
        events could share a period, and the alarm would flap.
        """
        period_s = alarm["Period"]
        now = self._now_s() // period_s
        values = defaultdict(list)
        for at_s, value in self._points[_key(alarm)]:
            if now - at_s // period_s <= alarm["EvaluationPeriods"]:
                values[at_s // period_s].append(value)
        return map(_STATISTICS[alarm["Statistic"]], values.values())


def metrics_of(line: str) -> Iterator[tuple[Key, float]]:
    """Yield the metrics of a log line in CloudWatch's embedded metric format."""
    try:
        told = json.loads(line)
        directives = told["_aws"]["CloudWatchMetrics"]
    except (ValueError, KeyError, TypeError):
        return
    for directive in directives:
        for names in directive["Dimensions"]:
            dimensions = tuple((name, told[name]) for name in names)
            for metric in directive["Metrics"]:
                values = told[metric["Name"]]
                for value in values if isinstance(values, list) else [values]:
                    yield (directive["Namespace"], metric["Name"], dimensions), value


def _key(alarm: dict[str, Any]) -> Key:
    dimensions = tuple((each["Name"], each["Value"]) for each in alarm.get("Dimensions", []))
    return alarm["Namespace"], alarm["MetricName"], dimensions


def _breaches(alarm: dict[str, Any], value: float) -> bool:
    if alarm["ComparisonOperator"] == "LessThanThreshold":
        return bool(value < alarm["Threshold"])
    return bool(value >= alarm["Threshold"])


def start(aws: Aws, outputs: dict[str, str]) -> None:
    """Start a thread that evaluates the alarms."""
    queues = [
        value
        for name, value in outputs.items()
        if name.endswith(("QueueUrl", "DlqUrl", "RecordsUrl"))
    ]
    threading.Thread(target=Alarms(aws, queues).watch, daemon=True).start()
