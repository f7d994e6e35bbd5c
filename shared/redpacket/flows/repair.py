"""Take up what was cut off: claims that were not settled, packets that were not loaded."""

from __future__ import annotations

from collections.abc import Callable

from redpacket.domain.claim import ShareRef
from redpacket.domain.errors import CacheAway
from redpacket.flows.attempt_each import Attempts, attempt_each
from redpacket.flows.load_packet import load_packet
from redpacket.ports import ClaimBoard, Clock, Journal, Packets, PayoutQueue

REPAIR_AFTER_MS = 60_000
"""A claim settles and a load ends within seconds; what takes a minute was cut off."""

REQUEUE_PAUSE_MS_MAX = 3_600_000
"""While payouts fail for long, each claim is queued again at most once an hour."""

ROWS_PER_SWEEP = 800
"""Of each work list; the oldest come first, the rest wait a minute."""


def requeue_claims(
    *,
    packets: Packets,
    payouts: PayoutQueue,
    clock: Clock,
    journal: Journal,
    stop_at_ms: int,
    may_go_on: Callable[[], bool] = lambda: True,
) -> Attempts[ShareRef]:
    """Queue claims again that wait after a minute: after 1, 2, 4 ... minutes.

    They wait for their settlement, or are the last ones of packets that are not closed yet.

    None while payouts are off (*may_go_on*): their messages wait, and are not lost.
    """

    def requeue(ref: ShareRef) -> ShareRef:
        for share in packets.list_refs([ref]):
            if share.settled_at_ms is None or share.is_last:
                payouts.put([ref])
                pause_ms = min(REPAIR_AFTER_MS << share.requeued_count, REQUEUE_PAUSE_MS_MAX)
                packets.mark_requeued(share, clock.now_ms() + pause_ms - REPAIR_AFTER_MS)
        return ref

    waiting = packets.list_unsettled(clock.now_ms() - REPAIR_AFTER_MS, ROWS_PER_SWEEP)
    return attempt_each(
        waiting,
        requeue,
        name="requeue_failed",
        clock=clock,
        journal=journal,
        stop_at_ms=stop_at_ms,
        may_go_on=may_go_on,
    )


def load_packets(
    *, packets: Packets, board: ClaimBoard, clock: Clock, journal: Journal, stop_at_ms: int
) -> Attempts[str]:
    """Load packets whose load is not known to have worked a minute after they were sent.

    One that expired meanwhile is only made due: its refund waits for no cache. A cache that is away
    is not waited for with every packet.
    """
    is_away = False

    def load(packet_id: str) -> str:
        nonlocal is_away
        packet = packets.find_packet(packet_id)
        if packet is None:
            msg = f"packet {packet_id} is to be loaded and does not exist"
            raise LookupError(msg)
        if clock.now_ms() < packet.expires_at_ms:
            if is_away:
                msg = "the cache did not answer before in this sweep"
                raise CacheAway(msg)
            try:
                load_packet(packet_id, packets=packets, board=board)
            except CacheAway:
                is_away = True
                raise
        packets.mark_loaded(packet)
        return packet_id

    waiting = packets.list_unloaded(clock.now_ms() - REPAIR_AFTER_MS, ROWS_PER_SWEEP)
    return attempt_each(
        waiting,
        load,
        name="load_failed",
        clock=clock,
        journal=journal,
        stop_at_ms=stop_at_ms,
    )
