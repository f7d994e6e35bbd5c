"""Handler for the public log's stream and schedule: appends commitments and signs heads."""

from dataclasses import asdict
from typing import Any

from redpacket.containers import containers
from redpacket.fairness.use_cases.extend_log import RESERVE_MS, extend_log
from redpacket.platform.telemetry import powertools_logger


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:  # noqa: ANN401 - Lambda's form
    """Append the commitments in a stream batch, and all waiting commitments, to the log.

    Calls from the schedule or an operator contain no batch.
    """
    named = [record["dynamodb"]["Keys"]["pk"]["S"] for record in event.get("Records", ())]
    ports, time_left_ms = containers.fairness.log_ports, context.get_remaining_time_in_millis()
    stop_at_ms = ports.clock.now_ms() + time_left_ms - RESERVE_MS
    report = asdict(extend_log(named, stop_at_ms, ports=ports))
    if report["appended_count"]:
        powertools_logger().info("extend_log", extra={"report": report})
    return report
