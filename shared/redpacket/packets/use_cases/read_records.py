"""Record page (红包详情), and the packets that a user sent or received."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from redpacket.ledger.ports import ReceivedItem
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.model.claim import Claimer, Share, ShareRef, ShareStatus, luckiest
from redpacket.packets.model.packet import SMALL_MAX, Packet, PacketEnd, PacketStatus
from redpacket.packets.model.thanks import Thanks
from redpacket.packets.ports import SentItem, Settled
from redpacket.platform.runtime import InParallel
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.packets.dynamodb.ledger import DynamoLedger
    from redpacket.packets.dynamodb.packets import DynamoPackets
    from redpacket.packets.dynamodb.pages import DynamoPages


@dataclass(frozen=True, slots=True)
class Record:
    """Packet with a page of its claims and the viewer's own claim.

    *is_sender* means that the viewer sent the packet. *luckiest* is set once no claim can follow.
    While a large packet is open, the totals count only settled claims. Check *shows_amount* and
    *hides_amounts* before showing amounts.
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
    is_sender: bool = False
    thanks: Mapping[ShareRef, Thanks] = field(default_factory=dict)

    @property
    def hides_amounts(self) -> bool:
        """Whether the claimed total and the luckiest claim are still hidden from everyone."""
        return self.packet.hides_amounts(self.status)

    def shows_amount(self, share: Share) -> bool:
        """Return whether the viewer may see a claim's amount; viewers always see their own."""
        return not self.hides_amounts or (
            self.mine is not None and share.share_no == self.mine.share_no
        )


def read_record(
    packet_id: str,
    viewer: User | None,
    *,
    after_no: int,
    limit: int,
    packets: DynamoPackets,
    pages: DynamoPages,
) -> Record:
    """Return a record; *after_no* is 0 or the `next_no` of the previous page.

    Winners see only their own claims of a prize packet. Raises PacketNotFound if the packet is
    missing or the viewer may not read it.
    """
    packet = pages.get_eventually_consistent(packet_id)
    if packet is None or not packet.may_be_read_by(viewer):
        raise PacketNotFound
    return _record_of(packet, viewer, after_no, limit, packets, pages)


def find_present_record(
    packet_id: str, *, packets: DynamoPackets, pages: DynamoPages
) -> Record | None:
    """Return the record for the packet's chat; only the packet row is strongly consistent."""
    packet = packets.find_packet(packet_id)
    return _record_of(packet, None, 0, SMALL_MAX, packets, pages) if packet else None


def _record_of(
    packet: Packet,
    viewer: User | None,
    after_no: int,
    limit: int,
    packets: DynamoPackets,
    pages: DynamoPages,
) -> Record:
    if packet.end:
        record = _read_closed(packet, packet.end, viewer, after_no, limit, packets, pages)
    elif packet.is_small:
        record = _read_small(packet, viewer, after_no, limit, packets)
    else:
        record = _read_large(packet, viewer, after_no, limit, packets, pages)
    is_sender = viewer is not None and viewer.user_id == packet.sender.user_id
    if packet.rules.prize_id and not is_sender:
        record = _of_winner(record)
    shown = [*record.claims, record.luckiest, record.mine]
    thanks = pages.thanks.find({share.ref for share in shown if share})
    return replace(record, is_sender=is_sender, thanks=thanks)


def _of_winner(record: Record) -> Record:
    """Return a prize packet's record with only the viewer's wins. Raises PacketNotFound."""
    packet, mine = record.packet, record.mine
    if mine is None:
        raise PacketNotFound
    own = [each for each in record.claims if each.claimer == mine.claimer] or [mine]
    count, fen = len(own), sum(each.amount_fen for each in own)
    return replace(
        record,
        packet=replace(packet, terms=replace(packet.terms, total_fen=fen, count=count)),
        claims=own,
        next_no=None,
        claimed_count=count,
        claimed_fen=fen,
        emptied_in_ms=None,
        luckiest=None,
    )


def _read_closed(
    packet: Packet,
    end: PacketEnd,
    viewer: User | None,
    after_no: int,
    limit: int,
    packets: DynamoPackets,
    pages: DynamoPages,
) -> Record:
    claims, next_no = pages.list_final(packet.packet_id, after_no, limit)
    if len(claims) == end.claimed_count:
        next_no = None
    mine = _own_of(claims, viewer)
    if viewer and mine is None and len(claims) < end.claimed_count:
        claimer = packets.find_claimer(packet.packet_id, viewer.user_id)
        mine = _claim_of(claimer, viewer, end.last_claimed_at_ms) if claimer else None
    best = None
    if end.luckiest and packet.has_luckiest:
        user = User(end.luckiest.user_id)
        best = _claim_of(end.luckiest, user, end.luckiest.claimed_at_ms)
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
    packet: Packet, viewer: User | None, after_no: int, limit: int, packets: DynamoPackets
) -> Record:
    shares, _ = packets.list_some_shares(packet.packet_id, 0, SMALL_MAX)
    claims = [share for share in shares if share.status is ShareStatus.CLAIMED]
    mine = _own_of(claims, viewer)
    if viewer and mine is None:
        mine = packets.find_share_of(packet.packet_id, viewer.user_id, is_strong=False)
        claims = sorted([*claims, mine], key=lambda share: share.share_no) if mine else claims
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
    packets: DynamoPackets,
    pages: DynamoPages,
) -> Record:
    packet_id = packet.packet_id
    settled = _settled_of(packet, pages)
    shares, next_no = packets.list_some_shares(packet_id, after_no, limit)
    claims = [share for share in shares if share.status is ShareStatus.CLAIMED]
    mine = _own_of(claims, viewer)
    if viewer and mine is None:
        mine = packets.find_share_of(packet_id, viewer.user_id, is_strong=False)
    return Record(
        packet=packet,
        status=status_of(packet),
        claims=claims,
        next_no=next_no,
        claimed_count=settled.count,
        claimed_fen=settled.fen,
        emptied_in_ms=None,
        luckiest=None,
        mine=mine,
    )


def _settled_of(packet: Packet, pages: DynamoPages) -> Settled:
    """Return an open packet's settled sums, capped because a retried update may count twice."""
    settled = pages.find_settled(packet.packet_id)
    return Settled(min(settled.count, packet.terms.count), min(settled.fen, packet.terms.total_fen))


def _own_of(claims: Sequence[Share], viewer: User | None) -> Share | None:
    own = (s for s in claims if viewer and s.claimer and s.claimer.user_id == viewer.user_id)
    return next(own, None)


def _claim_of(claimer: Claimer, viewer: User, settled_at_ms: int) -> Share:
    return Share(
        claimer.packet_id,
        claimer.share_no,
        ShareStatus.CLAIMED,
        claimer.amount_fen,
        claimer.claimed_at_ms,
        viewer,
        settled_at_ms=settled_at_ms,
    )


def _emptied_in_ms(packet: Packet, emptied_at_ms: int | None) -> int | None:
    """Return the milliseconds from the first possible grab to the last claim."""
    if emptied_at_ms is None:
        return None
    grabbable_at_ms = max(packet.starts_at_ms, packet.funded_at_ms or 0)
    return max(0, emptied_at_ms - grabbable_at_ms)  # Clocks of two functions may differ.


def status_of(packet: Packet, *, has_all_claims: bool = False) -> PacketStatus:
    """Return the status that users see; a packet with all shares claimed remains "emptied"."""
    return PacketStatus.EMPTIED if has_all_claims or packet.is_emptied else packet.status


@dataclass(frozen=True, slots=True)
class SentPacket:
    """Sent packet with its claims; only settled claims count while a large packet is open."""

    item: SentItem
    packet: Packet
    status: PacketStatus
    claimed_count: int
    claimed_fen: int | None


@dataclass(frozen=True, slots=True)
class ReceivedShare:
    """Received share with its packet; *is_luckiest* is None while amounts are hidden."""

    item: ReceivedItem
    packet: Packet
    status: PacketStatus
    is_luckiest: bool | None


_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class PacketList(Generic[_Item]):
    """Page of packets, with the totals over all pages."""

    items: Sequence[_Item]
    total_fen: int
    count: int
    luckiest_count: int
    next: str | None


PAGE_SIZE = 20
"""Items per page. Each item costs a read of the item's packet row."""


def list_sent(
    user_id: str,
    year: int | None,
    cursor: str | None,
    *,
    packets: DynamoPackets,
    pages: DynamoPages,
    ledger: DynamoLedger,
    in_parallel: InParallel,
) -> PacketList[SentPacket]:
    """Return a page of the packets that a user sent, newest first. Raises InvalidRequest.

    A page takes at most 23 reads: the list, the sums, one batch of packet rows, and one query or
    row read per open packet, at most 20. A query reads at most 100 shares.
    """
    sent, next_cursor = packets.list_sent(user_id, year, cursor, PAGE_SIZE)
    sums = ledger.year_sums(user_id, year)
    rows = _packets_of([item.packet_id for item in sent], pages)
    items = in_parallel(
        lambda item: _sent_packet(item, rows[item.packet_id], packets, pages),
        [item for item in sent if item.packet_id in rows],
    )
    return PacketList(items, sums.sent_fen, sums.sent_count, 0, next_cursor)


def _sent_packet(
    item: SentItem, packet: Packet, packets: DynamoPackets, pages: DynamoPages
) -> SentPacket:
    """Return a sent packet with the claim totals that its record page would show."""
    has_all_claims = False
    if packet.end:
        count, fen = packet.end.claimed_count, packet.end.claimed_fen
    elif packet.is_small:
        shares, _ = packets.list_some_shares(packet.packet_id, 0, SMALL_MAX)
        amounts = [share.amount_fen for share in shares if share.status is ShareStatus.CLAIMED]
        count, fen = len(amounts), sum(amounts)
        has_all_claims = count == packet.terms.count
    else:
        settled = _settled_of(packet, pages)
        count, fen = settled.count, settled.fen
    status = status_of(packet, has_all_claims=has_all_claims)
    return SentPacket(item, packet, status, count, None if packet.hides_amounts(status) else fen)


def list_received(
    user_id: str, year: int | None, cursor: str | None, *, pages: DynamoPages, ledger: DynamoLedger
) -> PacketList[ReceivedShare]:
    """Return a page of the shares that a user received, newest first. Raises InvalidRequest.

    A page takes 3 reads: the list, the sums and one batch of packet rows.
    """
    received, next_cursor = ledger.list_received(user_id, year, cursor, PAGE_SIZE)
    sums = ledger.year_sums(user_id, year)
    rows = _packets_of([item.packet_id for item in received], pages)
    items = [
        ReceivedShare(item, packet, status_of(packet), _was_luckiest(item, packet))
        for item in received
        if (packet := rows.get(item.packet_id))
    ]
    return PacketList(
        items, sums.received_fen, sums.received_count, sums.luckiest_count, next_cursor
    )


def _was_luckiest(item: ReceivedItem, packet: Packet) -> bool | None:
    if packet.hides_amounts(status_of(packet)):
        return None
    best = packet.end.luckiest if packet.end and packet.has_luckiest else None
    return best is not None and best.share_no == item.share_no


def _packets_of(packet_ids: Sequence[str], pages: DynamoPages) -> dict[str, Packet]:
    return {packet.packet_id: packet for packet in pages.list_eventually_consistent(packet_ids)}
