"""Final sums of a packet, computed once every share is decided and every claim is paid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from redpacket.packets.model.claim import Share, ShareStatus, claimer_of, luck_of
from redpacket.packets.model.packet import Packet, PacketEnd, shard_count


class RecoveryPoint(Enum):
    """Steps of closing a packet: refund all shards, update the cache for all shards, close."""

    SHARD_TO_REFUND = 0
    SHARD_TO_TELL = 1
    PACKET_TO_CLOSE = 2


def recovery_point(packet: Packet) -> tuple[RecoveryPoint, int]:
    """Return the next step of closing a packet, and the shard that this step handles."""
    passed, shard = divmod(packet.closing_step, shard_count(packet.packet_id))
    return RecoveryPoint(min(passed, RecoveryPoint.PACKET_TO_CLOSE.value)), shard


def find_end(shares: Sequence[Share], share_count: int) -> PacketEnd | None:
    """Return a shard's final sums, or None while one of its *share_count* shares can change."""
    claimed = [share for share in shares if share.status is ShareStatus.CLAIMED]
    refunded = [share for share in shares if share.status is ShareStatus.REFUNDED]
    is_whole = len(shares) == share_count
    if not is_whole or any(share.settled_at_ms is None for share in claimed):
        return None
    # Include even a shard's only claim: `add_up` compares it with the claims of other shards.
    best = min(claimed, key=luck_of, default=None)
    return PacketEnd(
        claimed_count=len(claimed),
        claimed_fen=sum(share.amount_fen for share in claimed),
        refunded_count=len(refunded),
        refunded_fen=sum(share.amount_fen for share in refunded),
        refunded_at_ms=max((share.decided_at_ms for share in refunded), default=None),
        last_claimed_at_ms=max((share.decided_at_ms for share in claimed), default=0),
        luckiest=claimer_of(best) if best else None,
    )


def add_up(ends: Iterable[PacketEnd]) -> PacketEnd:
    """Return a packet's final sums, given the final sums of all shards."""
    shards = list(ends)
    claimed_count = sum(shard.claimed_count for shard in shards)
    # Like `luckiest`: the largest amount, then the earliest time, then the lowest number.
    best = min(
        (shard.luckiest for shard in shards if shard.luckiest),
        key=lambda claim: (-claim.amount_fen, claim.claimed_at_ms, claim.share_no),
        default=None,
    )
    refund_times = [shard.refunded_at_ms for shard in shards if shard.refunded_at_ms is not None]
    return PacketEnd(
        claimed_count=claimed_count,
        claimed_fen=sum(shard.claimed_fen for shard in shards),
        refunded_count=sum(shard.refunded_count for shard in shards),
        refunded_fen=sum(shard.refunded_fen for shard in shards),
        refunded_at_ms=max(refund_times, default=None),
        last_claimed_at_ms=max(shard.last_claimed_at_ms for shard in shards),
        luckiest=best if claimed_count > 1 else None,
    )
