"""Handler for the delivery queue and for the schedule that retries deliveries."""

from dataclasses import asdict
from typing import Any

from redpacket.containers import containers
from redpacket.events.api.deliveries import deliver_batch
from redpacket.platform.telemetry import powertools_logger


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's form
    """Make the deliveries that messages ask for; without messages, those that are due again."""
    if "Records" in event:
        return deliver_batch(
            event["Records"],
            read=containers.events.read_delivery,
            deliver=containers.events.deliver,
            logger=containers.platform.logger,
        )
    report = asdict(containers.events.retry_deliveries(context.get_remaining_time_in_millis()))
    powertools_logger().info("retry", extra={"report": report})
    return report
