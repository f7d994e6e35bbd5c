"""Counts of outcomes that the local stack writes to CloudWatch from log lines."""

import io
import time
import uuid
from contextlib import redirect_stdout

import pytest

from local.alarms import metrics_of
from redpacket.operations.clients.outcome_counts import CloudWatchOutcomes
from redpacket.platform.telemetry import Outcomes
from testing.fakes import FakeClock
from testing.platform.cloud import Cloud


def test_lines_of_several_processes_are_added_up(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    namespace, clock = f"stack-{uuid.uuid4().hex[:8]}", FakeClock()
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", namespace)
    clock.at_ms = int((time.time() + 60) * 1000)
    cloudwatch = cloud.aws("cloudwatch")
    counts = CloudWatchOutcomes(lambda: cloudwatch, namespace, clock)
    assert counts.count(24) == {}
    for outcomes in (["packet_emptied", "won"], ["packet_emptied"]):
        with redirect_stdout(io.StringIO()) as written:
            process = Outcomes()
            for outcome in outcomes:
                process.count(outcome)
            process.flush()
        for line in written.getvalue().splitlines():
            for (_, name, dimensions), value in metrics_of(line):
                datum = {"MetricName": name, "Value": value, "Timestamp": time.time()}
                datum["Dimensions"] = [{"Name": key, "Value": text} for key, text in dimensions]
                cloudwatch.put_metric_data(Namespace=namespace, MetricData=[datum])

    assert counts.count(1) == {"packet_emptied": 2, "won": 1}
    # Answers are cached for a minute, because CloudWatch charges for each queried metric.
    assert counts.count(24) == {}
    clock.at_ms += 60_000
    assert counts.count(24) == {"packet_emptied": 2, "won": 1}
