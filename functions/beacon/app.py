"""Handler for the schedule that fetches the rounds of the public beacon."""

from dataclasses import asdict
from typing import Any

from redpacket.containers import containers
from redpacket.fairness.use_cases.fetch_rounds import RESERVE_MS, fetch_rounds
from redpacket.platform.telemetry import powertools_logger


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's form
    """Fetch, verify and store the rounds that are due within this minute.

    An operator's `{"wait_s": 0}` fetches the rounds that are due now.
    """
    wait_s, fairness = event.get("wait_s"), containers.fairness
    time_left_ms = context.get_remaining_time_in_millis() - RESERVE_MS
    report = asdict(
        fetch_rounds(
            time_left_ms if wait_s is None else wait_s * 1000,
            chain=fairness.beacon_chain,
            beacon=fairness.beacon,
            rounds=fairness.rounds,
            clock=containers.platform.clock,
            logger=containers.platform.logger,
        )
    )
    if any(report.values()):
        powertools_logger().info("fetch_rounds", extra={"report": report})
    return report
