"""Rules that decide who wins the cash of a lottery; the treasury pays for those that it saw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace

from redpacket.campaigns.model import CampaignPlan, CampaignStatus
from redpacket.lottery.model.lottery import CampaignSnapshot, Prize, PrizeKind
from redpacket.operations.model.operators import Change, Duty, Operator, changes_between

FREE = {"title", "description", "image_url", "attributes", "amounts_shown", "version"}
"""Fields that change nobody's chance."""


def has_cash(prizes: Iterable[Prize]) -> bool:
    """Return whether one of *prizes* is cash, even before it has units."""
    return any(prize.kind is PrizeKind.PACKET for prize in prizes)


def check_plan(operator: Operator, after: CampaignPlan, before: CampaignPlan) -> None:
    """Raise Forbidden for rules of cash without the treasury; a pause is no such rule."""
    _check(operator, changes_between(asdict(before), asdict(after)), {*FREE, "status"})


def check_prize(operator: Operator, after: Prize, before: Prize) -> None:
    """Raise Forbidden for odds of cash without the treasury; cash itself may be turned off."""
    is_off = before.kind is PrizeKind.PACKET and after.status is CampaignStatus.OFF
    status = {"status"} if is_off else set[str]()
    changes = changes_between(asdict(before), asdict(after))
    _check(operator, changes, {*FREE, *status})


def check_stock(operator: Operator, prizes: Iterable[Prize]) -> None:
    """Raise Forbidden for more or fewer goods beside cash without the treasury."""
    if has_cash(prizes):
        operator.require(Duty.TREASURY)


def audience_of(snapshot: CampaignSnapshot) -> tuple[Change, ...]:
    """Return the facts of the list that an approver sees; each edit of it asks again."""
    return _shown(
        {
            "audience_mode": snapshot.audience_mode,
            "audience_size": snapshot.audience_size,
            "audience_edits": snapshot.audience_edits,
        }
    )


def rules_of(snapshot: CampaignSnapshot, prize_id: str = "") -> tuple[Change, ...]:
    """Return the rules that an approver of cash sees; the approval is of these alone.

    Cash other than *prize_id* is left out, because its own approval is of its odds.
    """
    plan = snapshot.campaign
    odds = ("status", "weight", "total", "amount_fen", "per_day", "per_hour", "once_per_user")
    rules: dict[str, object] = {
        "required_claims": plan.required_claims,
        "starts_at_ms": plan.starts_at_ms,
        "ends_at_ms": plan.ends_at_ms,
        "miss_weight": plan.miss_weight,
        "when_sold_out": plan.when_sold_out,
        "passphrase": plan.passphrase,
        "rules": asdict(plan.rules),
        "prizes": {
            prize.prize_id: {name: getattr(prize, name) for name in odds}
            for prize in snapshot.prizes
            if prize.kind is not PrizeKind.PACKET or prize.prize_id == prize_id
        },
    }
    return audience_of(snapshot) + _shown(rules)


def _shown(facts: dict[str, object]) -> tuple[Change, ...]:
    return tuple(replace(each, before=each.after) for each in changes_between(None, facts))


def _check(operator: Operator, changes: Iterable[Change], free: set[str]) -> None:
    if any(change.field not in free for change in changes):
        operator.require(Duty.TREASURY)
