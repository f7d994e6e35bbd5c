"""Sweep: the job that runs every minute. No step may use up the time of another step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from redpacket.operations.model.switches import Switch
from redpacket.packets.use_cases.expire_packets import SweepPorts, expire_packets
from redpacket.packets.use_cases.move_packets import move_packets
from redpacket.packets.use_cases.repair import load_packets, requeue_claims

RESERVE_MS = 8_000
"""Milliseconds reserved for the last chunk before the Lambda timeout."""

REPAIR_MS = 2_000
"""Milliseconds that refunds leave for requeues and loads, half for each of them."""

MOVE_MS = 10_000
"""Maximum milliseconds for moving packets before refunds start, enough for about 5,000 packets."""


@dataclass(frozen=True, slots=True)
class SweepReport:
    """Counts of one sweep. Later sweeps retry failures, except failed cache loads."""

    moved_count: int
    requeued_count: int
    loaded_count: int
    closed_count: int
    refunded_fen: int
    failed_count: int


def sweep(time_left_ms: int, *, ports: SweepPorts, is_on: Callable[[Switch], bool]) -> SweepReport:
    """Move and refund before requeuing and loading, which an unavailable queue or cache delays."""
    stop_at_ms = ports.clock.now_ms() + time_left_ms - RESERVE_MS
    moved = move_packets(min(stop_at_ms, ports.clock.now_ms() + MOVE_MS), ports=ports)
    expired = expire_packets(
        stop_at_ms - REPAIR_MS, ports=ports, should_continue=lambda: is_on(Switch.REFUND)
    )
    requeued = requeue_claims(
        stop_at_ms - REPAIR_MS // 2, ports=ports, should_continue=lambda: is_on(Switch.PAYOUT)
    )
    loaded = load_packets(stop_at_ms, ports=ports)
    return SweepReport(
        moved_count=sum(moved.results),
        requeued_count=len(requeued.results),
        loaded_count=len(loaded.results),
        closed_count=expired.closed_count,
        refunded_fen=expired.refunded_fen,
        failed_count=sum(step.failed_count for step in (moved, expired, requeued, loaded)),
    )
