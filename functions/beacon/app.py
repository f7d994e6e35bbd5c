"""Handler for the schedule that fetches the rounds of the public beacon."""

from dataclasses import asdict
from typing import Any

from redpacket.containers import containers
from redpacket.platform.telemetry import powertools_logger


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's form
    """Fetch, verify and keep the rounds that become due within this minute.

    `{"wait_s": 0}` fetches what is due by now and ends, for a person who invokes it.
    """
    report = asdict(
        containers.fairness.fetch_rounds(
            context.get_remaining_time_in_millis(), event.get("wait_s")
        )
    )
    if any(report.values()):
        powertools_logger().info("fetch_rounds", extra={"report": report})
    return report
