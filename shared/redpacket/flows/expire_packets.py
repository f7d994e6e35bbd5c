"""Expire: close due packets and give what was left back to their senders.

The order makes it safe at any moment: the ledger says "closing", the cache stops handing out
shares, claims in flight get a grace, then what is left is refunded (flows/refund_packet.py). It may
run twice, late, or be cut off anywhere.

Packets are closed side by side, but those of one sender are refunded one after the other: their
refunds meet on the sender's balance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from redpacket.domain.errors import Unavailable
from redpacket.domain.packet import Packet, PacketStatus
from redpacket.flows.attempt_each import attempt_lanes
from redpacket.flows.impatient_cache import ImpatientCache
from redpacket.flows.refund_packet import Closing, ClosingDesk, batches, refund_together
from redpacket.ports import ClaimBoard, Clock, InParallel, Journal, Ledger, Packets, Pages

PACKETS_PER_SWEEP = 1_600
"""What a sweep may begin; the oldest come first, the rest wait a minute (docs/capacity.md)."""

PACKETS_PER_READ = 100


@dataclass(frozen=True, slots=True)
class ExpireReport:
    """What one run did; packets that failed, or wait for a settlement, are due again."""

    closed_count: int
    refunded_fen: int
    failed_count: int


def expire_packets(
    *,
    packets: Packets,
    pages: Pages,
    board: ClaimBoard,
    ledger: Ledger,
    clock: Clock,
    journal: Journal,
    grace_ms: int,
    stop_at_ms: int,
    in_parallel: InParallel,
    may_go_on: Callable[[], bool] = lambda: True,
) -> ExpireReport:
    """Close and refund what is due, the grace once for all of them; stop at *stop_at_ms*.

    Stops as well where *may_go_on* says no: refunds were switched off, and what is due waits.
    """
    turn = Lock()

    def is_allowed() -> bool:
        # Who asks it first may have to read it, and the others wait for the answer.
        with turn:
            return may_go_on()

    desk = ClosingDesk(
        packets=packets,
        pages=pages,
        cache=ImpatientCache(board, turn),
        ledger=ledger,
        clock=clock,
        journal=journal,
        is_over=lambda: clock.now_ms() >= stop_at_ms or not is_allowed(),
    )
    due = packets.list_due(clock.now_ms(), PACKETS_PER_SWEEP)
    rows = _read(due, packets, in_parallel)
    closing = attempt_lanes(
        [[packet_id] for packet_id in due],
        lambda packet_id: _begin_close(packet_id, rows.get(packet_id), desk),
        name="close_failed",
        clock=clock,
        journal=journal,
        stop_at_ms=stop_at_ms,
        may_go_on=is_allowed,
        in_parallel=in_parallel,
    )
    if closing.results:
        clock.sleep_ms(grace_ms)
    refunds = attempt_lanes(
        [_refunding(lane, desk) for lane in _by_sender(closing.results)],
        _finish,
        name="refund_failed",
        clock=clock,
        journal=journal,
        stop_at_ms=stop_at_ms,
        may_go_on=is_allowed,
        in_parallel=in_parallel,
    )
    return ExpireReport(
        closed_count=sum(is_closed for _, is_closed in refunds.results),
        refunded_fen=sum(refunded_fen for refunded_fen, _ in refunds.results),
        failed_count=closing.failed_count + refunds.failed_count,
    )


def _read(due: Sequence[str], packets: Packets, in_parallel: InParallel) -> Mapping[str, Packet]:
    """Return packets by id; those of a read that fails are missing, and are read one by one."""

    def read(chunk: Sequence[str]) -> list[Packet]:
        try:
            return packets.list_packets(chunk)
        except Exception:  # noqa: BLE001 - one bad row must not keep others from refunds
            return []

    starts = range(0, len(due), PACKETS_PER_READ)
    chunks = [due[start : start + PACKETS_PER_READ] for start in starts]
    return {row.packet_id: row for rows in in_parallel(read, chunks) for row in rows}


def _begin_close(packet_id: str, row: Packet | None, desk: ClosingDesk) -> Packet:
    packet = row or desk.packets.find_packet(packet_id)
    if packet is None:
        msg = f"packet {packet_id} is due and does not exist"
        raise LookupError(msg)
    closing = desk.packets.begin_close(packet, desk.clock.now_ms())
    if packet.rules.prize_id or closing.status is not PacketStatus.CLOSING:
        # The cache doesn't have a prize's packet. Others were closed, or got a later end meanwhile.
        return closing
    try:
        desk.cache.close(packet_id)
    except Unavailable as error:
        # It refuses by its own clock; and what it hands out nevertheless meets a fate.
        desk.journal.failure("cache_not_closed", error, packet_id=packet_id)
    return closing


def _by_sender(packets: Sequence[Packet]) -> list[list[Packet]]:
    lanes: dict[str, list[Packet]] = defaultdict(list)
    for packet in packets:
        lanes[packet.sender.user_id].append(packet)
    return list(lanes.values())


def _refunding(packets: Sequence[Packet], desk: ClosingDesk) -> Iterator[Closing]:
    """Yield one sender's packets to be ended; small ones are refunded together before."""
    for packet in packets:
        if packet.status is not PacketStatus.CLOSING:
            yield Closing(packet, desk)
    for batch in batches(packet for packet in packets if packet.status is PacketStatus.CLOSING):
        closings = [Closing(packet, desk) for packet in batch]
        refund_together(closings, desk)
        yield from closings


def _finish(closing: Closing) -> tuple[int, bool]:
    """Return what was refunded, and whether the packet is closed."""
    if closing.packet.status is not PacketStatus.CLOSING:
        return 0, closing.packet.status is PacketStatus.CLOSED
    is_closed = closing.go_on()
    return closing.refunded_fen, is_closed
