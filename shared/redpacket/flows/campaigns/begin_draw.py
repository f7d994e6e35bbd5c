"""Begin a draw that takes a round of the beacon of its own: what decides it is durable before it.

Who knows the day's seed knows no point before the round, and after it nothing is left to choose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redpacket.domain.errors import BeaconPending, CampaignEnded, InvariantViolated, Unavailable
from redpacket.domain.lottery import BegunDraw, DrawAsk, DrawStatus, draw_id_of
from redpacket.flows.campaigns.correct_cache import load_alone
from redpacket.flows.campaigns.judge_answer import table_of
from redpacket.flows.campaigns.refuse_draw import REFUSALS, refuse

if TYPE_CHECKING:
    from redpacket.domain.campaign import CampaignPlan
    from redpacket.domain.lottery import Attempt, DrawDay, LotterySnapshot
    from redpacket.flows.campaigns.draw_ports import DrawPorts

_WRITE_MS_MAX = 3_000
"""So late a draw may still be written after its round was named: half of `beacon.WAIT_MS`."""


def begin_draw(
    table: LotterySnapshot, user_id: str, attempt: Attempt, day: DrawDay, ports: DrawPorts
) -> BegunDraw | None:
    """Fix odds and round of the user's next draw; None where the cache has been corrected."""
    campaign_id = table.campaign.campaign_id
    draw_id = draw_id_of(campaign_id, user_id, day.name, attempt.draw_no)
    # Its point is not known before its round.
    ask = DrawAsk(campaign_id, user_id, draw_id, day, point=0)
    outcome = ports.claim_cache.weigh(ask, attempt.player)
    if outcome.status is DrawStatus.CAMPAIGN_NOT_LOADED:
        load_alone(campaign_id, ports)
        return None
    if outcome.status is DrawStatus.WRONG_DAY:
        return None
    decided_by = table_of(ask, outcome, table, ports)
    if decided_by is None:
        return None
    if outcome.status in REFUSALS:
        refuse(outcome.status)
    return _fix(
        decided_by.campaign,
        BegunDraw(
            campaign_id=campaign_id,
            user_id=user_id,
            day=day.name,
            draw_no=attempt.draw_no,
            attempted_at_ms=0,
            beacon_round=0,
            odds=outcome.odds,
            table_version=outcome.table_version,
        ),
        day,
        ports,
    )


def _fix(campaign: CampaignPlan, planned: BegunDraw, day: DrawDay, ports: DrawPorts) -> BegunDraw:
    """Fix the round of *planned* and all the rest; return what is fixed, if others were faster.

    Raises CampaignEnded and BeaconPending where its round would come too late: after the
    campaign, or after the day, when it would be void.
    """
    if campaign.beacon is None:
        raise InvariantViolated(f"{campaign.campaign_id} draws without a beacon")
    chain = campaign.beacon.chain
    rounds = ports.new_rounds(chain)
    at_ms = rounds.committed_at_ms()
    named_at_ms = ports.clock.now_ms()
    round_no = campaign.beacon.round_of_draw(at_ms)
    due_ms = chain.time_ms(round_no)
    if due_ms >= campaign.ends_at_ms:
        raise CampaignEnded("the campaign ends before the round of another draw")
    if due_ms >= day.ends_at_ms:
        raise BeaconPending(
            "the day ends before the round of another draw",
            retry_after_s=-(-(day.ends_at_ms - ports.clock.now_ms()) // 1000),
        )
    rounds.want(round_no)
    if ports.clock.now_ms() - named_at_ms > _WRITE_MS_MAX:
        raise Unavailable("the round was not asked for in time")
    return ports.draws.begin_draw(replace(planned, attempted_at_ms=at_ms, beacon_round=round_no))
