"""Expiry: closing due packets and refunding the remaining shares to their senders.

Runs may be late, repeated, or interrupted. A run stores the status "closing", stops the cache from
granting shares, waits for claims in flight, and then refunds the rest. Packets take turns
(docs/adr/0023).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.ports import ClaimCache, PayoutQueue, Pictures
from redpacket.packets.use_cases.close_packet import EndPorts
from redpacket.packets.use_cases.refund_packet import (
    CircuitBreaker,
    Closing,
    ClosingPorts,
    Progress,
    batches,
    refund_together,
)
from redpacket.platform.attempt_each import Attempts, attempt_lanes
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import EventLogger, InParallel

if TYPE_CHECKING:
    from redpacket.campaigns.ports import CampaignRepository
    from redpacket.packets.dynamodb.packets import DynamoPackets
    from redpacket.packets.dynamodb.windows import DynamoWindows
    from redpacket.packets.dynamodb.work_lists import DynamoWorkLists

PACKETS_PER_SWEEP = 1_600
"""Maximum number of due packets per sweep, oldest first (docs/capacity.md)."""

PACKETS_PER_READ = 100

TURN_MS = 3_000
"""Milliseconds for one packet's turn, enough for about 4,500 refunds."""

LATE_MS = 600_000
"""Milliseconds after a packet's end from which its turn precedes those of small packets."""

CLOSE_LATE_MS = 900_000
"""Milliseconds after a packet's end from which waiting for claims or the cache raises an alarm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPorts(EndPorts):
    """Dependencies of a sweep; *grace_ms* is the grace period for claims in flight."""

    work: DynamoWorkLists
    campaigns: CampaignRepository
    claim_cache: ClaimCache
    payouts: PayoutQueue
    pictures: Pictures
    logger: EventLogger
    grace_ms: int
    in_parallel: InParallel


@dataclass(frozen=True, slots=True)
class ExpireReport:
    """Result of one run; packets that failed or wait for settlements stay due."""

    closed_count: int
    refunded_fen: int
    failed_count: int


def expire_packets(
    stop_at_ms: int, *, ports: SweepPorts, should_continue: Callable[[], bool] = lambda: True
) -> ExpireReport:
    """Close and refund due packets until *stop_at_ms* or until *should_continue* returns False."""
    work, clock, turn = ports.work, ports.clock, Lock()

    def is_allowed() -> bool:
        # The first caller may have to fetch the switch; the others wait for its result.
        with turn:
            return should_continue()

    closing_ports = ClosingPorts(
        packets=ports.packets,
        pages=ports.pages,
        cache=CircuitBreaker(ports.claim_cache, turn),
        ledger=ports.ledger,
        clock=clock,
        logger=ports.logger,
        is_over=lambda: clock.now_ms() >= stop_at_ms or not is_allowed(),
    )
    due = work.list_due(clock.now_ms(), PACKETS_PER_SWEEP)
    rows = _read(due, ports.packets, ports.in_parallel)

    attempt: Callable[..., Attempts[Any]] = partial(
        attempt_lanes,
        clock=clock,
        logger=ports.logger,
        stop_at_ms=stop_at_ms,
        should_continue=is_allowed,
        in_parallel=ports.in_parallel,
    )
    closing = attempt(
        [[packet_id] for packet_id in due],
        lambda packet_id: _begin_close(packet_id, rows.get(packet_id), ports, closing_ports),
        name="close_failed",
    )
    if closing.results:
        clock.sleep_ms(ports.grace_ms)
    pending = [packet for packet in closing.results if packet.status is PacketStatus.CLOSING]
    closed_count = sum(packet.status is PacketStatus.CLOSED for packet in closing.results)
    failed_count, refunded_fen, late = closing.failed_count, 0, list[str]()
    while pending:
        # All turns of a round end before the next round begins.
        turns = attempt(
            [_turns(lane, closing_ports) for lane in _lanes(pending, clock.now_ms())],
            lambda turn: (turn, turn.run(TURN_MS)),
            name="refund_failed",
        )
        failed_count += turns.failed_count
        closed_count += sum(progress is Progress.DONE for _, progress in turns.results)
        refunded_fen += sum(turn.refunded_fen for turn, _ in turns.results)
        late += _late(turns.results, clock.now_ms())
        if closing_ports.is_over():
            break
        pending = [
            turn.packet for turn, progress in turns.results if progress is Progress.UNFINISHED
        ]
    if late:
        ports.logger.event("close_late", packet_id=late[0], late_count=len(late))
    return ExpireReport(closed_count, refunded_fen, failed_count)


def _late(turns: Sequence[tuple[Any, Progress]], now_ms: int) -> list[str]:
    """Return the ids of packets that wait for claims or the cache long after their end."""
    return [
        turn.packet.packet_id
        for turn, progress in turns
        if progress is Progress.WAITS and turn.packet.expires_at_ms <= now_ms - CLOSE_LATE_MS
    ]


def _read(
    due: Sequence[str], packets: DynamoPackets, in_parallel: InParallel
) -> Mapping[str, Packet]:

    def read(chunk: Sequence[str]) -> list[Packet]:
        try:
            return packets.list_packets(chunk)
        except Exception:  # noqa: BLE001 - one bad row must not block refunds
            return []

    starts = range(0, len(due), PACKETS_PER_READ)
    chunks = [due[start : start + PACKETS_PER_READ] for start in starts]
    return {row.packet_id: row for rows in in_parallel(read, chunks) for row in rows}


def _begin_close(
    packet_id: str, row: Packet | None, sweep: SweepPorts, ports: ClosingPorts
) -> Packet:
    try:
        packet = row or ports.packets.find_packet(packet_id)
        if packet is None:
            raise LookupError(f"packet {packet_id} is due but does not exist")  # noqa: TRY301
        if packet.follows_campaign:
            _follow_edit(packet, sweep.work.windows)
        closing = ports.packets.begin_close(packet, ports.clock.now_ms())
    except Exception:
        # Delay the packet, so that bad rows at the head of the list don't block all others.
        sweep.work.delay(packet_id, ports.clock.now_ms())
        raise
    if closing.rules.prize_id or closing.status is not PacketStatus.CLOSING:
        # Prize packets are not cached. Other packets were closed or extended in the meantime.
        return closing
    try:
        ports.cache.close(packet_id)
    except Unavailable as error:
        # Redis also checks expiry, and the ledger rejects claims of refunded shares.
        ports.logger.failure("cache_not_closed", error, packet_id=packet_id)
    return closing


def _follow_edit(packet: Packet, windows: DynamoWindows) -> None:
    """Extend a due packet if its campaign was extended and the sweep has not yet moved it."""
    window = windows.find(packet.rules.campaign_id or "")
    if window:
        _, ends_at_ms = packet.rules.window_in(window.starts_at_ms, window.ends_at_ms)
        if ends_at_ms > packet.expires_at_ms:
            windows.move(packet.packet_id, window)


def _lanes(packets: Sequence[Packet], now_ms: int) -> list[list[Packet]]:
    """Return one list of packets per sender. Late packets come first, then small packets."""
    lanes: dict[str, list[Packet]] = defaultdict(list)
    for packet in sorted(packets, key=lambda packet: _place([packet], now_ms)):
        lanes[packet.sender.user_id].append(packet)
    return sorted(lanes.values(), key=lambda lane: _place(lane, now_ms))


def _place(packets: Sequence[Packet], now_ms: int) -> tuple[bool, int]:
    is_late = any(now_ms - packet.expires_at_ms >= LATE_MS for packet in packets)
    return not is_late, sum(packet.terms.count for packet in packets)


def _turns(packets: Sequence[Packet], ports: ClosingPorts) -> Iterator[Closing]:
    """Yield a turn for each packet of one sender; refund small packets together beforehand."""
    for batch in batches(packets):
        closings = [Closing(packet, ports) for packet in batch]
        refund_together(closings, ports)
        yield from closings
