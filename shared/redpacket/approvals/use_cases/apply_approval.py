"""Application of an approved change by the flow that needs no approval; each acts once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redpacket.approvals.model import Approval, CampaignAsked, DepositAsked, PrizeAsked
from redpacket.operations.model.operators import Operator
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User


def apply_approval(
    approval: Approval,
    *,
    deposit: Callable[..., Any],
    edit_campaign: Callable[..., Any],
    put_prize: Callable[..., Any],
    change_stock: Callable[..., Any],
) -> None:
    """Apply *approval* for its operator. Raises the flow's errors, such as VersionConflict."""
    asked = approval.asked
    operator = Operator(User(approval.operator_id), is_approved=True)
    if isinstance(asked, DepositAsked):
        request = Request(approval.operator_id, asked.key_hash, asked.body_hash)
        deposit(
            User(asked.payee_id),
            asked.amount_fen,
            request,
            is_for_campaigns=asked.is_for_campaigns,
            is_approved=True,
        )
    elif isinstance(asked, CampaignAsked):
        edit_campaign(asked.plan, asked.budget_fen, asked.version, operator, asked.draw_beacon)
    elif isinstance(asked, PrizeAsked):
        put_prize(asked.plan, asked.version, operator)
    else:
        request = Request(approval.operator_id, asked.key_hash, asked.body_hash)
        change_stock(
            asked.campaign_id, asked.prize_id, asked.delta, asked.version, operator, request
        )
