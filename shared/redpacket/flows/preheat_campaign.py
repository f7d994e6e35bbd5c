"""Preheat a campaign: load all its packets, before the start or when the cache has lost them."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.errors import InvariantViolated, Unavailable
from redpacket.domain.packet import PacketStatus, part_count
from redpacket.flows.edit_campaign import get_campaign
from redpacket.ports import Campaigns, ClaimBoard, Clock, Journal, Packets

_IDS_PER_READ = 500


@dataclass(frozen=True, slots=True)
class Preheated:
    """What a preheat found and loaded; *next_cursor* says where to go on, None at the end."""

    packet_count: int
    loaded_count: int
    next_cursor: str | None


def preheat_campaign(
    campaign_id: str,
    cursor: str | None,
    *,
    campaigns: Campaigns,
    packets: Packets,
    board: ClaimBoard,
    clock: Clock,
    journal: Journal,
    stop_at_ms: int,
) -> Preheated:
    """Load the campaign's packets that are not closed, after *cursor*, until the time is up.

    Repeating it is harmless. What can't be loaded is passed over: its first grab loads it. Raises
    CampaignNotFound.
    """
    get_campaign(campaign_id, campaigns=campaigns)
    packet_count = loaded_count = 0
    while ids := campaigns.list_packet_ids(campaign_id, cursor, _IDS_PER_READ):
        for packet_id in ids:
            cursor = packet_id
            try:
                is_loaded = _load(packet_id, packets=packets, board=board)
            except Unavailable as error:
                journal.failure("preheat_failed", error, packet_id=packet_id)
                is_loaded = False
            if is_loaded is not None:
                packet_count += 1
                loaded_count += is_loaded
            # After one, so that repeating it comes to the end whatever the time.
            if clock.now_ms() >= stop_at_ms:
                return Preheated(packet_count, loaded_count, cursor)
    return Preheated(packet_count, loaded_count, None)


def _load(packet_id: str, *, packets: Packets, board: ClaimBoard) -> bool | None:
    """Load one packet; None where it is closed, and nobody can take anything any more."""
    packet = packets.find_packet(packet_id)
    if packet is None:
        msg = f"the campaign knows {packet_id}, and there is no such packet"
        raise InvariantViolated(msg)
    if packet.status is PacketStatus.CLOSED:
        return None
    for part in range(part_count(packet_id)):
        board.load(packet, packets.list_part_shares(packet_id, part), part)
    packets.mark_loaded(packet)
    return True
