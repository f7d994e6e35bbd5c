"""Bring a packet into the cache: after send, when the cache has lost it, and from the sweep."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.domain.claim import ShareFate
from redpacket.domain.errors import PacketNotFound
from redpacket.ports import ClaimBoard, Packets


def load_packet(packet_id: str, *, packets: Packets, board: ClaimBoard) -> Sequence[ShareFate]:
    """Load what the ledger knows, whatever the cache holds; return the shares with a fate."""
    packet = packets.find_packet(packet_id, is_strong=True)
    if packet is None:
        msg = "no such packet"
        raise PacketNotFound(msg)
    shares = packets.list_shares(packet_id)
    board.load(packet, shares)
    return shares
