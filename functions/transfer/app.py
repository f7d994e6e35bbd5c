"""Handler for the notice queue and the payment schedules: query and call payment providers."""

from dataclasses import asdict
from typing import Any

from redpacket.containers import containers
from redpacket.platform.telemetry import logger, powertools_logger


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's form
    """Follow what the messages name, or do the schedule's task: dispatch, sweep, compare_bills.

    `{"task": "compare_bills", "day": "2027-01-29"}` compares the bills of one day, for a person who
    invokes it; with `"skip": true` the schedule continues after that day in any case.
    """
    if "Records" in event:
        return _follow(event["Records"])
    time_left_ms = context.get_remaining_time_in_millis()
    report: dict[str, Any]
    match event:
        case {"task": "dispatch"}:
            report = {
                channel: asdict(done)
                for channel, done in containers.gateway_work.dispatch(time_left_ms).items()
            }
        case {"task": "sweep"}:
            report = asdict(containers.gateway_work.sweep_payments(time_left_ms))
        case {"task": "compare_bills"}:
            may_skip = event.get("skip") is True
            found = containers.gateway_work.compare_statements(
                time_left_ms, event.get("day"), may_skip=may_skip
            )
            report = {channel: [asdict(bill) for bill in bills] for channel, bills in found.items()}
        case _:
            raise ValueError("an event names a task: dispatch, sweep or compare_bills")
    powertools_logger().info(event["task"], extra={"report": report})
    return report


def _follow(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Follow each notice; return SQS's partial batch response. The sweep covers lost ones."""
    failed: list[str] = []
    for record in records:
        try:
            containers.gateway_work.follow_notice(record["body"])
        except Exception as error:  # noqa: BLE001 - one notice must not block the others
            logger.failure("notice_not_followed", error, message_id=record["messageId"])
            failed.append(record["messageId"])
    return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}
