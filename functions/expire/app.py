"""Handler that runs every minute: closes and refunds due packets, and repairs interrupted work."""

from dataclasses import asdict
from typing import Any

from redpacket.containers import containers
from redpacket.packets.use_cases.sweep import sweep
from redpacket.platform.telemetry import powertools_logger


def handler(event: dict[str, Any], context: Any) -> dict[str, int]:  # noqa: ANN401 - Lambda's form
    """Sweep once, and return the counts for an operator who invokes the function.

    The schedule starts several sweeps, each for one group of packets. Without a group, one sweep
    handles all packets.
    """
    group, groups = event.get("group", 0), event.get("groups", 1)
    report = asdict(
        sweep(
            context.get_remaining_time_in_millis(),
            ports=containers.packets.sweep_ports(group, groups),
            is_on=containers.operations.switches.is_on,
        )
    )
    powertools_logger().info("sweep", extra=report)
    return report
