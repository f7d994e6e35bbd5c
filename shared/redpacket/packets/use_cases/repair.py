"""Repair of interrupted work: unsettled claims and packets missing from the cache."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from redpacket.packets.model.claim import ShareRef
from redpacket.packets.model.packet import Packet, shard_count
from redpacket.packets.ports import Unreadable
from redpacket.packets.use_cases.expire_packets import SweepPorts
from redpacket.packets.use_cases.own_pictures import keep_cover
from redpacket.packets.use_cases.refund_packet import CircuitBreaker
from redpacket.platform.attempt_each import Attempts, attempt_lanes
from redpacket.platform.errors import InvariantViolated, Unavailable

REPAIR_AFTER_MS = 60_000
"""Milliseconds after which an unsettled claim or an unconfirmed load counts as interrupted."""

REQUEUE_PAUSE_MS_MAX = 3_600_000
"""Maximum milliseconds until a claim is requeued again."""

ROWS_PER_SWEEP = 800


def requeue_claims(
    stop_at_ms: int, *, ports: SweepPorts, should_continue: Callable[[], bool] = lambda: True
) -> Attempts[ShareRef]:
    """Requeue claims that wait for a settlement or closing, after 1, 2, 4 ... minutes.

    A compromised grab function could fill this work list, so an unreadable row waits for an hour.
    """
    work, clock, turn = ports.work, ports.clock, Lock()

    def is_allowed() -> bool:
        # The switches may come from the cache, whose client has one connection.
        with turn:
            return should_continue()

    def requeue(item: ShareRef | Unreadable) -> ShareRef:
        if isinstance(item, Unreadable):
            work.set_aside(item, clock.now_ms() + REQUEUE_PAUSE_MS_MAX)
            raise InvariantViolated(f"{item.pk} {item.sk} waits to be settled but is not a share")
        try:
            _requeue(item, ports)
        except Unavailable:
            raise
        except Exception:
            work.set_aside(item, clock.now_ms() + REQUEUE_PAUSE_MS_MAX)
            raise
        return item

    unsettled = work.list_unsettled(clock.now_ms() - REPAIR_AFTER_MS, ROWS_PER_SWEEP)
    return attempt_lanes(
        [[item] for item in unsettled],
        requeue,
        name="requeue_failed",
        clock=clock,
        logger=ports.logger,
        stop_at_ms=stop_at_ms,
        should_continue=is_allowed,
        in_parallel=ports.in_parallel,
    )


def _requeue(ref: ShareRef, ports: SweepPorts) -> None:
    for share in ports.packets.list_refs([ref]):
        if share.settled_at_ms is None or share.is_last:
            ports.payouts.put([ref])
            pause_ms = min(REPAIR_AFTER_MS << share.requeued_count, REQUEUE_PAUSE_MS_MAX)
            ports.packets.mark_requeued(share, ports.clock.now_ms() + pause_ms - REPAIR_AFTER_MS)
        else:
            ports.packets.mark_done(share)


def load_packets(stop_at_ms: int, *, ports: SweepPorts) -> Attempts[str]:
    """Load packets whose load is unconfirmed after a minute, and keep their covers.

    Each packet gets one attempt. A refund must not wait for the cache, and a grab also loads.
    """
    work, packets, clock = ports.work, ports.packets, ports.clock
    cache = CircuitBreaker(ports.claim_cache, Lock())

    def load(packet_id: str) -> str:
        packet = _find(packet_id, ports)
        try:
            keep_cover(packet, ports.pictures)
            if clock.now_ms() < packet.expires_at_ms:
                load_shards(packet)
        finally:
            packets.mark_loaded(packet)
        return packet_id

    def load_shards(packet: Packet) -> None:
        for shard in range(shard_count(packet.packet_id)):
            cache.load(packet, packets.list_shard_shares(packet.packet_id, shard), shard)
            if clock.now_ms() >= stop_at_ms:
                return

    unloaded = work.list_unloaded(clock.now_ms() - REPAIR_AFTER_MS, ROWS_PER_SWEEP)
    return attempt_lanes(
        [[packet_id] for packet_id in unloaded],
        load,
        name="load_failed",
        clock=clock,
        logger=ports.logger,
        stop_at_ms=stop_at_ms,
        in_parallel=ports.in_parallel,
    )


def _find(packet_id: str, ports: SweepPorts) -> Packet:
    try:
        packet = ports.packets.find_packet(packet_id)
        if packet is None:
            raise LookupError(f"packet {packet_id} is to be loaded but does not exist")  # noqa: TRY301
    except Unavailable:
        raise
    except Exception:
        ports.work.delay(packet_id, ports.clock.now_ms())
        raise
    return packet
