"""Application of an approved change, by the use case that would also run without an approval."""

from __future__ import annotations

from redpacket.approvals.model import (
    Approval,
    CampaignAsked,
    CampaignMoneyAsked,
    DepositAsked,
    PrizeAsked,
    StockAsked,
)
from redpacket.ledger.use_cases.deposit import DepositPorts, deposit
from redpacket.ledger.use_cases.move_campaign_money import move_campaign_money
from redpacket.lottery.use_cases.apply_edit import apply_campaign, apply_prize, apply_stock
from redpacket.lottery.use_cases.edit_campaign import CampaignPorts
from redpacket.lottery.use_cases.edit_prize import PrizePorts
from redpacket.operations.model.operators import Approved, Operator
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User


def apply_approval(
    approval: Approval, *, deposits: DepositPorts, campaigns: CampaignPorts, prizes: PrizePorts
) -> None:
    """Apply *approval* for the operator who requested it.

    Each use case computes the change again, and raises NotAsApproved if it differs from what the
    approver saw. Raises the use case's errors, such as VersionConflict.
    """
    change = approval.change
    shown = Approved(approval.subject, approval.amount_fen, approval.changes)
    operator = Operator(approval.operator, approved=shown)
    if isinstance(change, DepositAsked):
        request = Request(approval.operator_id, change.key_hash, change.body_hash)
        deposit(
            User(change.payee_id),
            change.amount_fen,
            request,
            case=change.case,
            is_for_campaigns=change.is_for_campaigns,
            operator=operator,
            ports=deposits,
        )
    elif isinstance(change, CampaignMoneyAsked):
        move_campaign_money(
            User(change.owner_id),
            User(change.payee_id),
            change.reason,
            Request(approval.operator_id, change.key_hash, change.body_hash),
            operator=operator,
            ports=deposits,
        )
    elif isinstance(change, CampaignAsked):
        budget_fen, version = change.budget_fen, change.version
        apply_campaign(change.plan, budget_fen, version, operator, ports=campaigns)
    elif isinstance(change, PrizeAsked):
        apply_prize(change.plan, change.version, operator, ports=prizes)
    elif isinstance(change, StockAsked):
        request = Request(approval.operator_id, change.key_hash, change.body_hash)
        apply_stock(
            change.campaign_id,
            change.prize_id,
            change.delta,
            change.version,
            operator,
            request,
            ports=prizes,
        )
