"""Alarms: each reads a metric that something sends, with exactly the dimensions that are sent."""

import fnmatch
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest

from local.places import ROOT
from redpacket.platform.telemetry import ALL_HANDLERS
from tests.template.translated import STACK_NAME, STACK_OF, STACKS, Stack

each_stack = pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)

Metric = dict[str, Any]

SENT_BY_AWS = {
    "AWS/Lambda": {"Errors", "IteratorAge", "Throttles"},
    "AWS/SQS": {"ApproximateNumberOfMessagesVisible", "ApproximateAgeOfOldestMessage"},
    "AWS/DynamoDB": {"WriteThrottleEvents", "ReadThrottleEvents"},
    "AWS/States": {"ExecutionsFailed", "ExecutionsSucceeded"},
    "AWS/ElastiCache": {"CPUUtilization", "DatabaseMemoryUsagePercentage", "EngineCPUUtilization"},
}
"""AWS metrics that alarms may watch, named as in each service's documentation."""

DIMENSIONS: dict[str, list[tuple[str, ...]]] = {
    "AWS/Lambda": [("FunctionName",), ()],  # No dimension: the metric covers the whole account.
    "AWS/SQS": [("QueueName",)],
    "AWS/DynamoDB": [("TableName",), ("GlobalSecondaryIndexName", "TableName")],
    "AWS/States": [("StateMachineArn",)],
    "AWS/ElastiCache": [("CacheClusterId",)],
}


def _metrics(alarm: dict[str, Any]) -> list[Metric]:
    if "Metrics" not in alarm:
        return [alarm]
    return [
        each["MetricStat"]["Metric"] | {"Period": each["MetricStat"]["Period"]}
        for each in alarm["Metrics"]
        if "MetricStat" in each
    ]


def _watched(stack: Stack) -> list[Metric]:
    alarms = stack.of_type("AWS::CloudWatch::Alarm").values()
    return [metric for alarm in alarms for metric in _metrics(alarm)]


def _dimensions(metric: Metric) -> dict[str, str]:
    return {each["Name"]: each["Value"] for each in metric.get("Dimensions", ())}


def _filtered(stack: Stack) -> list[dict[str, Any]]:
    """Return the metrics that the stack's metric filters create from log lines."""
    filters = stack.of_type("AWS::Logs::MetricFilter").values()
    return [each for pattern in filters for each in pattern["MetricTransformations"]]


def _counted_by(stack: Stack, function: str, name: str) -> dict[str, Any]:
    """Count an event in a process with *function*'s environment; return the log line."""
    counts = f"from redpacket.platform.telemetry import logger; logger.event({name!r})"
    if name == "request_failed":
        counts = (
            "from redpacket.platform.telemetry import outcomes;"
            " outcomes.count('-', is_failure=True); outcomes.write()"
        )
    variables = stack.of_type("AWS::Lambda::Function")[function]["Environment"]["Variables"]
    done = subprocess.run(
        [sys.executable, "-c", counts],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT / "shared"),
            **{key: str(value) for key, value in variables.items()},
        },
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [json.loads(each) for each in done.stdout.splitlines()]
    (line,) = [each for each in lines if "_aws" in each and name in each]
    counted: dict[str, Any] = line
    return counted


def test_our_alarms_read_exactly_the_metrics_that_we_count() -> None:
    stack = STACK_OF["sign-in by WeChat, and a cache that is reached from anywhere"]
    filtered = {each["MetricName"] for each in _filtered(stack)}
    ours = [
        each
        for each in _watched(stack)
        if not each["Namespace"].startswith("AWS/") and each["MetricName"] not in filtered
    ]
    sent: dict[str, dict[str, Any]] = {}

    assert len(ours) > 3
    for metric in ours:
        name, dimensions = metric["MetricName"], _dimensions(metric)
        # All handlers share one metric for failures.
        writer = dimensions["service"] if dimensions["service"] != ALL_HANDLERS else "grab"
        sent[name] = _counted_by(stack, f"{writer.capitalize()}Function", name)
        (directive,) = sent[name]["_aws"]["CloudWatchMetrics"]
        assert directive["Namespace"] == metric["Namespace"] == STACK_NAME
        assert directive["Dimensions"] == [list(dimensions)]
        assert [each["Name"] for each in directive["Metrics"]] == [name]
        assert sent[name]["service"] == dimensions["service"]
    # Our code must name each metric. An alarm on a metric that nothing sends would fire never or
    # always.
    package = ROOT / "shared" / "redpacket"
    code = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    assert [name for name in sent if not re.search(f'"{name}"', code)] == []


def _matches(pattern: str, line: dict[str, str]) -> bool:
    """Return whether a line matches a filter pattern, which compares fields with wildcards."""

    def compared(match: re.Match[str]) -> str:
        field, operator, expected = match.groups()
        is_equal = fnmatch.fnmatchcase(line[field], expected)
        return str(is_equal is (operator == "="))

    words = re.sub(r'\$\.(\w+) (!?=) "([^"]*)"', compared, pattern.strip("{} "))
    words = words.replace("&&", "and").replace("||", "or")
    assert set(re.findall(r"\w+", words)) <= {"True", "False", "and", "or"}
    return bool(eval(words))  # noqa: S307 - of the words above alone


CRASHED = "The Lambda function returned the following error: Unhandled."


@pytest.mark.parametrize(
    ("status", "function_status", "error", "is_counted"),
    [
        pytest.param("200", "200", "-", False, id="an answer"),
        pytest.param("410", "410", "-", False, id="a refusal"),
        pytest.param("429", "-", "-", False, id="the gateway's throttle"),
        pytest.param("401", "-", "-", False, id="no token"),
        pytest.param("503", "503", "-", False, id="a function's own, of which it counts failures"),
        pytest.param("500", "500", "-", False, id="a function's own error"),
        pytest.param("500", "-", CRASHED, True, id="a function that crashed"),
        pytest.param("500", "200", CRASHED, True, id="a crash, as Lambda's API tells it"),
        pytest.param("500", "500", CRASHED, True, id="a crash, were it told as a status"),
        pytest.param("503", "-", "-", True, id="no executions left"),
        pytest.param("503", "-", "Endpoint request timed out", True, id="a call that hung"),
        pytest.param("500", "-", "-", True, id="an authorizer that failed"),
    ],
)
def test_5xx_answers_without_a_function_are_counted_from_the_log_of_the_gateway(
    status: str, function_status: str, error: str, *, is_counted: bool
) -> None:
    stack = STACK_OF["prod"]
    (made,) = stack.of_type("AWS::Logs::MetricFilter").values()
    (stage,) = stack.of_type("AWS::ApiGatewayV2::Stage").values()
    written = json.loads(stage["AccessLogSettings"]["Format"])
    told = {"status": status, "function_status": function_status, "error": error}

    assert made["LogGroupName"] == stack.ref("ApiLogs")
    assert {name: written[name] for name in told} == {
        "status": "$context.status",
        "function_status": "$context.integration.status",
        "error": "$context.integrationErrorMessage",
    }
    assert _matches(made["FilterPattern"], {**dict.fromkeys(written, "-"), **told}) is is_counted


@each_stack
def test_an_alarm_reads_a_log_metric_with_its_statistic(stack: Stack) -> None:
    alarm = stack.of_type("AWS::CloudWatch::Alarm")["GatewayErrorsAlarm"]
    (metric,) = _filtered(stack)

    assert {*alarm} & {"Dimensions", "Unit"} == set()
    assert metric == {
        "MetricNamespace": alarm["Namespace"],
        "MetricName": alarm["MetricName"],
        "MetricValue": "1",
        "Unit": "Count",
    }


@each_stack
def test_no_function_hides_an_event_behind_a_negative_count(stack: Stack) -> None:
    for name, alarm in stack.of_type("AWS::CloudWatch::Alarm").items():
        parts = [each for each in alarm.get("Metrics", [alarm]) if "Expression" not in each]
        read = [
            (metric["Namespace"], part.get("MetricStat", {}).get("Stat") or part["Statistic"])
            for part, metric in zip(parts, _metrics(alarm), strict=True)
        ]
        ours = {statistic for namespace, statistic in read if not namespace.startswith("AWS/")}
        # With Maximum, an alarm at 10 would fire only if one log line had a count of 10 or more.
        safe = "Maximum" if alarm["Threshold"] == 1 else "SampleCount"
        assert ours <= {safe}, name
        if ours and "Metrics" in alarm:
            assert [each["Expression"] for each in alarm["Metrics"] if "Expression" in each] == [
                "MAX(METRICS())"
            ]
        if alarm["TreatMissingData"] == "ignore":
            assert not ours, name


@each_stack
def test_errors_that_are_logged_a_minute_late_raise_an_alarm(stack: Stack) -> None:
    for name in ("ApiErrorsAlarm", "GatewayErrorsAlarm"):
        alarm = stack.of_type("AWS::CloudWatch::Alarm")[name]
        assert (alarm["Period"], alarm["Statistic"]) == (60, "SampleCount")
        assert (alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"]) == (1, 3)


@each_stack
def test_errors_of_less_frequent_schedules_raise_the_alarm(stack: Stack) -> None:
    for name in ("ExpireErrorsAlarm", "LogErrorsAlarm"):
        alarm = stack.of_type("AWS::CloudWatch::Alarm")[name]
        (metric,) = _metrics(alarm)
        assert (metric["MetricName"], metric["Period"], alarm["Threshold"]) == ("Errors", 60, 1)
        assert _states(alarm, [0] * 9 + [None] * 3)[-1] == "ALARM"
        assert _states(alarm, [0] * 9 + [1, 0, 1, 0, 1])[-1] == "ALARM"
        assert _states(alarm, [0] * 9 + [None, 0, None, 0])[-1] == "OK"


@each_stack
def test_no_two_stacks_count_into_the_same_metric(stack: Stack) -> None:
    for function in stack.handlers().values():
        namespace = function["Environment"]["Variables"]["POWERTOOLS_METRICS_NAMESPACE"]
        assert namespace == STACK_NAME


@each_stack
def test_other_alarm_metrics_are_sent_by_aws_for_created_resources(stack: Stack) -> None:
    made: dict[str, set[Any]] = {
        "FunctionName": {stack.ref(name) for name in stack.of_type("AWS::Lambda::Function")},
        "QueueName": {stack.physical(name) for name in stack.of_type("AWS::SQS::Queue")},
        "ApiId": {stack.ref(name) for name in stack.of_type("AWS::ApiGatewayV2::Api")},
        "TableName": {stack.ref(name) for name in stack.of_type("AWS::DynamoDB::Table")},
        "GlobalSecondaryIndexName": {"by_work", "by_list"},
        "StateMachineArn": {stack.ref("ReconcileMachine")},
        # This is how ElastiCache names the nodes of a replication group with one shard.
        "CacheClusterId": {
            f"{stack.ref(name)}-00{number}"
            for name, group in stack.of_type("AWS::ElastiCache::ReplicationGroup").items()
            for number in range(1, 2 + group["ReplicasPerNodeGroup"])
        },
    }

    for metric in _watched(stack):
        namespace, dimensions = metric["Namespace"], _dimensions(metric)
        if not namespace.startswith("AWS/"):
            continue
        assert metric["MetricName"] in SENT_BY_AWS[namespace]
        assert tuple(sorted(dimensions)) in DIMENSIONS[namespace]
        assert all(value in made[name] for name, value in dimensions.items())


@each_stack
def test_an_alarm_with_several_metrics_is_within_the_limits_of_cloudwatch(stack: Stack) -> None:
    for name, alarm in stack.of_type("AWS::CloudWatch::Alarm").items():
        if "Metrics" not in alarm:
            continue
        assert 1 <= len(_metrics(alarm)) <= 10, name
        returned = [each for each in alarm["Metrics"] if each.get("ReturnData", True)]
        assert len(returned) == 1
        if "Condition" in alarm or "AlarmTopicArn" in stack.parameters:
            assert alarm["AlarmActions"] == [stack.parameters["AlarmTopicArn"]]
        ids = [each["Id"] for each in alarm["Metrics"]]
        assert len(ids) == len(set(ids))
        assert all(re.fullmatch("[a-z][A-Za-z0-9_]*", each) for each in ids)


@each_stack
def test_a_night_without_a_complete_reconciliation_raises_an_alarm(stack: Stack) -> None:
    alarms = stack.of_type("AWS::CloudWatch::Alarm")
    watched = [each for name in alarms if "Reconcile" in name for each in _metrics(alarms[name])]

    names = {"ExecutionsFailed", "reconcile_incomplete", "ExecutionsSucceeded"}
    assert {each["MetricName"] for each in watched} == names
    silence = alarms["ReconcileSilentAlarm"]
    (metric,) = _metrics(silence)
    assert metric["MetricName"] == "ExecutionsSucceeded"
    assert metric["Period"] * silence["DatapointsToAlarm"] > 25 * 3600
    # CloudWatch evaluates at most a week, and at most a day if the period is below an hour.
    assert metric["Period"] * silence["EvaluationPeriods"] <= 7 * 24 * 3600
    assert metric["Period"] >= 3600


@each_stack
def test_no_alarm_fires_before_the_first_run_of_its_schedule(stack: Stack) -> None:
    alarms = stack.of_type("AWS::CloudWatch::Alarm")
    silent = {name for name, each in alarms.items() if each.get("TreatMissingData") == "ignore"}

    assert {each["TreatMissingData"] for each in alarms.values()} == {"ignore", "notBreaching"}
    assert silent == {"ExpireErrorsAlarm", "LogErrorsAlarm", "ReconcileSilentAlarm"}
    for name in silent:
        alarm = alarms[name]
        good = 1 if alarm["ComparisonOperator"] == "LessThanThreshold" else 0
        assert set(_states(alarm, [None] * 50)) == {"INSUFFICIENT_DATA"}
        # After a first run, silence triggers the alarm, even when that run has left the window.
        assert set(_states(alarm, [None] * 5 + [good])) == {"INSUFFICIENT_DATA", "OK"}
        assert _states(alarm, [None] * 5 + [good] + [None] * 100)[-1] == "ALARM"
        assert _states(alarm, [good] + [None] * 100 + [good] * 26)[-1] == "OK"


def _states(alarm: dict[str, Any], points: Sequence[float | None]) -> list[str]:
    """Return a silence alarm's state after each period, as CloudWatch documents it.

    "Using metric math": REPEAT fills gaps with the previous value, and IF drops points that do not
    meet its condition. "Configuring how alarms treat missing data": if all points are missing,
    ignore keeps the state.
    """
    expression = next(each["Expression"] for each in alarm["Metrics"] if "Expression" in each)
    form = r"IF\(FILL\((\w+), REPEAT\), FILL\(\1, (\d)\), FILL\(\1, \2\)\)"
    filler = float(re.fullmatch(form, expression).group(2))  # type: ignore[union-attr]
    count, needed = alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]
    states = ["INSUFFICIENT_DATA"]
    for end in range(1, len(points) + 1):
        seen = points[max(0, end - count) : end]
        first = next((at for at, value in enumerate(seen) if value is not None), len(seen))
        values = [filler if value is None else value for value in seen[first:]]
        is_less = alarm["ComparisonOperator"] == "LessThanThreshold"
        bad = sum(v < alarm["Threshold"] if is_less else v >= alarm["Threshold"] for v in values)
        if bad >= needed:
            states.append("ALARM")
        elif values and (len(values) - bad > count - needed or states[-1] != "ALARM"):
            states.append("OK")
        else:
            states.append(states[-1])
    return states


def test_with_a_topic_all_resources_that_can_be_throttled_have_alarms() -> None:
    stack = STACK_OF["kept warm, with a canary"]
    watched = {
        (metric["MetricName"], *sorted(_dimensions(metric).values())) for metric in _watched(stack)
    }
    indexes = {
        (stack.ref(name), index["IndexName"])
        for name, table in stack.of_type("AWS::DynamoDB::Table").items()
        for index in table.get("GlobalSecondaryIndexes", [])
    }

    assert ("Throttles",) in watched  # for all functions together
    for kind in ("WriteThrottleEvents", "ReadThrottleEvents"):
        for place in indexes:
            assert (kind, *sorted(place)) in watched
        for table in ("AccountsTable", "PacketsTable", "SharesTable", "CampaignsTable"):
            assert (kind, stack.ref(table)) in watched
    cache = {each[1] for each in watched if "Usage" in each[0]}
    assert len(cache) == 2
