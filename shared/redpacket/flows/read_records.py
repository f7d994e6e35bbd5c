"""The record page (红包详情), and what a user sent and received; all from the durable store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redpacket.domain.claim import Fate, ShareFate, ShareRef, luckiest
from redpacket.domain.errors import PacketNotFound
from redpacket.domain.packet import Kind, Packet, PacketStatus, is_cut
from redpacket.ports import Ledger, ListItem, Packets

_REFS_PER_READ = 100
_REFS_PER_PAGE = 1_000
"""Share numbers that a page of a packet in parts looks at; those without a claim show nothing."""


@dataclass(frozen=True, slots=True)
class Record:
    """A packet with a page of its claims, by share number, and the viewer's own.

    *luckiest* only once no claim can follow. The totals of a packet in parts are of its settled
    claims: nobody counts a million rows for a page. Its luckiest is known once it is closed.
    """

    packet: Packet
    status: PacketStatus
    claims: Sequence[ShareFate]
    next_no: int | None
    claimed_count: int
    claimed_fen: int
    emptied_in_ms: int | None
    luckiest: ShareFate | None
    mine: ShareFate | None


def read_record(
    packet_id: str, viewer_id: str, *, after_no: int, limit: int, packets: Packets, ledger: Ledger
) -> Record:
    """Return a packet's record, with at most *limit* claims. Raises PacketNotFound."""
    packet = packets.find_packet(packet_id)
    if packet is None:
        msg = "no such packet"
        raise PacketNotFound(msg)
    if is_cut(packet_id):
        return _read_large(packet, viewer_id, after_no, limit, packets, ledger)
    claims = [share for share in packets.list_shares(packet_id) if share.fate is Fate.CLAIMED]
    later = [share for share in claims if share.share_no > after_no]
    page = later[:limit]
    mine = [share for share in claims if share.taker and share.taker.user_id == viewer_id]
    is_emptied = len(claims) == packet.terms.count
    status = status_of(packet, is_emptied=is_emptied)
    has_ended = is_emptied or status is PacketStatus.CLOSED
    emptied_at_ms = max(share.decided_at_ms for share in claims) if is_emptied else None
    return Record(
        packet=packet,
        status=status,
        claims=page,
        next_no=page[-1].share_no if len(later) > limit else None,
        claimed_count=len(claims),
        claimed_fen=sum(share.amount_fen for share in claims),
        emptied_in_ms=_emptied_in_ms(packet, emptied_at_ms),
        luckiest=luckiest(claims) if has_ended and packet.kind is Kind.LUCKY else None,
        mine=mine[0] if mine else None,
    )


def _read_large(
    packet: Packet, viewer_id: str, after_no: int, limit: int, packets: Packets, ledger: Ledger
) -> Record:
    """Read what a page shows by its numbers, and the totals where they are kept."""
    packet_id, count = packet.packet_id, packet.terms.count
    paid = ledger.find_paid(packet_id)
    page: list[ShareFate] = []
    last_no = after_no
    while len(page) < limit and last_no < min(count, after_no + _REFS_PER_PAGE):
        numbers = range(last_no + 1, min(last_no + _REFS_PER_READ, count) + 1)
        found = packets.list_refs([ShareRef(packet_id, number) for number in numbers])
        page += [share for share in found if share.fate is Fate.CLAIMED]
        last_no = numbers[-1]
    page.sort(key=lambda share: share.share_no)
    if len(page) > limit:
        page = page[:limit]
        last_no = page[-1].share_no
    is_closed = packet.status is PacketStatus.CLOSED
    known = [ShareRef(packet_id, packet.luckiest_no)] if is_closed and packet.luckiest_no else []
    return Record(
        packet=packet,
        status=status_of(packet, is_emptied=packet.emptied_at_ms is not None),
        claims=page,
        next_no=last_no if last_no < count else None,
        claimed_count=paid.count,
        claimed_fen=paid.fen,
        emptied_in_ms=_emptied_in_ms(packet, packet.emptied_at_ms),
        luckiest=luckiest(packets.list_refs(known)) if packet.kind is Kind.LUCKY else None,
        mine=packets.find_share_of(packet_id, viewer_id),
    )


def _emptied_in_ms(packet: Packet, emptied_at_ms: int | None) -> int | None:
    # Two clocks may differ by a little; time doesn't run backwards for users.
    return None if emptied_at_ms is None else max(0, emptied_at_ms - packet.created_at_ms)


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
