"""Alarms of the local stack, evaluated as CloudWatch evaluates them."""

import json
from typing import Any

import pytest

from local.alarms import Alarms, metrics_of

NOW_S = 10_015.0
"""Five seconds before the end of a minute."""
SERVICE = (("service", "api"),)


def line(name: str, value: float) -> str:
    metrics = [{"Namespace": "stack", "Dimensions": [["service"]], "Metrics": [{"Name": name}]}]
    return json.dumps({"_aws": {"CloudWatchMetrics": metrics}, "service": "api", name: [value]})


class Aws:
    """Log lines, queues and alarms of one stack, without paging."""

    def __init__(
        self, events: list[tuple[float, str]], alarm: dict[str, Any], pending: int = 0
    ) -> None:
        self.alarm = {
            "AlarmName": "alarm",
            "StateValue": "OK",
            "Namespace": "stack",
            "MetricName": "request_failed",
            "Dimensions": [{"Name": "service", "Value": "api"}],
            "Period": 60,
            "EvaluationPeriods": 1,
            "TreatMissingData": "notBreaching",
            "Threshold": 10.0,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "Statistic": "Sum",
            **alarm,
        }
        self.events, self.pending = events, pending

    def __call__(self, _: str) -> "Aws":
        return self

    def get_paginator(self, name: str) -> Any:
        def paginate(**_: Any) -> list[dict[str, Any]]:
            if name == "describe_alarms":
                return [{"MetricAlarms": [self.alarm]}]
            return [
                {
                    "events": [
                        {"timestamp": at_s * 1000, "message": text} for at_s, text in self.events
                    ]
                }
            ]

        return type("Paginator", (), {"paginate": staticmethod(paginate)})

    def describe_log_groups(self) -> dict[str, Any]:
        return {"logGroups": [{"logGroupName": "group"}]}

    def put_metric_data(self, **_: Any) -> None: ...

    def get_queue_attributes(self, **_: Any) -> dict[str, Any]:
        return {"Attributes": {"ApproximateNumberOfMessages": str(self.pending)}}

    def set_alarm_state(self, *, StateValue: str, **_: Any) -> None:  # noqa: N803
        self.alarm["StateValue"] = StateValue


@pytest.mark.parametrize(
    ("counts", "alarm", "state"),
    [
        ([(5, 9)], {}, "OK"),
        ([(5, 9), (50, 1)], {}, "ALARM"),
        ([(5, 9), (70, 1)], {}, "OK"),
        ([(70, 10)], {}, "ALARM"),  # CloudWatch judges whole minutes after their end
        ([(120, 10)], {}, "OK"),
        ([(70, 10)], {"EvaluationPeriods": 3}, "OK"),
        ([(70, 10)], {"EvaluationPeriods": 3, "DatapointsToAlarm": 1}, "ALARM"),
        ([(5, 10)], {"Dimensions": []}, "OK"),
        ([(5, 1), (6, -99)], {"Threshold": 1.0, "Statistic": "Maximum"}, "ALARM"),
        ([(5, 1), (6, -99)], {"Threshold": 2.0, "Statistic": "SampleCount"}, "ALARM"),
        ([(5, 1)], {"Threshold": 1.0, "ComparisonOperator": "LessThanThreshold"}, "OK"),
    ],
)
def test_an_alarm_counts_periods_dimensions_and_missing_data(
    counts: list[tuple[float, float]], alarm: dict[str, Any], state: str
) -> None:
    aws = Aws([(NOW_S - ago_s, line("request_failed", n)) for ago_s, n in counts], alarm)

    alarms = Alarms(aws, [], now_s=lambda: NOW_S)
    alarms.look()
    alarms.look()  # a line counts once even if it is read repeatedly

    assert aws.alarm["StateValue"] == state


def test_an_alarm_stays_on_while_its_events_are_in_sight() -> None:
    alarm = {"Threshold": 1.0, "EvaluationPeriods": 15, "DatapointsToAlarm": 3}
    # The sweeps are not exactly a minute apart.
    events = [(NOW_S + each, line("request_failed", 1)) for each in (0, 61, 119)]
    aws = Aws(events, alarm)
    clock = [NOW_S + 119]
    alarms = Alarms(aws, [], now_s=lambda: clock[0])

    states = []
    for _ in range(78):  # thirteen minutes
        alarms.look()
        states.append(aws.alarm["StateValue"])
        clock[0] += 10

    assert set(states) == {"ALARM"}


def test_a_dead_letter_fires_the_alarm_of_its_own_queue() -> None:
    metric = {"Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible"}
    dimensions = {"Dimensions": [{"Name": "QueueName", "Value": "payout-dlq"}]}
    aws = Aws([], {**metric, **dimensions, "Threshold": 1.0, "Statistic": "Maximum"}, pending=1)

    Alarms(aws, ["http://sqs/0/other-dlq"], now_s=lambda: NOW_S).look()
    of_another_queue = aws.alarm["StateValue"]
    Alarms(aws, ["http://sqs/0/payout-dlq"], now_s=lambda: NOW_S).look()

    assert (of_another_queue, aws.alarm["StateValue"]) == ("OK", "ALARM")


def test_a_line_without_metrics_counts_nothing() -> None:
    assert list(metrics_of('{"message": "_aws"}')) == []
    assert list(metrics_of("not JSON, _aws")) == []
    assert list(metrics_of(line("x", 2))) == [(("stack", "x", SERVICE), 2)]
