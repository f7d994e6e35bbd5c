"""Durable write of a draw and all that it consumes, or repair of the cache."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignEnded
from redpacket.lottery.model.lottery import (
    DrawStatus,
    PlayerState,
    PrizeKind,
    RecordDrawStatus,
    draw_day,
    draw_id_of,
    unit_share,
)
from redpacket.lottery.use_cases.eligibility import refuse
from redpacket.lottery.use_cases.load_campaign import load_campaign
from redpacket.lottery.use_cases.repair_cache import undo
from redpacket.platform.errors import Unavailable

if TYPE_CHECKING:
    from redpacket.lottery.model.lottery import CampaignSnapshot, Draw, DrawRequest
    from redpacket.lottery.use_cases.draw_ports import DrawContext, DrawPorts

_REPEATED_WITHIN_MS = 3_600_000
"""Milliseconds after midnight in which users may retry an attempt of the day before."""


def record_draw(
    context: DrawContext, draw: Draw, table: CampaignSnapshot, ports: DrawPorts
) -> Draw | None:
    """Write the draw and all that it consumes, or return None after repairing the cache."""
    ask = context.ask
    recorded = ports.draws.record_draw(draw, table.campaign.rules, context.key_hash, context.drawer)
    if recorded is RecordDrawStatus.RECORDED:
        if draw.prize:
            ports.logger.count("won")
        _queue_payout(draw, ports)
        _forget_yesterdays(ask, table, ports)
        return draw
    if recorded in {RecordDrawStatus.DRAWN_BEFORE, RecordDrawStatus.NUMBER_TAKEN}:
        # A concurrent request of the user won: the next try finds its draw or the next number.
        _keep_what_is_durable(draw, ask, ports)
        return None
    ports.logger.event(
        "draw_corrected", campaign_id=ask.campaign_id, draw_id=ask.draw_id, reason=str(recorded)
    )
    is_lost = recorded in {RecordDrawStatus.UNIT_TAKEN, RecordDrawStatus.UNIT_REFUNDED}
    undo(ask, ports, is_unit_free=not is_lost)
    is_over = ports.clock.now_ms() >= table.campaign.ends_at_ms
    if recorded is RecordDrawStatus.UNIT_REFUNDED and is_over:
        raise CampaignEnded
    if recorded is RecordDrawStatus.ATTEMPTS_EXHAUSTED:
        refuse(DrawStatus.ATTEMPTS_EXHAUSTED)
    if recorded is RecordDrawStatus.WON_BEFORE and draw.prize:
        ports.claim_cache.mark_winner(ask, draw.prize.prize_id)
    if is_lost:
        # The units were refunded before the campaign's end was extended.
        load_campaign(
            ask.campaign_id, draws=ports.draws, claim_cache=ports.claim_cache, clock=ports.clock
        )
    return None


def _keep_what_is_durable(draw: Draw, ask: DrawRequest, ports: DrawPorts) -> None:
    """Undo the cache's decision for this number, unless that decision became durable."""
    durable = ports.draws.find_draw(draw.campaign_id, draw.user_id, draw.draw_id)
    if durable is None or _used_up(durable) != _used_up(draw):
        undo(ask, ports, is_unit_free=True)


def _used_up(draw: Draw) -> tuple[str | None, int, int]:
    return draw.prize.prize_id if draw.prize else None, draw.unit_no, draw.day_no


def _forget_yesterdays(ask: DrawRequest, table: CampaignSnapshot, ports: DrawPorts) -> None:
    """Offer a unit again that an attempt took before midnight and lost.

    If that attempt still becomes durable, the next winner of the unit gets another one.
    """
    if ports.clock.now_ms() - ask.day.starts_at_ms >= _REPEATED_WITHIN_MS:
        return
    day = draw_day(table.campaign, ask.day.starts_at_ms - 1)
    try:
        attempt = PlayerState(ports.draws.find_player(ask.campaign_id, ask.user_id, day.name))
        draw_id = draw_id_of(ask.campaign_id, ask.user_id, day.name, attempt.draw_no)
        ports.claim_cache.undo(replace(ask, day=day, draw_id=draw_id), is_unit_free=True)
    except Unavailable as error:
        # The user's draw is durable.
        ports.logger.failure("draw_not_forgotten", error, campaign_id=ask.campaign_id)


def _queue_payout(draw: Draw, ports: DrawPorts) -> None:
    if not draw.prize or draw.prize.kind is not PrizeKind.PACKET:
        return
    ref = unit_share(draw.prize, draw.unit_no)
    try:
        ports.payouts.put([ref])
    except Unavailable as error:
        # The share's row is the outbox: the sweep queues it again within two minutes.
        ports.logger.failure("payout_not_queued", error, packet_id=ref.packet_id)
