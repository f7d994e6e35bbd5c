"""Packet lists for operators."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.approvals.model import OPEN_CURSOR
from redpacket.campaigns.ports import CampaignRepository
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.model.claim import Share, ShareStatus
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.model.packet_id import PACKET_ID
from redpacket.packets.ports import SENT_CURSOR, PacketReader, Pages
from redpacket.packets.use_cases.read_records import status_of
from redpacket.platform.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from redpacket.approvals.dynamodb.operator_lists import DynamoOperatorLists
    from redpacket.lottery.model.lottery import Prize

_CLAIMS_PER_READ = 500
_READS = 20
"""Maximum reads for one page of sharers: 10,000 shares, claimed or refunded."""


@dataclass(frozen=True, slots=True)
class ListPorts:
    """Dependencies of operators' lists."""

    campaigns: CampaignRepository
    list_prizes: Callable[[str], Iterable[Prize]]
    packets: PacketReader
    lists: DynamoOperatorLists
    pages: Pages


def list_packets(
    campaign_id: str | None,
    sender_id: str | None,
    status: PacketStatus | None,
    cursor: str | None,
    limit: int,
    *,
    ports: ListPorts,
) -> tuple[list[Packet], str | None]:
    """Return packets and the next cursor; a filtered page may be short.

    Without a campaign or sender, list packets that have not ended. Raises InvalidRequest.
    """
    by_sender = OPEN_CURSOR if sender_id is None else SENT_CURSOR
    form = by_sender if campaign_id is None else PACKET_ID.pattern
    if cursor is not None and not re.fullmatch(form, cursor):
        message = "is not a cursor of this list: keep the campaign and the sender of its first page"
        raise InvalidRequest.of("cursor", message)
    if campaign_id is not None:
        packet_ids = _list_of_campaign(campaign_id, cursor, limit + 1, ports)
        ids, more = packet_ids[:limit], packet_ids[limit - 1] if len(packet_ids) > limit else None
    elif sender_id is not None:
        sent, more = ports.packets.list_sent(sender_id, None, cursor, limit)
        ids = [item.packet_id for item in sent]
    else:
        ids, more = ports.lists.list_open(cursor, limit)
    rows = {row.packet_id: row for row in ports.pages.list_eventually_consistent(ids)}
    page = [rows[packet_id] for packet_id in ids if packet_id in rows]
    return [
        packet
        for packet in page
        if status in {None, status_of(packet)} and sender_id in {None, packet.sender.user_id}
    ], more


def _list_of_campaign(
    campaign_id: str, after: str | None, limit: int, ports: ListPorts
) -> list[str]:
    """Return ids of a campaign's packets in order, including the packets of its cash prizes."""
    cash = {
        packet_id
        for prize in ports.list_prizes(campaign_id)
        for packet_id, _ in prize.packets
        if packet_id > (after or "")
    }
    return sorted({*ports.campaigns.list_packet_ids(campaign_id, after, limit), *cash})[:limit]


def find_packet(packet_id: str, *, ports: ListPorts) -> Packet:
    """Return a packet. Raises PacketNotFound."""
    packet = ports.pages.get_eventually_consistent(packet_id)
    if packet is None:
        raise PacketNotFound
    return packet


def list_claims(
    packet_id: str, after_no: int, limit: int, *, ports: ListPorts
) -> tuple[list[Share], int | None]:
    """Return a page of claims, and the next *after_no*. Raises PacketNotFound."""
    find_packet(packet_id, ports=ports)
    shares, more = ports.packets.list_some_shares(packet_id, after_no, limit)
    return [share for share in shares if share.status is ShareStatus.CLAIMED], more


def count_sharers(
    packet_id: str, after_no: int, *, ports: ListPorts
) -> tuple[Counter[str], int | None]:
    """Return each sharer's claim count on a page, and the next *after_no*. Raises PacketNotFound.

    The counts come from the share rows, so only the newest claims may be missing.
    """
    counts: Counter[str] = Counter()
    next_no: int | None = after_no
    for _ in range(_READS):
        if next_no is None:
            break
        claims, next_no = list_claims(packet_id, next_no, _CLAIMS_PER_READ, ports=ports)
        counts.update(share.via for share in claims if share.via)
    return counts, next_no
