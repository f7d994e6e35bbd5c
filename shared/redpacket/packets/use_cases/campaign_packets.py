"""Operators' money in packets of campaigns: the audit log's entry, and what one person can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.operations.model.operators import (
    Action,
    ActionKind,
    campaign_subject,
    changes_between,
)
from redpacket.packets.model.packet import Packet
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.packets.use_cases.send_packet import SendOrder

_FEW_SHARES = 10
"""Shares from which a campaign's packet without a passphrase is for the public."""


def chosen_fen(order: SendOrder) -> int:
    """Return the largest share that an operator can give to a chosen person; 0 for the public's.

    A passphrase, or the id of a packet with few shares, can be told to one person.
    """
    if not order.campaign or (order.count >= _FEW_SHARES and not order.rules.passphrase):
        return 0
    others_fen = (order.count - 1) * order.share_fen_min
    return min(order.share_fen_max, order.total_fen - others_fen)


def funding_action(packet: Packet, kind: ActionKind, operator: User) -> Action:
    """Return the audit log's entry for an operator's money in a campaign's packet."""
    rules, terms = packet.rules, packet.terms
    facts: dict[str, object] = {"prize_id": rules.prize_id} if rules.prize_id else {}
    facts |= {"packet_id": packet.packet_id, "total_fen": terms.total_fen, "count": terms.count}
    if kind is ActionKind.PACKET_SENT:
        facts["has_passphrase"] = bool(rules.passphrase)
    return Action(
        operator,
        kind,
        campaign_subject(rules.campaign_id or ""),
        packet.created_at_ms,
        changes_between(None, facts),
    )
