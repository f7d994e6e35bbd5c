"""The door of the schedule: every minute, close and refund what is due, repair what was cut off."""

from typing import Any

from redpacket.edge import wiring
from redpacket.edge.telemetry import logger


def handler(event: dict[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401, ARG001 - Lambda's form
    """Sweep once; the answer says what was done, for whoever invokes it by hand."""
    report = wiring.sweep(context.get_remaining_time_in_millis())
    logger().info("sweep", extra=report)
    return report
