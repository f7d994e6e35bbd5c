"""The record page (红包详情), and what a user sent and received; all from the durable store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redpacket.domain.claim import Fate, ShareFate, luckiest
from redpacket.domain.errors import PacketNotFound
from redpacket.domain.packet import Kind, Packet, PacketStatus
from redpacket.ports import ListItem, Packets


@dataclass(frozen=True, slots=True)
class Record:
    """A packet with its claims, by share number; *luckiest* only once no claim can follow."""

    packet: Packet
    status: PacketStatus
    claims: Sequence[ShareFate]
    claimed_fen: int
    emptied_in_ms: int | None
    luckiest: ShareFate | None


def read_record(packet_id: str, *, packets: Packets) -> Record:
    """Return a packet's record. Raises PacketNotFound."""
    packet = packets.find_packet(packet_id)
    if packet is None:
        msg = "no such packet"
        raise PacketNotFound(msg)
    claims = [share for share in packets.list_shares(packet_id) if share.fate is Fate.CLAIMED]
    is_emptied = len(claims) == packet.terms.count
    status = status_of(packet, is_emptied=is_emptied)
    emptied_in_ms = None
    if is_emptied:
        # Two clocks may differ by a little; time doesn't run backwards for users.
        emptied_at_ms = max(share.decided_at_ms for share in claims)
        emptied_in_ms = max(0, emptied_at_ms - packet.created_at_ms)
    has_ended = is_emptied or status is PacketStatus.CLOSED
    return Record(
        packet=packet,
        status=status,
        claims=claims,
        claimed_fen=sum(share.amount_fen for share in claims),
        emptied_in_ms=emptied_in_ms,
        luckiest=luckiest(claims) if has_ended and packet.kind is Kind.LUCKY else None,
    )


def status_of(packet: Packet, *, is_emptied: bool) -> PacketStatus:
    """Return the status that users see: an open packet whose shares are gone is "emptied"."""
    if packet.status is PacketStatus.OPEN and is_emptied:
        return PacketStatus.EMPTIED
    return packet.status


@dataclass(frozen=True, slots=True)
class PacketList:
    """A page of what a user sent or received, with the totals of all pages."""

    items: Sequence[tuple[ListItem, PacketStatus]]
    total_fen: int
    count: int
    luckiest_count: int
    next: str | None


PAGE_SIZE = 50


def page_of(found: Sequence[ListItem], cursor: str | None, *, packets: Packets) -> PacketList:
    """Cut the page after *cursor*, which names the last item shown, and look up its statuses.

    An unknown cursor shows the first page.
    """
    cursors = [item.cursor for item in found]
    start = cursors.index(cursor) + 1 if cursor in cursors else 0
    page = found[start : start + PAGE_SIZE]
    rows = {row.packet_id: row for row in packets.list_packets([item.packet_id for item in page])}
    has_more = start + PAGE_SIZE < len(found)
    return PacketList(
        items=[
            (item, status_of(row, is_emptied=row.emptied_at_ms is not None))
            for item in page
            if (row := rows.get(item.packet_id))
        ],
        total_fen=sum(item.amount_fen for item in found),
        count=len(found),
        luckiest_count=sum(item.is_luckiest for item in found),
        next=page[-1].cursor if has_more else None,
    )
