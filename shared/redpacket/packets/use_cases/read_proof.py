"""Proof of a packet's amounts: the seed, revealed once no more shares can be claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redpacket.packets.errors import PacketNotFound, ProofNotReady
from redpacket.packets.model.claim import ShareRef, ShareStatus
from redpacket.packets.model.packet import (
    Packet,
    PacketStatus,
    shard_count,
    shard_size,
    share_numbers,
)
from redpacket.packets.ports import PacketReader
from redpacket.packets.split import Terms, share_amount_fen
from redpacket.platform.user import User


@dataclass(frozen=True, slots=True)
class Proof:
    """Terms with the seed, and a page of amounts that starts at *first_share_no*."""

    terms: Terms
    first_share_no: int
    amounts_fen: Sequence[int]
    next: str | None


def read_proof(
    packet_id: str, viewer: User, *, after_no: int, limit: int, packets: PacketReader
) -> Proof:
    """Return a page of a packet's proof. Raises PacketNotFound, ProofNotReady."""
    packet = packets.find_packet(packet_id)
    if packet is None or not packet.may_be_read_by(viewer):
        raise PacketNotFound
    if packet.status is not PacketStatus.CLOSED and not _is_emptied(packet, packets):
        raise ProofNotReady
    terms = packet.terms
    last_no = min(after_no + limit, terms.count)
    numbers = range(after_no + 1, last_no + 1)
    return Proof(
        terms=terms,
        first_share_no=after_no + 1,
        amounts_fen=[share_amount_fen(terms, share_no) for share_no in numbers],
        next=str(last_no) if last_no < terms.count else None,
    )


def _is_emptied(packet: Packet, packets: PacketReader) -> bool:
    """Return whether every share is durably claimed, so that revealing the seed helps no user."""
    packet_id, shards = packet.packet_id, range(shard_count(packet.packet_id))
    # Shares are granted in order: read a shard only after its last share has been claimed.
    last = [ShareRef(packet_id, share_numbers(packet, shard)[-1]) for shard in shards]
    if len(packets.list_refs(last)) < len(last):
        return False
    return all(_is_taken(packet, shard, packets) for shard in shards)


def _is_taken(packet: Packet, shard: int, packets: PacketReader) -> bool:
    shares = packets.list_shard_shares(packet.packet_id, shard)
    return sum(share.status is ShareStatus.CLAIMED for share in shares) == shard_size(packet, shard)
