"""Rules that decide who wins the cash of a lottery; the treasury pays for those that it saw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace

from redpacket.campaigns.model import CampaignPlan
from redpacket.lottery.model.lottery import CampaignSnapshot, Prize, PrizeKind
from redpacket.operations.model.operators import Change, Duty, Operator, changes_between

_FREE = {"title", "description", "image_url", "attributes", "amounts_shown"}
"""Fields that change nobody's chance."""


def has_cash(prizes: Iterable[Prize]) -> bool:
    """Return whether money is behind one of *prizes*."""
    return any(prize.packets for prize in prizes)


def check_plan(operator: Operator, after: CampaignPlan, before: CampaignPlan) -> None:
    """Raise Forbidden for rules of cash without the treasury; a pause is no such rule."""
    _check(operator, changes_between(asdict(before), asdict(after)), {*_FREE, "status"})


def check_prize(operator: Operator, after: Prize, before: Prize) -> None:
    """Raise Forbidden for odds of cash without the treasury; cash itself may be turned off."""
    status = {"status"} if before.kind is PrizeKind.PACKET else set[str]()
    changes = changes_between(asdict(before), asdict(after))
    _check(operator, changes, {*_FREE, *status, "version"})


def rules_of(snapshot: CampaignSnapshot) -> tuple[Change, ...]:
    """Return the rules that an approver of cash sees; the approval is of these alone."""
    plan = snapshot.campaign
    rules: dict[str, object] = {
        "audience_mode": snapshot.audience_mode,
        "required_claims": plan.required_claims,
        "starts_at_ms": plan.starts_at_ms,
        "ends_at_ms": plan.ends_at_ms,
        "miss_weight": plan.miss_weight,
        "when_sold_out": plan.when_sold_out,
        "passphrase": plan.passphrase,
        "rules": asdict(plan.rules),
    }
    return tuple(replace(each, before=each.after) for each in changes_between(None, rules))


def _check(operator: Operator, changes: Iterable[Change], free: set[str]) -> None:
    if any(change.field not in free for change in changes):
        operator.require(Duty.TREASURY)
