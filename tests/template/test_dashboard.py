"""Dashboard: AWS or our code sends each shown metric with the shown dimensions, and the queried
logs have the shown fields.
"""

import contextlib
import io
import json
import re
from typing import Any

import pytest

from local.places import ROOT
from redpacket.platform.telemetry import ALL_HANDLERS, Outcomes
from tests.template.translated import STACK_NAME, STACKS, Stack

each_stack = pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)

SENT_BY_AWS = {
    "AWS/Lambda": {"Duration", "IteratorAge", "Throttles"},
    "AWS/SQS": {"ApproximateAgeOfOldestMessage", "NumberOfMessagesDeleted", "NumberOfMessagesSent"},
    "AWS/ApiGateway": {"4xx", "5xx", "Count"},
    "AWS/DynamoDB": {"TransactionConflict"},
    "AWS/ElastiCache": {"DatabaseMemoryUsagePercentage", "EngineCPUUtilization"},
}
"""AWS metrics that the dashboard may show, named as in each service's documentation."""

WANTED = (
    *("claims", "refusals by code", "oldest", "refunds", "conservation", "conflicts"),
    *("webhooks", "payments"),
)


def _widgets(stack: Stack) -> list[dict[str, Any]]:
    (dashboard,) = stack.of_type("AWS::CloudWatch::Dashboard").values()
    widgets: list[dict[str, Any]] = json.loads(dashboard["DashboardBody"])["widgets"]
    return widgets


def _metrics(stack: Stack, *, is_search: bool = False) -> list[list[Any]]:
    shown = [widget for widget in _widgets(stack) if widget["type"] == "metric"]
    metrics = [metric for widget in shown for metric in widget["properties"]["metrics"]]
    return [metric for metric in metrics if isinstance(metric[0], dict) == is_search]


def _code() -> str:
    package = ROOT / "shared" / "redpacket"
    return "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))


@each_stack
def test_each_of_our_metrics_is_sent_by_the_named_function(stack: Stack) -> None:
    code = _code()
    services = {
        each["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
        for each in stack.handlers().values()
    } | {ALL_HANDLERS}
    filtered = [
        [each["MetricNamespace"], each["MetricName"]]
        for metric_filter in stack.of_type("AWS::Logs::MetricFilter").values()
        for each in metric_filter["MetricTransformations"]
    ]
    ours = [
        metric
        for metric in _metrics(stack)
        if not metric[0].startswith("AWS/") and metric not in filtered
    ]
    page = (ROOT / "docs" / "reference" / "events.md").read_text(encoding="utf-8")
    counted = {
        name: where
        for names, where in re.findall(r"^\| (`[a-z_`, ]+`) \| ([a-z, ]+) \|", page, re.MULTILINE)
        for name in re.findall("[a-z_]+", names)
    }

    assert len(ours) > 10
    for namespace, name, dimension, service in ours:
        assert (namespace, dimension) == (STACK_NAME, "service")
        assert service in services
        assert f'"{name}"' in code, name
        assert service in counted[name].split(", "), name


@each_stack
def test_each_metric_of_aws_belongs_to_a_created_resource(stack: Stack) -> None:
    made = {
        "FunctionName": {stack.ref(name) for name in stack.of_type("AWS::Lambda::Function")},
        "QueueName": {stack.physical(name) for name in stack.of_type("AWS::SQS::Queue")},
        "ApiId": {stack.ref(name) for name in stack.of_type("AWS::ApiGatewayV2::Api")},
        "TableName": {stack.ref(name) for name in stack.of_type("AWS::DynamoDB::Table")},
        "CacheClusterId": {
            f"{stack.ref(name)}-001" for name in stack.of_type("AWS::ElastiCache::ReplicationGroup")
        },
    }

    for namespace, name, *dimensions in _metrics(stack):
        if namespace.startswith("AWS/"):
            dimension, value = dimensions
            assert name in SENT_BY_AWS[namespace]
            assert value in made[dimension], (name, value)
    has_cache = any(metric[0] == "AWS/ElastiCache" for metric in _metrics(stack))
    assert has_cache == stack.is_true("MakeCache")


@each_stack
def test_each_queried_log_is_created_and_has_the_fields(stack: Stack) -> None:
    groups = {stack.ref(name) for name in stack.of_type("AWS::Logs::LogGroup")}
    (stage,) = stack.of_type("AWS::ApiGatewayV2::Stage").values()
    written = json.loads(stage["AccessLogSettings"]["Format"]).keys()
    queries = [
        widget["properties"]["query"] for widget in _widgets(stack) if widget["type"] == "log"
    ]

    assert len(queries) == 2
    for query in queries:
        matches = re.findall("SOURCE '([^']+)'", query)
        assert matches
        assert set(matches) <= groups
    assert {"route", "status"} <= written
    code = _code()
    assert all(name in code for name in ("closed_count", "refunded_fen"))


@each_stack
def test_outcomes_are_searched_under_the_names_that_processes_write(stack: Stack) -> None:
    ((search,),) = _metrics(stack, is_search=True)
    with contextlib.redirect_stdout(io.StringIO()) as written:
        outcomes = Outcomes()
        outcomes.count("packet_emptied")
        outcomes.write()
    (directive,) = json.loads(written.getvalue())["_aws"]["CloudWatchMetrics"]
    ((dimension,),), (metric,) = directive["Dimensions"], directive["Metrics"]

    assert search["expression"] == (
        f"""SEARCH('{{"{STACK_NAME}",{dimension}}} MetricName="{metric["Name"]}"', 'Sum', 60)"""
    )


@each_stack
def test_widgets_do_not_overlap_and_show_the_metrics_that_operators_need(stack: Stack) -> None:
    widgets = _widgets(stack)
    places = [
        (x, y)
        for widget in widgets
        for x in range(widget["x"], widget["x"] + widget["width"])
        for y in range(widget["y"], widget["y"] + widget["height"])
    ]
    titles = " ".join(widget["properties"]["title"].lower() for widget in widgets)

    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24
    assert [word for word in WANTED if word not in titles] == []
