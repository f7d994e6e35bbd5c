"""Gate for edits that affect who can win a lottery's cash, and the facts that an approver sees.

An edit that changes one of these facts counts as a move of all the lottery's cash. If that cash
exceeds the operator's limit, a second operator must approve the edit. A pause needs no approval.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from redpacket.campaigns.model import CampaignPlan, CampaignStatus
from redpacket.lottery.model.lottery import CampaignSnapshot, Prize, PrizeKind
from redpacket.operations.model.allowances import Allowance
from redpacket.operations.model.operators import (
    Change,
    Duty,
    Operator,
    campaign_subject,
    changes_between,
)
from redpacket.operations.use_cases.approval_policy import ApprovalPolicy

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.prizes import DynamoPrizes

_FREE = {
    *("campaign_id", "prize_id", "title", "description", "image_url", "attributes", "version"),
    *("amounts_shown", "packets", "codes_until_ms"),
}
"""Fields that affect no user's odds."""

_OFF = CampaignStatus.OFF


def cash_fen(snapshot: CampaignSnapshot) -> int:
    """Return the cash in all units, including removed units whose money is not refunded yet."""
    return sum(
        (prize.amount_fen or 0) * max(prize.total, sum(count for _, count in prize.packets))
        for prize in _cash(snapshot.prizes)
    )


def spend_on(
    before: CampaignSnapshot,
    after: CampaignSnapshot,
    operator: Operator,
    changes: tuple[Change, ...],
    policy: ApprovalPolicy,
    version: int = 0,
    added_fen: int = 0,
) -> Allowance | None:
    """Return the allowance that an edit must write; *added_fen* is the increase in the budget.

    Raises Forbidden without the treasury duty, ApprovalNeededError, and NotAsApproved.
    """
    fen, held_fen = _stake_fen(before, after, operator, policy.clock.now_ms())
    return policy.spend(
        operator,
        campaign_subject(after.campaign.campaign_id),
        fen + added_fen,
        held_fen=held_fen,
        version=version,
        changes=_with_facts(changes, after),
    )


def spend_alone_on(
    before: CampaignSnapshot,
    after: CampaignSnapshot,
    operator: Operator,
    advice: str,
    policy: ApprovalPolicy,
) -> Allowance | None:
    """Return the allowance for an edit that no approval can cover. Raises Forbidden."""
    fen, held_fen = _stake_fen(before, after, operator, policy.clock.now_ms())
    subject = campaign_subject(after.campaign.campaign_id)
    return policy.spend_alone(operator, fen, advice, subject, held_fen=held_fen)


def check_list(
    campaign_id: str, operator: Operator, *, prizes: DynamoPrizes, policy: ApprovalPolicy
) -> int:
    """Check that the operator may edit the list; return the snapshot's version, or 0 without one.

    Raises Forbidden.
    """
    snapshot = prizes.find_snapshot(campaign_id)
    if snapshot is None:
        return 0
    edited = replace(snapshot, audience_edits=snapshot.audience_edits + 1)
    advice = "Edit the list before the cash, or add the cash to another campaign."
    spend_alone_on(snapshot, edited, operator, advice, policy)
    return snapshot.version


def with_prize(snapshot: CampaignSnapshot, prize: Prize) -> CampaignSnapshot:
    """Return *snapshot* with *prize* added or replaced."""
    others = (each for each in snapshot.prizes if each.prize_id != prize.prize_id)
    return replace(snapshot, prizes=(*others, prize))


def _stake_fen(
    before: CampaignSnapshot, after: CampaignSnapshot, operator: Operator, now_ms: int
) -> tuple[int, int]:
    """Return the cash that an edit affects, and how much of it existed before the edit."""
    held_fen = cash_fen(before)
    fen = max(held_fen, cash_fen(after))
    kept = _without_pauses(after, before)
    if _facts_of(kept) == _facts_of(before):
        return 0, 0
    if fen or _odds(_cash(kept.prizes)) != _odds(_cash(before.prizes)):
        operator.require(Duty.TREASURY)
    return (fen, held_fen) if after.campaign.ends_at_ms > now_ms else (0, 0)


def _facts_of(snapshot: CampaignSnapshot) -> dict[str, object]:
    facts = _deciding(snapshot.campaign)
    # Prize edits also have a field `status`, so rename the campaign's field.
    return {
        "campaign_status": facts.pop("status"),
        **facts,
        "audience_mode": snapshot.audience_mode,
        "audience_size": snapshot.audience_size,
        "audience_edits": snapshot.audience_edits,
        "prizes": _odds(snapshot.prizes),
    }


def _with_facts(changes: tuple[Change, ...], after: CampaignSnapshot) -> tuple[Change, ...]:
    named = {change.field for change in changes}
    facts = changes_between(None, _facts_of(after))
    shown = (replace(fact, before=fact.after) for fact in facts if fact.field not in named)
    return *changes, *shown


def _without_pauses(after: CampaignSnapshot, before: CampaignSnapshot) -> CampaignSnapshot:
    """Return *after* without the pauses that the edit adds to the campaign or its cash prizes."""
    campaign = after.campaign
    if campaign.status is _OFF:
        campaign = replace(campaign, status=before.campaign.status)
    was = {prize.prize_id: prize.status for prize in _cash(before.prizes)}
    prizes = (
        replace(prize, status=was.get(prize.prize_id, _OFF)) if prize.status is _OFF else prize
        for prize in after.prizes
    )
    return replace(after, campaign=campaign, prizes=tuple(prizes))


def _cash(prizes: Iterable[Prize]) -> list[Prize]:
    return [prize for prize in prizes if prize.kind is PrizeKind.PACKET]


def _odds(prizes: Iterable[Prize]) -> dict[str, dict[str, object]]:
    return {prize.prize_id: _deciding(prize) for prize in prizes}


def _deciding(rules: CampaignPlan | Prize) -> dict[str, object]:
    return {name: value for name, value in asdict(rules).items() if name not in _FREE}
