"""Handler for the delivery queue and for the schedule that retries deliveries."""

from dataclasses import asdict
from functools import partial
from typing import Any

from redpacket.containers import containers
from redpacket.events.api.deliveries import deliver_batch
from redpacket.events.messages import read_delivery
from redpacket.events.use_cases.deliver import deliver, retry_deliveries
from redpacket.platform.telemetry import powertools_logger

_RESERVE_MS = 8_000
"""Milliseconds reserved to finish the last calls and store their results."""


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's form
    """Attempt the deliveries in a batch from the queue; on the schedule, retry all due ones."""
    ports = containers.events.delivery_ports
    if "Records" in event:
        return deliver_batch(
            event["Records"],
            read=read_delivery,
            deliver=partial(deliver, ports=ports),
            logger=containers.platform.logger,
        )
    time_left_ms = context.get_remaining_time_in_millis() - _RESERVE_MS
    report = asdict(retry_deliveries(ports=ports, stop_at_ms=ports.clock.now_ms() + time_left_ms))
    powertools_logger().info("retry", extra={"report": report})
    return report
