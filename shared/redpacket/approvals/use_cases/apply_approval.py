"""Application of an approved change by the flow that needs no approval; each acts once."""

from __future__ import annotations

from redpacket.approvals.model import Approval, CampaignAsked, DepositAsked, PrizeAsked
from redpacket.ledger.use_cases.deposit import DepositPorts, deposit
from redpacket.lottery.use_cases.apply_edit import apply_campaign, apply_prize, apply_stock
from redpacket.lottery.use_cases.edit_campaign import CampaignPorts
from redpacket.lottery.use_cases.edit_prize import PrizePorts
from redpacket.operations.model.operators import Operator
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User


def apply_approval(
    approval: Approval, *, deposits: DepositPorts, campaigns: CampaignPorts, prizes: PrizePorts
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
            ports=deposits,
        )
    elif isinstance(asked, CampaignAsked):
        budget_fen, beacon = asked.budget_fen, asked.draw_beacon
        apply_campaign(asked.plan, budget_fen, asked.version, operator, beacon, ports=campaigns)
    elif isinstance(asked, PrizeAsked):
        apply_prize(asked.plan, asked.version, operator, ports=prizes)
    else:
        request = Request(approval.operator_id, asked.key_hash, asked.body_hash)
        apply_stock(
            asked.campaign_id,
            asked.prize_id,
            asked.delta,
            asked.version,
            operator,
            request,
            ports=prizes,
        )
