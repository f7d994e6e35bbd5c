"""Validation of the cache's answer to a draw: accept it, refuse, or repair the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.campaigns.errors import NotInAudience
from redpacket.campaigns.model import CampaignStatus
from redpacket.lottery.model.lottery import Draw, DrawStatus, attempts_left
from redpacket.lottery.model.odds import could_be, has_prizes, is_guaranteed
from redpacket.lottery.use_cases.eligibility import REFUSALS, audience_of, refuse
from redpacket.lottery.use_cases.repair_cache import correct_player, load_alone, undo
from redpacket.platform.clocks import CLOCKS_DIFFER_MS

if TYPE_CHECKING:
    from redpacket.lottery.model.lottery import CampaignSnapshot, DrawOutcome, DrawRequest
    from redpacket.lottery.use_cases.draw_ports import DrawContext, DrawPorts

_LATE_MS = 20_000
"""Maximum milliseconds from the cache's answer to its validation: timeout plus clock skew."""


def validate_draw(
    context: DrawContext, outcome: DrawOutcome, table: CampaignSnapshot, ports: DrawPorts
) -> tuple[Draw, CampaignSnapshot] | None:
    """Return the draw to write and its table, or None after repairing the cache.

    Raises the cache's refusal if it is right.
    """
    ask = context.ask
    if outcome.status is DrawStatus.CAMPAIGN_NOT_LOADED:
        load_alone(ask.campaign_id, ports)
        return None
    if outcome.status is DrawStatus.WRONG_DAY:
        return None
    decided_by = table_of(ask, outcome, table, ports)
    if decided_by and outcome.status in REFUSALS:
        _check_refusal(context, outcome.status, decided_by, ports)
        return None
    if decided_by is None or _is_altered(context, outcome, decided_by, ports):
        return None
    is_other_audience = audience_of(decided_by) != context.audience
    if is_other_audience or _has_other_misses(context, outcome, decided_by):
        # The audience was edited, so check the user again; or the cache lost or missed a draw.
        undo(ask, ports, is_unit_free=True)
        return None
    if outcome.prize_id and ports.risk and not ports.risk.allows(context.drawer):
        # Misses skip the risk check. The draw keeps its number and point.
        undo(ask, ports, is_unit_free=True)
        raise NotInAudience
    return _decided(context, outcome, decided_by, ports), decided_by


def _check_refusal(
    context: DrawContext, status: DrawStatus, table: CampaignSnapshot, ports: DrawPorts
) -> None:
    """Raise the cache's refusal, unless the user has more attempts than the cache counted."""
    rules = table.campaign.rules
    if (
        status is DrawStatus.ATTEMPTS_EXHAUSTED
        and attempts_left(rules, context.attempt.player) != 0
    ):
        player = correct_player(context.ask, ports)
        if attempts_left(rules, player) != 0:
            return
    refuse(status)


def table_of(
    ask: DrawRequest, outcome: DrawOutcome, table: CampaignSnapshot, ports: DrawPorts
) -> CampaignSnapshot | None:
    """Return the table behind the cache's decision, or None if the ledger's differs."""
    if outcome.table_version > table.version:
        table = ports.tables.get(ask.campaign_id, version_min=outcome.table_version)
    if outcome.table_version >= table.version:
        return table
    # The cache lacks an edit. No user saw this outcome yet, so it is decided again. A refusal
    # decided nothing, and the cache may still have the user's durable draw.
    if outcome.status not in REFUSALS:
        ports.claim_cache.undo(ask, is_unit_free=True)
    load_alone(ask.campaign_id, ports)
    return None


def _is_altered(
    context: DrawContext, outcome: DrawOutcome, table: CampaignSnapshot, ports: DrawPorts
) -> bool:
    """Drop the cached lottery and return True if its table does not allow the outcome."""
    now_ms, campaign = ports.clock.now_ms(), table.campaign
    is_on = campaign.status is CampaignStatus.ON and (
        campaign.starts_at_ms - CLOCKS_DIFFER_MS <= now_ms < campaign.ends_at_ms + _LATE_MS
    )
    if is_on and could_be(outcome, table, context.ask.point):
        return False
    ports.logger.event("campaign_altered", campaign_id=context.ask.campaign_id)
    ports.claim_cache.drop(context.ask)
    return True


def _has_other_misses(context: DrawContext, outcome: DrawOutcome, table: CampaignSnapshot) -> bool:
    """Return whether the ledger's count of misses disagrees about a guaranteed prize."""
    owed_after = table.campaign.rules.guaranteed_after_misses
    if not owed_after or not has_prizes(outcome.odds):
        return False
    if context.attempt.player.miss_streak >= owed_after:
        return outcome.status is DrawStatus.MISSED
    return is_guaranteed(outcome.odds, table)


def _decided(
    context: DrawContext, outcome: DrawOutcome, table: CampaignSnapshot, ports: DrawPorts
) -> Draw:
    ask = context.ask
    return Draw(
        campaign_id=ask.campaign_id,
        user_id=ask.user_id,
        draw_id=ask.draw_id,
        day=ask.day.name,
        draw_no=context.attempt.draw_no,
        drawn_at_ms=ports.clock.now_ms(),
        point=ask.point,
        odds=outcome.odds,
        table_version=outcome.table_version,
        prize=next((prize for prize in table.prizes if prize.prize_id == outcome.prize_id), None),
        unit_no=outcome.unit_no,
        day_no=outcome.day_no,
        beacon_round=context.round.round_no if context.round else None,
    )
