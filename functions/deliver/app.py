"""The door of the queue of deliveries, and of the schedule that makes them again."""

from dataclasses import asdict
from typing import Any

from redpacket.edge.deliveries import deliver_batch
from redpacket.edge.telemetry import logger
from redpacket.edge.wiring import wiring


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's form
    """Make the deliveries that messages ask for; without messages, those that are due again."""
    if "Records" in event:
        return deliver_batch(
            event["Records"],
            read=wiring.read_delivery,
            deliver=wiring.deliver,
            journal=wiring.journal,
        )
    report = asdict(wiring.retry_deliveries(context.get_remaining_time_in_millis()))
    logger().info("retry", extra={"report": report})
    return report
