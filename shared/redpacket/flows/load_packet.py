"""Bring a packet into the cache: after send, when the cache has lost it, and from the sweep."""

from __future__ import annotations

from redpacket.domain.errors import PacketNotFound
from redpacket.ports import ClaimBoard, Packets


def load_packet(packet_id: str, *, packets: Packets, board: ClaimBoard) -> None:
    """Load what the ledger knows, whatever the cache holds. Raises PacketNotFound."""
    packet = packets.find_packet(packet_id)
    # The shares of a prize's packet are won by draws: to everybody else it is not there.
    if packet is None or packet.rules.prize_id:
        msg = "no such packet"
        raise PacketNotFound(msg)
    board.load(packet, packets.list_shares(packet_id))
