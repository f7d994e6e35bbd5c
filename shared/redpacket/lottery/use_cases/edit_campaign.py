"""Creation and edits of campaigns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from redpacket.campaigns.model import Campaign, CampaignPlan
from redpacket.campaigns.use_cases.cached_campaigns import get_campaign
from redpacket.lottery.model.lottery import CODES_KEPT_MS, CampaignSnapshot, check_version
from redpacket.lottery.use_cases.cash_rules import spend_on
from redpacket.lottery.use_cases.load_campaign import LoadPorts
from redpacket.operations.model.allowances import Allowance
from redpacket.operations.model.operators import (
    Action,
    ActionKind,
    Change,
    Duty,
    Operator,
    campaign_subject,
    changes_between,
)
from redpacket.operations.use_cases.approval_policy import ApprovalPolicy
from redpacket.packets.model.packet import PacketStatus
from redpacket.packets.ports import PacketScheduler
from redpacket.platform.errors import Contended, InvalidRequest
from redpacket.platform.runtime import Clock

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
    from redpacket.lottery.dynamodb.prizes import DynamoPrizes

_AT_ONCE = 100

_TRIES = 4

_HIDDEN = "..."
"""Text that replaces a passphrase in the audit log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignPorts:
    """Dependencies of campaign edits."""

    campaigns: DynamoEditedCampaigns
    prizes: DynamoPrizes
    packets: PacketScheduler
    clock: Clock
    approval_policy: ApprovalPolicy
    load: LoadPorts


def edit_campaign(
    plan: CampaignPlan,
    budget_fen: int | None,
    version: int | None,
    operator: Operator,
    *,
    ports: CampaignPorts,
) -> tuple[Campaign, bool]:
    """Write *plan*; return the campaign and whether it is new.

    If *version* is None, the version check is skipped; if *budget_fen* is None, the budget is kept.
    An interrupted edit may leave cash prizes that end later than the campaign, but never earlier.
    Raises Forbidden, ApprovalNeededError, VersionConflict, and InvalidRequest for a budget below
    the money in packets, a changed time zone, or an end too late for codes or for closed cash.
    """
    campaigns, prizes, packets, clock = ports.campaigns, ports.prizes, ports.packets, ports.clock
    for _ in range(_TRIES):
        # Read the snapshot before the campaign, so that a concurrent edit fails the version check.
        snapshot = prizes.find_snapshot(plan.campaign_id)
        before = campaigns.find_campaign(plan.campaign_id)
        if before is None:
            check_version(version, None, "campaign")
            created = _edited(plan, budget_fen, None)
            _check_duties(operator, created, None)
            action = _action(operator, created, None, clock)
            spent = _spend(operator, created, None, action, ports)
            if campaigns.create(created, action, spent):
                return get_campaign(plan.campaign_id, campaigns=campaigns), True
            continue
        is_done = _is_made(plan, budget_fen, version, before)
        if not is_done:
            check_version(version, before, "campaign")
            after = _edited(plan, budget_fen, before)
            _check_duties(operator, after, before)
            action = _action(operator, after, before, clock)
            spent = _spend(operator, after, before, action, ports, snapshot)
            if snapshot and snapshot.prizes:
                _check_timezone(after, before)
                _check_codes_last(snapshot, after)
                _keep_cash(snapshot, after, before, prizes, packets)
            is_done = campaigns.edit(after, before, action, spent, snapshot)
        _end_with_campaign(plan.campaign_id, prizes, packets)
        if is_done:
            return get_campaign(plan.campaign_id, campaigns=campaigns), False
    raise Contended


def end_now(plan: CampaignPlan, *, ports: CampaignPorts) -> CampaignPlan:
    """Return *plan* with an end that is not in the future; an ended campaign keeps its end.

    Raises InvalidRequest before the campaign's start.
    """
    before = ports.campaigns.find_campaign(plan.campaign_id)
    ends_at_ms = min(ports.clock.now_ms(), (before or plan).ends_at_ms)
    if ends_at_ms <= plan.starts_at_ms:
        message = "needs a campaign that has started. Set status to off instead"
        raise InvalidRequest.of("end_now", message)
    return replace(plan, ends_at_ms=ends_at_ms)


def _end_with_campaign(campaign_id: str, prizes: DynamoPrizes, packets: PacketScheduler) -> None:
    """Give cash prizes the campaign's newest end, even if another operator set it."""
    if snapshot := prizes.find_snapshot(campaign_id):
        for packet_id in _packet_ids(snapshot):
            packets.reschedule(packet_id, snapshot.campaign.ends_at_ms, snapshot.version)


def _keep_cash(
    snapshot: CampaignSnapshot,
    after: Campaign,
    before: Campaign,
    prizes: DynamoPrizes,
    packets: PacketScheduler,
) -> None:
    """Extend cash prizes before writing a later end, so that no interruption ends them early."""
    packet_ids = list(_packet_ids(snapshot))
    if after.ends_at_ms <= before.ends_at_ms or not packet_ids:
        return
    _check_cash_is_there(packet_ids, packets)
    for packet_id in packet_ids:
        packets.reschedule(packet_id, after.ends_at_ms, snapshot.version + 1, only_later=True)
    try:
        _check_cash_is_there(packet_ids, packets)
    except InvalidRequest:
        # A cash prize closed in the meantime, so the edit fails: undo the extensions.
        for packet_id in packet_ids:
            packets.reschedule(packet_id, before.ends_at_ms, snapshot.version + 1)
        _end_with_campaign(snapshot.campaign.campaign_id, prizes, packets)
        raise


def _check_codes_last(snapshot: CampaignSnapshot, after: Campaign) -> None:
    last_ms = min(
        (prize.codes_until_ms for prize in snapshot.prizes if prize.codes_until_ms), default=None
    )
    if last_ms is not None and after.ends_at_ms + CODES_KEPT_MS > last_ms:
        gone = f"can't be later than {last_ms - CODES_KEPT_MS}, because prize codes expire"
        raise InvalidRequest.of("ends_at_ms", gone)


def _check_cash_is_there(packet_ids: Sequence[str], packets: PacketScheduler) -> None:
    for start in range(0, len(packet_ids), _AT_ONCE):
        for packet in packets.list_packets(packet_ids[start : start + _AT_ONCE]):
            if packet.status is not PacketStatus.OPEN and not packet.is_emptied:
                gone = "can't be later: the cash prizes are closed. Create a new campaign"
                raise InvalidRequest.of("ends_at_ms", gone)


def _check_timezone(after: Campaign, before: Campaign) -> None:
    # With another time zone, the proof could reveal a seed that is still in use.
    if after.timezone != before.timezone:
        kept = f"never changes once there are prizes: it is {before.timezone}"
        raise InvalidRequest.of("timezone", kept)


def _packet_ids(snapshot: CampaignSnapshot) -> Iterator[str]:
    return (packet_id for prize in snapshot.prizes for packet_id, _ in prize.packets)


def _is_made(
    plan: CampaignPlan, budget_fen: int | None, version: int | None, campaign: Campaign
) -> bool:
    """Return whether this call is a retry: this edit of *version* was already applied."""
    return (
        version is not None
        and campaign.version == version + 1
        and _planned(campaign) == _planned(plan)
        and budget_fen in {None, campaign.budget_fen}
    )


def _action(operator: Operator, after: Campaign, before: Campaign | None, clock: Clock) -> Action:
    facts = [
        {**asdict(campaign), "budget_left_fen": None, "first_starts_at_ms": None}
        if campaign
        else None
        for campaign in (before, after)
    ]
    return Action(
        operator.person,
        ActionKind.CAMPAIGN_EDITED,
        campaign_subject(after.campaign_id),
        clock.now_ms(),
        tuple(map(_without_passphrase, changes_between(facts[0], facts[1] or {}))),
    )


def _without_passphrase(change: Change) -> Change:
    """Return a change without the passphrase's text, because many people read the audit log."""
    if change.field != "passphrase":
        return change
    return Change(change.field, change.before and _HIDDEN, change.after and _HIDDEN)


def _spend(
    operator: Operator,
    after: Campaign,
    before: Campaign | None,
    action: Action,
    ports: CampaignPorts,
    snapshot: CampaignSnapshot | None = None,
) -> Allowance | None:
    had_fen, version = (before.budget_fen, before.version) if before else (0, 0)
    seen = snapshot or CampaignSnapshot(after.plan, (), 0)
    planned = replace(seen, campaign=after.plan)
    added_fen = max(0, after.budget_fen - had_fen)
    policy = ports.approval_policy
    return spend_on(seen, planned, operator, action.changes, policy, version, added_fen)


def _check_duties(operator: Operator, after: Campaign, before: Campaign | None) -> None:
    if before is None or _planned(after) != _planned(before):
        operator.require(Duty.OPERATE)
    if after.budget_fen != (before.budget_fen if before else 0):
        operator.require(Duty.TREASURY)


def _edited(plan: CampaignPlan, budget_fen: int | None, before: Campaign | None) -> Campaign:
    had_fen, left_fen, version = (
        (before.budget_fen, before.budget_left_fen, before.version) if before else (0, 0, 0)
    )
    budget_fen = had_fen if budget_fen is None else budget_fen
    left_fen += budget_fen - had_fen
    if left_fen < 0:
        spent = f"must be at least {budget_fen - left_fen}, the fen that are already in packets"
        raise InvalidRequest.of("budget_fen", spent)
    return Campaign(
        **_planned(plan),
        budget_fen=budget_fen,
        budget_left_fen=left_fen,
        version=version + 1,
        # Only edits of the audience list change its mode.
        audience_mode=before.audience_mode if before else None,
    )


def _planned(plan: CampaignPlan) -> dict[str, Any]:
    return {field.name: getattr(plan, field.name) for field in fields(CampaignPlan)}
