"""Handler for the minute schedule: close and refund expired packets, repair interrupted work."""

from dataclasses import asdict
from typing import Any

from redpacket.containers import containers
from redpacket.platform.telemetry import powertools_logger


def handler(event: dict[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401 - Lambda's form
    """Sweep once; the answer says what was done, for a person who invokes it.

    The schedule starts several at once, each for a group of packets; else there is one for all.
    """
    group, groups = event.get("group", 0), event.get("groups", 1)
    report = asdict(containers.packets.sweep(context.get_remaining_time_in_millis(), group, groups))
    powertools_logger().info("sweep", extra=report)
    return report
