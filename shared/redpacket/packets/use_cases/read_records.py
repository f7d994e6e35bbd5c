"""Record page (红包详情), and the packets that a user sent or received."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redpacket.packets.errors import PacketNotFound
from redpacket.packets.ledger_ports import Ledger
from redpacket.packets.model.claim import Claimer, Share, ShareStatus, luckiest
from redpacket.packets.model.packet import SMALL_MAX, Packet, PacketEnd, PacketStatus
from redpacket.packets.ports import PacketRepository, Pages
from redpacket.platform.user import User


@dataclass(frozen=True, slots=True)
class Record:
    """Packet with a page of its claims and the viewer's own claim.

    *luckiest* is set once no claim can follow. Totals of an open large packet count settled claims.
    Check *shows_amount* and *hides_amounts* before showing amounts.
    """

    packet: Packet
    status: PacketStatus
    claims: Sequence[Share]
    next_no: int | None
    claimed_count: int
    claimed_fen: int
    emptied_in_ms: int | None
    luckiest: Share | None
    mine: Share | None

    @property
    def hides_amounts(self) -> bool:
        """Whether totals and the luckiest claim are still hidden from everyone."""
        return self.packet.hides_amounts(self.status)

    def shows_amount(self, share: Share) -> bool:
        """Return whether the viewer may see the amount of a claim; their own is always visible."""
        return not self.hides_amounts or (
            self.mine is not None and share.share_no == self.mine.share_no
        )


def read_record(
    packet_id: str,
    viewer: User | None,
    *,
    after_no: int,
    limit: int,
    packets: PacketRepository,
    pages: Pages,
) -> Record:
    """Return a record; *after_no* is a `next_no`, or 0.

    Raises PacketNotFound, also if the viewer may not read the packet.
    """
    packet = pages.find_seen(packet_id)
    if packet is None or not packet.may_be_read_by(viewer):
        raise PacketNotFound("The packet does not exist.")
    if packet.end:
        return _read_closed(packet, packet.end, viewer, after_no, limit, packets, pages)
    if packet.is_small:
        return _read_small(packet, viewer, after_no, limit, packets)
    return _read_large(packet, viewer, after_no, limit, packets, pages)


def _read_closed(
    packet: Packet,
    end: PacketEnd,
    viewer: User | None,
    after_no: int,
    limit: int,
    packets: PacketRepository,
    pages: Pages,
) -> Record:
    claims, next_no = pages.list_final(packet.packet_id, after_no, limit)
    if len(claims) == end.claimed_count:
        next_no = None
    mine = _own_of(claims, viewer)
    if viewer and mine is None and len(claims) < end.claimed_count:
        taker = packets.find_taker(packet.packet_id, viewer.user_id)
        mine = _claim_of(taker, viewer, end.last_claimed_at_ms) if taker else None
    best = None
    if end.luckiest and packet.has_luckiest:
        best = Share(
            packet.packet_id,
            end.luckiest_no,
            ShareStatus.CLAIMED,
            end.luckiest_fen,
            end.luckiest_at_ms,
            end.luckiest,
            settled_at_ms=end.luckiest_at_ms,
        )
    emptied_at_ms = end.last_claimed_at_ms if packet.is_emptied else None
    return Record(
        packet=packet,
        status=status_of(packet),
        claims=claims,
        next_no=next_no,
        claimed_count=end.claimed_count,
        claimed_fen=end.claimed_fen,
        emptied_in_ms=_emptied_in_ms(packet, emptied_at_ms),
        luckiest=best,
        mine=mine,
    )


def _read_small(
    packet: Packet, viewer: User | None, after_no: int, limit: int, packets: PacketRepository
) -> Record:
    shares, _ = packets.list_some_shares(packet.packet_id, 0, SMALL_MAX)
    claims = [share for share in shares if share.fate is ShareStatus.CLAIMED]
    mine = _own_of(claims, viewer)
    if viewer and mine is None and (own := packets.find_share_of(packet.packet_id, viewer.user_id)):
        mine = own
        claims = sorted([*claims, own], key=lambda share: share.share_no)
    later = [share for share in claims if share.share_no > after_no]
    page = later[:limit]
    is_emptied = len(claims) == packet.terms.count
    emptied_at_ms = max(share.decided_at_ms for share in claims) if is_emptied else None
    return Record(
        packet=packet,
        status=status_of(packet, has_all_claims=is_emptied),
        claims=page,
        next_no=page[-1].share_no if len(later) > limit else None,
        claimed_count=len(claims),
        claimed_fen=sum(share.amount_fen for share in claims),
        emptied_in_ms=_emptied_in_ms(packet, emptied_at_ms),
        luckiest=luckiest(claims) if is_emptied and packet.has_luckiest else None,
        mine=mine,
    )


def _read_large(
    packet: Packet,
    viewer: User | None,
    after_no: int,
    limit: int,
    packets: PacketRepository,
    pages: Pages,
) -> Record:
    packet_id = packet.packet_id
    settled = pages.find_settled(packet_id)
    shares, next_no = packets.list_some_shares(packet_id, after_no, limit)
    claims = [share for share in shares if share.fate is ShareStatus.CLAIMED]
    mine = _own_of(claims, viewer)
    if viewer and mine is None:
        mine = packets.find_share_of(packet_id, viewer.user_id)
    return Record(
        packet=packet,
        status=status_of(packet),
        claims=claims,
        next_no=next_no,
        # A retried update may count twice. Only the final sums are exact.
        claimed_count=min(settled.count, packet.terms.count),
        claimed_fen=min(settled.fen, packet.terms.total_fen),
        emptied_in_ms=None,
        luckiest=None,
        mine=mine,
    )


def _own_of(claims: Sequence[Share], viewer: User | None) -> Share | None:
    own = (s for s in claims if viewer and s.taker and s.taker.user_id == viewer.user_id)
    return next(own, None)


def _claim_of(taker: Claimer, viewer: User, settled_at_ms: int) -> Share:
    return Share(
        taker.packet_id,
        taker.share_no,
        ShareStatus.CLAIMED,
        taker.amount_fen,
        taker.claimed_at_ms,
        viewer,
        settled_at_ms=settled_at_ms,
    )


def _emptied_in_ms(packet: Packet, emptied_at_ms: int | None) -> int | None:
    """Return the time from the first moment when a grab could succeed to the last claim."""
    if emptied_at_ms is None:
        return None
    grabbable_at_ms = max(packet.starts_at_ms, packet.funded_at_ms or 0)
    return max(0, emptied_at_ms - grabbable_at_ms)  # clocks of two functions may differ


def status_of(packet: Packet, *, has_all_claims: bool = False) -> PacketStatus:
    """Return the status for users: a packet whose shares are all taken stays "emptied"."""
    return PacketStatus.EMPTIED if has_all_claims or packet.is_emptied else packet.status


@dataclass(frozen=True, slots=True)
class PacketList:
    """Page of (packet id, fen, time in ms, status) items, with the totals of all pages."""

    items: Sequence[tuple[str, int, int, PacketStatus]]
    total_fen: int
    count: int
    luckiest_count: int
    next: str | None


PAGE_SIZE = 20
"""Items per page. Each one costs a read of its packet row."""


def list_sent(
    user_id: str,
    year: int | None,
    cursor: str | None,
    *,
    packets: PacketRepository,
    pages: Pages,
    ledger: Ledger,
) -> PacketList:
    """Return a page of the packets that a user sent, newest first. Raises InvalidRequest."""
    found, next_cursor = packets.list_sent(user_id, year, cursor, PAGE_SIZE)
    sums = ledger.year_sums(user_id, year)
    lines = [(item.packet_id, item.total_fen, item.at_ms) for item in found]
    rows = _with_status(lines, pages)
    return PacketList(rows, sums.sent_fen, sums.sent_count, 0, next_cursor)


def list_received(
    user_id: str, year: int | None, cursor: str | None, *, pages: Pages, ledger: Ledger
) -> PacketList:
    """Return a page of the shares that a user received, newest first. Raises InvalidRequest."""
    found, next_cursor = ledger.list_received(user_id, year, cursor, PAGE_SIZE)
    sums = ledger.year_sums(user_id, year)
    lines = [(item.packet_id, item.amount_fen, item.at_ms) for item in found]
    rows = _with_status(lines, pages)
    return PacketList(
        rows, sums.received_fen, sums.received_count, sums.luckiest_count, next_cursor
    )


def _with_status(
    lines: Sequence[tuple[str, int, int]], pages: Pages
) -> list[tuple[str, int, int, PacketStatus]]:
    rows = {row.packet_id: row for row in pages.list_seen([line[0] for line in lines])}
    return [
        (packet_id, amount_fen, at_ms, status_of(row))
        for packet_id, amount_fen, at_ms in lines
        if (row := rows.get(packet_id))
    ]
