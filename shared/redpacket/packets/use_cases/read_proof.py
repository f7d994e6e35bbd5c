"""Proof of a packet's amounts: its seed, revealed once no share can be claimed with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redpacket.packets.errors import PacketNotFound, ProofNotReady
from redpacket.packets.model.claim import ShareRef, ShareStatus
from redpacket.packets.model.packet import (
    Packet,
    PacketStatus,
    part_count,
    part_size,
    share_numbers,
)
from redpacket.packets.ports import PacketRepository
from redpacket.packets.split import Terms, share_amount_fen
from redpacket.platform.user import User


@dataclass(frozen=True, slots=True)
class Proof:
    """Terms with their seed, and a page of amounts that starts at *first_share_no*."""

    terms: Terms
    first_share_no: int
    amounts_fen: Sequence[int]
    next: str | None


def read_proof(
    packet_id: str, viewer: User, *, after_no: int, limit: int, packets: PacketRepository
) -> Proof:
    """Return a page of a packet's proof. Raises PacketNotFound, ProofNotReady."""
    packet = packets.find_packet(packet_id)
    if packet is None or not packet.may_be_read_by(viewer):
        raise PacketNotFound("The packet does not exist.")
    if packet.status is not PacketStatus.CLOSED and not _is_emptied(packet, packets):
        raise ProofNotReady(
            "Shares can still be claimed. The seed is revealed once the packet has ended."
        )
    terms = packet.terms
    last_no = min(after_no + limit, terms.count)
    numbers = range(after_no + 1, last_no + 1)
    return Proof(
        terms=terms,
        first_share_no=after_no + 1,
        amounts_fen=[share_amount_fen(terms, share_no) for share_no in numbers],
        next=str(last_no) if last_no < terms.count else None,
    )


def _is_emptied(packet: Packet, packets: PacketRepository) -> bool:
    """Return whether every share is durably claimed: then the seed decides nothing more."""
    packet_id, parts = packet.packet_id, range(part_count(packet.packet_id))
    # Shares are granted in order: while a part's last share is free, skip reading the part.
    last = [ShareRef(packet_id, share_numbers(packet, part)[-1]) for part in parts]
    if len(packets.list_refs(last)) < len(last):
        return False
    return all(_is_taken(packet, part, packets) for part in parts)


def _is_taken(packet: Packet, part: int, packets: PacketRepository) -> bool:
    shares = packets.list_part_shares(packet.packet_id, part)
    return sum(share.fate is ShareStatus.CLAIMED for share in shares) == part_size(packet, part)
