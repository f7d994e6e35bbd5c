"""Validation of the cache's answer to a draw: accept it, refuse, or repair the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.domain.errors import InvariantViolated, NotInAudience
from redpacket.domain.lottery import Draw, DrawStatus, attempts_left, choose, has_prizes
from redpacket.flows.campaigns.correct_cache import correct_player, load_alone, undo
from redpacket.flows.campaigns.refuse_draw import NOT_FOR_YOU, REFUSALS, audience_of, refuse

if TYPE_CHECKING:
    from redpacket.domain.lottery import DrawAsk, DrawOutcome, LotterySnapshot, Prize
    from redpacket.flows.campaigns.draw_ports import DrawPorts, Try


def judge_answer(
    tried: Try, outcome: DrawOutcome, table: LotterySnapshot, ports: DrawPorts
) -> tuple[Draw, LotterySnapshot] | None:
    """Return the draw to write and its table, or None after repairing the cache.

    Raises the cache's refusal if it is right.
    """
    ask = tried.ask
    if outcome.status is DrawStatus.CAMPAIGN_NOT_LOADED:
        load_alone(ask.campaign_id, ports)
        return None
    if outcome.status is DrawStatus.WRONG_DAY:
        return None
    decided_by = table_of(ask, outcome, table, ports)
    if decided_by and outcome.status in REFUSALS:
        _check_refusal(tried, outcome.status, decided_by, ports)
        return None
    if decided_by is None or _is_owed_a_prize(tried, outcome, decided_by, ports):
        return None
    if audience_of(decided_by) != tried.audience:
        # The audience was edited: check the user again.
        undo(ask, ports, is_unit_free=True)
        return None
    if outcome.prize_id and ports.risk and not ports.risk.allows(tried.drawer):
        # The host is not asked about a miss. The draw keeps its number and point.
        undo(ask, ports, is_unit_free=True)
        raise NotInAudience(NOT_FOR_YOU)
    return _decided(tried, outcome, decided_by, ports), decided_by


def _check_refusal(
    tried: Try, status: DrawStatus, table: LotterySnapshot, ports: DrawPorts
) -> None:
    """Raise the cache's refusal, unless the user has more attempts than the cache counted."""
    rules = table.campaign.rules
    if status is DrawStatus.ATTEMPTS_EXHAUSTED and attempts_left(rules, tried.attempt.player) != 0:
        player = correct_player(tried.ask, ports)
        if attempts_left(rules, player) != 0:
            return
    refuse(status)


def table_of(
    ask: DrawAsk, outcome: DrawOutcome, table: LotterySnapshot, ports: DrawPorts
) -> LotterySnapshot | None:
    """Return the table behind the cache's decision, or None if the ledger's differs."""
    if outcome.table_version > table.version:
        table = ports.tables.recall(ask.campaign_id, version_min=outcome.table_version)
    if outcome.table_version >= table.version:
        return table
    # The cache lacks an edit. No user saw this outcome yet, so it is decided again. A refusal
    # decided nothing, and the cache may still have the user's durable draw.
    if outcome.status not in REFUSALS:
        ports.claim_cache.undo(ask, is_unit_free=True)
    load_alone(ask.campaign_id, ports)
    return None


def _is_owed_a_prize(
    tried: Try, outcome: DrawOutcome, table: LotterySnapshot, ports: DrawPorts
) -> bool:
    """Return whether a guaranteed prize is due after this miss, and repair a wrong count."""
    owed_after = table.campaign.rules.guaranteed_after_misses
    if outcome.status is not DrawStatus.MISSED or not owed_after:
        return False
    if not has_prizes(outcome.odds) or tried.attempt.player.miss_streak < owed_after:
        return False
    undo(tried.ask, ports, is_unit_free=True)
    return True


def _decided(tried: Try, outcome: DrawOutcome, table: LotterySnapshot, ports: DrawPorts) -> Draw:
    ask = tried.ask
    if choose(outcome.odds, ask.point) != outcome.prize_id:
        raise InvariantViolated(
            f"draw {ask.draw_id} of {ask.campaign_id} is not what its odds and point make of it"
        )
    return Draw(
        campaign_id=ask.campaign_id,
        user_id=ask.user_id,
        draw_id=ask.draw_id,
        day=ask.day.name,
        draw_no=tried.attempt.draw_no,
        drawn_at_ms=ports.clock.now_ms(),
        point=ask.point,
        odds=outcome.odds,
        table_version=outcome.table_version,
        prize=_prize_of(outcome, table) if outcome.prize_id else None,
        unit_no=outcome.unit_no,
        day_no=outcome.day_no,
        beacon_round=tried.round.round_no if tried.round else None,
    )


def _prize_of(outcome: DrawOutcome, table: LotterySnapshot) -> Prize:
    for prize in table.prizes:
        if prize.prize_id == outcome.prize_id:
            return prize
    raise InvariantViolated(
        f"the cache has prize {outcome.prize_id}, which table {table.version} lacks"
    )
