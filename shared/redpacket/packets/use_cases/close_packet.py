"""Close (结束): writing a packet's final sums once every share is decided and every claim is paid.

A decided share never changes. The caller that completes the last shard closes the packet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.packets.model.claim import Share
from redpacket.packets.model.closing import add_up, find_end
from redpacket.packets.model.packet import (
    Packet,
    PacketEnd,
    PacketStatus,
    is_sharded,
    shard_count,
    shard_of_share,
    shard_size,
)
from redpacket.platform.errors import InvariantViolated
from redpacket.platform.runtime import Clock

if TYPE_CHECKING:
    from redpacket.packets.dynamodb.ledger import DynamoLedger
    from redpacket.packets.dynamodb.packets import DynamoPackets
    from redpacket.packets.dynamodb.pages import DynamoPages


@dataclass(frozen=True, slots=True, kw_only=True)
class EndPorts:
    """Dependencies for ending a packet in any way."""

    ledger: DynamoLedger
    packets: DynamoPackets
    pages: DynamoPages
    clock: Clock


def close_emptied(packet: Packet, last_no: int, ports: EndPorts) -> bool:
    """End the shard emptied by share *last_no*; return False if the caller must try later."""
    if packet.status is PacketStatus.CLOSED:
        return True
    if packet.status is PacketStatus.CLOSING:
        # Leave the packet to the sweep, which first loads all owners into the cache.
        return False
    shard = shard_of_share(packet.packet_id, last_no)
    shares = ports.packets.list_shard_shares(packet.packet_id, shard)
    end = end_shard(packet, shard, shares, ports)
    if end is None:
        return False
    close_if_ended(packet, end, ports)
    return True


def end_shard(
    packet: Packet, shard: int, shares: Sequence[Share], ports: EndPorts
) -> PacketEnd | None:
    """Write a shard's final pages and return its sums, or None while a share can still change."""
    end = find_end(shares, shard_size(packet, shard))
    if end:
        ports.pages.put_final(packet.packet_id, shares)
    if end and is_sharded(packet.packet_id):
        ports.packets.put_shard_end(packet.packet_id, shard, end)
    return end


def close_if_ended(packet: Packet, end: PacketEnd, ports: EndPorts) -> bool:
    """Close the packet if all shards have ended; *end* has the sums of the shard that ended last.

    Raises InvariantViolated if the sums differ from the packet's total.
    """
    ends = (
        ports.packets.list_shard_ends(packet.packet_id) if is_sharded(packet.packet_id) else [end]
    )
    if len(ends) < shard_count(packet.packet_id):
        return False
    total = add_up(ends)
    if total.claimed_fen + total.refunded_fen != packet.terms.total_fen:
        raise InvariantViolated(
            f"the shares of {packet.packet_id} are {total.claimed_fen + total.refunded_fen} fen"
        )
    ports.ledger.close(packet, total, ports.clock.now_ms())
    return True
