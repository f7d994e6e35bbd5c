"""Draw (抽): the cache chooses, the ledger makes it durable, then the user gets the outcome.

If the two disagree after a failover or crash, the ledger wins and the cache is repaired.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redpacket.fairness.use_cases.cached_rounds import RoundPendingError
from redpacket.lottery.errors import DayNotStarted
from redpacket.lottery.model.lottery import (
    DrawRequest,
    attempts_left,
    check_is_giving,
    draw_day,
    draw_id_of,
    is_giving,
)
from redpacket.lottery.model.odds import NO_BEACON, draw_point
from redpacket.lottery.use_cases.draw_ports import DrawContext
from redpacket.lottery.use_cases.eligibility import (
    REFUSALS,
    audience_of,
    check_audience,
    refuse,
    started_table,
)
from redpacket.lottery.use_cases.record_draw import record_draw
from redpacket.lottery.use_cases.validate_draw import validate_draw
from redpacket.platform.errors import Unavailable

if TYPE_CHECKING:
    from redpacket.campaigns.model import CampaignPlan
    from redpacket.fairness.model.beacon import BeaconRound, CampaignBeacon
    from redpacket.fairness.model.days import DrawDay
    from redpacket.lottery.model.lottery import (
        CampaignSnapshot,
        Draw,
        DrawStatus,
        Player,
        PlayerState,
    )
    from redpacket.lottery.use_cases.draw_ports import DrawPorts
    from redpacket.platform.user import User

_TRIES = 4
"""Tries per draw. Each repair fixes the cache for this user, so a second is rare."""


@dataclass(frozen=True, slots=True)
class DrawResult:
    """Result for the user; *attempts_left* today is None without a limit."""

    draw: Draw
    attempts_left: int | None


def draw_prize(campaign_id: str, drawer: User, key_hash: str, *, ports: DrawPorts) -> DrawResult:
    """Return the draw of this user and key, always the same one.

    No key changes the point of the user's next draw number. Raises CampaignNotFound,
    CampaignNotStarted, CampaignEnded, CampaignPaused, NotInAudience, AttemptsExhausted,
    DayNotStarted. After Unavailable the outcome is unknown; a retry returns it.
    """
    status: DrawStatus | None = None
    ports.logger.count("tried")
    for _ in range(_TRIES):
        # Read in every try: the cache may be on the next day or have a newer table.
        table = started_table(campaign_id, ports)
        day = draw_day(table.campaign, ports.clock.now_ms())
        round_ = _round_of(table.campaign, day, ports)
        attempt = ports.draws.find_attempt(
            campaign_id,
            drawer.user_id,
            key_hash,
            day.name,
            asks_audience=table.audience_mode is not None,
        )
        if attempt.before:
            return DrawResult(attempt.before, attempts_left(table.campaign.rules, attempt.player))
        if table.campaign.beacon and round_ is None:
            check_is_giving(table.campaign, ports.clock.now_ms())
            _recall_round(table.campaign.beacon, day, ports)
            continue
        check_audience(table, drawer, attempt, ports)
        ask = _ask(table, drawer.user_id, attempt, day, round_, ports)
        context = DrawContext(drawer, key_hash, attempt, ask, round_, audience_of(table))
        outcome = ports.claim_cache.draw(ask)
        status = outcome.status
        decision = validate_draw(context, outcome, table, ports)
        draw = record_draw(context, *decision, ports) if decision else None
        if draw:
            return DrawResult(draw, _attempts_left_after(attempt.player, table))
    if status in REFUSALS:
        refuse(status)
    raise Unavailable("The draw is being repaired. Try again.")


def _round_of(campaign: CampaignPlan, day: DrawDay, ports: DrawPorts) -> BeaconRound | None:
    """Return the day's beacon round; a missing one does not hide draws of an earlier day.

    Before the campaign's first round no draw exists, so waiting users cause no reads.
    """
    if campaign.beacon is None:
        return None
    try:
        return _recall_round(campaign.beacon, day, ports)
    except (DayNotStarted, Unavailable):
        is_first_day = day.starts_at_ms <= campaign.starts_at_ms
        if is_first_day and is_giving(campaign, ports.clock.now_ms()):
            raise
        return None


def _recall_round(beacon: CampaignBeacon, day: DrawDay, ports: DrawPorts) -> BeaconRound:
    try:
        return ports.rounds.get(beacon.chain, beacon.round_of(day.starts_at_ms))
    except RoundPendingError as pending:
        raise DayNotStarted(pending.wait_s) from pending


def _ask(
    table: CampaignSnapshot,
    user_id: str,
    attempt: PlayerState,
    day: DrawDay,
    round_: BeaconRound | None,
    ports: DrawPorts,
) -> DrawRequest:
    campaign_id, draw_no = table.campaign.campaign_id, attempt.draw_no
    seed = ports.tables.seed(campaign_id, day.name)
    randomness = round_.randomness if round_ else NO_BEACON
    point = draw_point(seed, campaign_id, user_id, draw_no, randomness)
    draw_id = draw_id_of(campaign_id, user_id, day.name, draw_no)
    return DrawRequest(campaign_id, user_id, draw_id, day, point)


def _attempts_left_after(player: Player, table: CampaignSnapshot) -> int | None:
    after = replace(player, attempt_count=player.attempt_count + 1)
    return attempts_left(table.campaign.rules, after)
