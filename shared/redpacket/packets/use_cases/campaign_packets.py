"""Money that operators put into campaign packets: log entries, and amounts for chosen users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.operations.model.operators import (
    Action,
    ActionKind,
    campaign_subject,
    changes_between,
)
from redpacket.packets.model.packet import Packet
from redpacket.packets.split import Split
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.packets.use_cases.send_packet import SendOrder


def chosen_fen(order: SendOrder) -> int:
    """Return the amount that a campaign packet can pay to chosen users; 0 for a user's packet.

    Recipients can get everything. Without recipients, the amount is the largest possible share,
    because an operator can give the id to one user and end the packet before others claim.
    """
    if not order.campaign:
        return 0
    if order.rules.recipients:
        return order.total_fen
    if order.split is Split.EQUAL:
        return order.total_fen // order.count
    others_fen = (order.count - 1) * order.share_fen_min
    return min(order.share_fen_max, order.total_fen - others_fen)


def funding_action(packet: Packet, kind: ActionKind, operator: User) -> Action:
    """Return the audit log entry for the money that an operator puts into a campaign packet."""
    rules, terms = packet.rules, packet.terms
    facts: dict[str, object] = {"prize_id": rules.prize_id} if rules.prize_id else {}
    facts |= {"packet_id": packet.packet_id, "total_fen": terms.total_fen, "count": terms.count}
    if kind is ActionKind.PACKET_SENT:
        facts |= {"has_passphrase": bool(rules.passphrase), "recipients": len(rules.recipients)}
    return Action(
        operator,
        kind,
        campaign_subject(rules.campaign_id or ""),
        packet.created_at_ms,
        changes_between(None, facts),
    )
