"""Begin a draw that takes a round of the beacon of its own: what decides it is durable before it.

Who knows the day's seed knows no point before the round, and after it nothing is left to choose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redpacket.domain.errors import BeaconPending, CampaignEnded, InvariantViolated, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.domain.beacon import BeaconChain
    from redpacket.domain.campaign import CampaignPlan
    from redpacket.domain.lottery import BegunDraw, DrawDay
    from redpacket.flows.beacon.new_rounds import NewRounds
    from redpacket.ports.campaigns import Draws
    from redpacket.ports.runtime import Clock

_WRITE_MS_MAX = 3_000
"""So late a draw may still be written after its round was named: half of `beacon.WAIT_MS`."""


def begin_draw(
    campaign: CampaignPlan,
    planned: BegunDraw,
    day: DrawDay,
    *,
    draws: Draws,
    new_rounds: Callable[[BeaconChain], NewRounds],
    clock: Clock,
) -> BegunDraw:
    """Fix the round of *planned* and all the rest; return what is fixed, if others were faster.

    Raises CampaignEnded and BeaconPending where its round would come too late: after the
    campaign, or after the day, when it would be void.
    """
    if campaign.beacon is None:
        msg = f"{campaign.campaign_id} draws without a beacon"
        raise InvariantViolated(msg)
    chain = campaign.beacon.chain
    rounds = new_rounds(chain)
    at_ms = rounds.committed_at_ms()
    named_at_ms = clock.now_ms()
    round_no = campaign.beacon.round_of_draw(at_ms)
    due_ms = chain.time_ms(round_no)
    if due_ms >= campaign.ends_at_ms:
        raise CampaignEnded("the campaign ends before the round of another draw")
    if due_ms >= day.ends_at_ms:
        msg = "the day ends before the round of another draw"
        raise BeaconPending(msg, retry_after_s=-(-(day.ends_at_ms - clock.now_ms()) // 1000))
    rounds.want(round_no)
    if clock.now_ms() - named_at_ms > _WRITE_MS_MAX:
        raise Unavailable("the round was not asked for in time")
    return draws.begin_draw(replace(planned, attempted_at_ms=at_ms, beacon_round=round_no))
