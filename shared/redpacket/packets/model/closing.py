"""Final sums of a packet, computed once every share is decided and every claim is paid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from redpacket.packets.model.claim import Share, ShareStatus, luckiest
from redpacket.packets.model.packet import Packet, PacketEnd, part_count


class RecoveryPoint(Enum):
    """Steps of a closing: refund all parts, then update the cache for all parts, then close."""

    PART_TO_REFUND = 0
    PART_TO_TELL = 1
    PACKET_TO_CLOSE = 2


def recovery_point(packet: Packet) -> tuple[RecoveryPoint, int]:
    """Return the next step of a packet's closing, and its part."""
    passed, part = divmod(packet.closing_step, part_count(packet.packet_id))
    return RecoveryPoint(min(passed, RecoveryPoint.PACKET_TO_CLOSE.value)), part


def find_end(shares: Sequence[Share], share_count: int) -> PacketEnd | None:
    """Return the final sums of the part with these shares; None while a share can still change."""
    claimed = [share for share in shares if share.fate is ShareStatus.CLAIMED]
    refunded = [share for share in shares if share.fate is ShareStatus.REFUNDED]
    is_whole = len(shares) == share_count
    if not is_whole or any(share.settled_at_ms is None for share in claimed):
        return None
    best = luckiest(claimed)
    return PacketEnd(
        claimed_count=len(claimed),
        claimed_fen=sum(share.amount_fen for share in claimed),
        refunded_count=len(refunded),
        refunded_fen=sum(share.amount_fen for share in refunded),
        refunded_at_ms=max((share.decided_at_ms for share in refunded), default=None),
        last_claimed_at_ms=max((share.decided_at_ms for share in claimed), default=0),
        luckiest_no=best.share_no if best else 0,
        luckiest_fen=best.amount_fen if best else 0,
        luckiest_at_ms=best.decided_at_ms if best else 0,
        luckiest=best.claimer if best else None,
    )


def add_up(ends: Iterable[PacketEnd]) -> PacketEnd:
    """Return a packet's final sums from those of all its parts."""
    parts = list(ends)
    # As in `luckiest`: the largest amount, then the earliest time, then the lowest number.
    best = min(
        (part for part in parts if part.luckiest_no),
        key=lambda part: (-part.luckiest_fen, part.luckiest_at_ms, part.luckiest_no),
        default=PacketEnd(),
    )
    refund_times = [part.refunded_at_ms for part in parts if part.refunded_at_ms is not None]
    return PacketEnd(
        claimed_count=sum(part.claimed_count for part in parts),
        claimed_fen=sum(part.claimed_fen for part in parts),
        refunded_count=sum(part.refunded_count for part in parts),
        refunded_fen=sum(part.refunded_fen for part in parts),
        refunded_at_ms=max(refund_times, default=None),
        last_claimed_at_ms=max(part.last_claimed_at_ms for part in parts),
        luckiest_no=best.luckiest_no,
        luckiest_fen=best.luckiest_fen,
        luckiest_at_ms=best.luckiest_at_ms,
        luckiest=best.luckiest,
    )
