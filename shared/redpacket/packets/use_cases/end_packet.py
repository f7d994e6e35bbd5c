"""Early end (提前结束) of a packet; the sweep then refunds the rest, usually within a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.operations.model.operators import (
    Action,
    ActionKind,
    Operator,
    campaign_subject,
    changes_between,
    user_subject,
)
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.model.packet import Packet, PacketStatus, shard_count
from redpacket.packets.use_cases.send_packet import SendPorts
from redpacket.platform.errors import Unavailable

if TYPE_CHECKING:
    from redpacket.packets.clients.lambda_payments import LambdaPayments

_TRIES = 4
"""Maximum attempts. A concurrent payment may open the packet, or a settlement may close it."""


def end_own_packet(
    packet_id: str, sender_id: str, *, ports: SendPorts, payments: LambdaPayments
) -> Packet:
    """End a user's packet unless it has already ended.

    Raises Unavailable, and PacketNotFound for others' packets, campaign packets and prize packets.
    """
    packet = _find(packet_id, ports)
    if packet.rules.campaign_id or packet.sender.user_id != sender_id:
        raise PacketNotFound
    return _end(packet, None, ports, payments)


def end_any_packet(
    packet_id: str,
    operator: Operator,
    reason: str,
    *,
    may_end_all: bool,
    ports: SendPorts,
    payments: LambdaPayments,
) -> Packet:
    """End a campaign's packet, or any packet if *may_end_all*; log *reason* if this call ends it.

    Raises Unavailable, and PacketNotFound for missing and prize packets.
    """
    packet = _find(packet_id, ports)
    campaign_id = packet.rules.campaign_id
    if not campaign_id and not may_end_all:
        raise PacketNotFound
    subject = campaign_subject(campaign_id) if campaign_id else user_subject(packet.sender.user_id)
    facts = changes_between(None, {"packet_id": packet_id, "reason": reason})
    now_ms = ports.clock.now_ms()
    action = Action(operator.person, ActionKind.PACKET_ENDED, subject, now_ms, facts)
    return _end(packet, action, ports, payments)


def _end(
    packet: Packet, action: Action | None, ports: SendPorts, payments: LambdaPayments
) -> Packet:
    """End the packet in the ledger, then in the cache. If the cache fails, the sweep retries."""
    for _ in range(_TRIES):
        now_ms = ports.clock.now_ms()
        if packet.status is PacketStatus.UNPAID:
            # Close the order, so that the payer can no longer pay for an ended packet.
            payments.close(packet.payment_id or "")
            ports.ledger.cancel_unpaid(packet, now_ms, action)
        elif packet.status is PacketStatus.OPEN:
            ports.packets.end(packet, now_ms, action)
        else:
            break
        packet = _find(packet.packet_id, ports)
    else:
        raise Unavailable(f"packet {packet.packet_id} is being updated concurrently")
    if packet.status is PacketStatus.CLOSING:
        # Do this in repeated calls, too, because the cache may have been unavailable before.
        _close_cache(packet, ports)
    return packet


def _close_cache(packet: Packet, ports: SendPorts) -> None:
    packet_id, cache = packet.packet_id, ports.claim_cache
    try:
        for shard in range(shard_count(packet_id)):
            if not cache.is_loaded(packet_id, shard):
                # Load the closing state, which a concurrent load of the open packet can't undo.
                cache.load(packet, [], shard)
        # Close last, because a concurrent load may have loaded the open packet before.
        cache.close(packet_id)
    except Unavailable as error:
        ports.logger.failure("cache_not_closed", error, packet_id=packet_id)


def _find(packet_id: str, ports: SendPorts) -> Packet:
    packet = ports.packets.find_packet(packet_id)
    if packet is None or packet.rules.prize_id:
        raise PacketNotFound
    return packet
