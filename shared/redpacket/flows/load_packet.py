"""Bring a packet into the cache: after send, when the cache has lost it, and from the sweep."""

from __future__ import annotations

from redpacket.domain.errors import PacketNotFound
from redpacket.domain.packet import Packet, part_count, part_size
from redpacket.ports import ClaimBoard, Packets

_LARGE = 1_000
"""Shares of a part that are read by one caller at a time; of less, each reads a page or two."""

_LOAD_LIFE_MS = 3_000
"""Who loads a large part has so much time, until another may try; 20,000 fates take a second."""


def load_packet(
    packet_id: str, part: int | None = None, *, packets: Packets, board: ClaimBoard
) -> None:
    """Load what the ledger knows of a part, or of all of them. Raises PacketNotFound."""
    packet = _get(packet_id, packets)
    for number in range(part_count(packet_id)) if part is None else (part,):
        board.load(packet, packets.list_part_shares(packet_id, number), number)


def load_among_many(packet_id: str, part: int, *, packets: Packets, board: ClaimBoard) -> bool:
    """Load a part as one of a crowd that has found it missing; False where another one does.

    Raises PacketNotFound.
    """
    # The crowd that waits for a load must not read the row that is being loaded from.
    known = packets.find_known(packet_id)
    is_large = known is not None and part_size(known, part) > _LARGE
    if is_large and not board.begin_load(packet_id, part, _LOAD_LIFE_MS):
        return False
    packet = _get(packet_id, packets)
    board.load(packet, packets.list_part_shares(packet_id, part), part)
    return True


def _get(packet_id: str, packets: Packets) -> Packet:
    packet = packets.find_packet(packet_id)
    # The shares of a prize's packet are won by draws: to everybody else it is not there.
    if packet is None or packet.rules.prize_id:
        msg = "no such packet"
        raise PacketNotFound(msg)
    return packet
