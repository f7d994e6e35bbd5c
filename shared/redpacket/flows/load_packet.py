"""Bring a packet into the cache: after send, when the cache has lost it, and from the sweep."""

from __future__ import annotations

from redpacket.domain.errors import PacketNotFound
from redpacket.domain.packet import part_count
from redpacket.ports import ClaimBoard, Packets


def load_packet(
    packet_id: str, part: int | None = None, *, packets: Packets, board: ClaimBoard
) -> None:
    """Load what the ledger knows of a part, or of all of them. Raises PacketNotFound."""
    packet = packets.find_packet(packet_id)
    # The shares of a prize's packet are won by draws: to everybody else it is not there.
    if packet is None or packet.rules.prize_id:
        msg = "no such packet"
        raise PacketNotFound(msg)
    for number in range(part_count(packet_id)) if part is None else (part,):
        board.load(packet, packets.list_part_shares(packet_id, number), number)
