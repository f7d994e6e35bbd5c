"""Ordering of the payment that funds a packet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from redpacket.packets.model.packet import Packet
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import EventLogger
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.packets.clients.lambda_payments import LambdaPayments


def order_payment(
    packet: Packet, sender: User, *, payments: LambdaPayments, logger: EventLogger
) -> Mapping[str, Any] | None:
    """Order and return the packet's payment, or None if it needs none or the outcome is unknown."""
    if packet.payment_id is None or sender.host_id is None:
        return None
    try:
        return payments.order(packet.payment_id, sender.host_id)
    except Unavailable as error:
        logger.failure("payment_not_ordered", error, packet_id=packet.packet_id)
        return None
