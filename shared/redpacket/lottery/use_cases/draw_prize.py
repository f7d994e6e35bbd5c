"""Draw (抽): the cache chooses, the ledger makes the draw durable, and the user gets the outcome.

If the cache and the ledger disagree after a failover or crash, the ledger wins, and the cache is
repaired.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignNotStarted, NotInAudience
from redpacket.campaigns.model import AudienceMode, CampaignStatus, meets
from redpacket.lottery.model.lottery import (
    DrawRequest,
    attempts_left,
    draw_day,
    draw_id_of,
    wins_left,
)
from redpacket.lottery.model.odds import draw_point
from redpacket.lottery.use_cases.draw_attempt import REFUSALS, DrawAttempt
from redpacket.platform.bounds import CLOCKS_DIFFER_MS
from redpacket.platform.errors import Unavailable

if TYPE_CHECKING:
    from redpacket.campaigns.model import DrawRules
    from redpacket.lottery.model.lottery import (
        CampaignSnapshot,
        Draw,
        DrawStatus,
        Player,
        PlayerState,
    )
    from redpacket.lottery.use_cases.draw_attempt import DrawPorts
    from redpacket.platform.user import User

_TRIES = 4
"""Maximum tries per draw. Each repair fixes the cache for this user, so a second repair is rare."""


@dataclass(frozen=True, slots=True)
class DrawResult:
    """Result for the user, with today's remaining attempts and wins; None means no limit."""

    draw: Draw
    attempts_left: int | None
    wins_left: int | None


def draw_prize(campaign_id: str, drawer: User, key_hash: str, *, ports: DrawPorts) -> DrawResult:
    """Return the draw for this user and key; a retry returns the same draw.

    The key does not influence the point, which depends on the user's draw number. Raises
    CampaignNotFound, CampaignNotStarted, CampaignEnded, CampaignPaused, NotInAudience,
    AttemptsExhausted. After Unavailable the outcome is unknown; a retry returns it.
    """
    status: DrawStatus | None = None
    ports.logger.count("tried")
    for _ in range(_TRIES):
        # Read the snapshot for each try: the draw cache may have a newer one, and the day may end.
        snapshot = _started_snapshot(campaign_id, ports)
        campaign, asks_audience = snapshot.campaign, snapshot.audience_mode is not None
        day = draw_day(campaign, ports.clock.now_ms())
        state = ports.draws.find_attempt(
            campaign_id, drawer.user_id, key_hash, day.name, asks_audience=asks_audience
        )
        if state.before:
            return _result(state.before, campaign.rules, state.player)
        _check_audience(snapshot, drawer, state, ports)
        seed = ports.snapshots.seed(campaign_id, day.name)
        point = draw_point(seed, campaign_id, drawer.user_id, state.draw_no)
        draw_id = draw_id_of(campaign_id, drawer.user_id, day.name, state.draw_no)
        request = DrawRequest(campaign_id, drawer.user_id, draw_id, day, point)
        outcome = ports.draw_cache.draw(request)
        status = outcome.status
        attempt = DrawAttempt(drawer, key_hash, snapshot, state, request, ports)
        if draw := attempt.commit(outcome):
            before = state.player
            after = replace(
                before,
                attempt_count=before.attempt_count + 1,
                win_count=before.win_count + (draw.prize is not None),
            )
            return _result(draw, campaign.rules, after)
    if status in REFUSALS:
        raise REFUSALS[status]
    raise Unavailable("The draw is being repaired. Try again.")


def _result(draw: Draw, rules: DrawRules, player: Player) -> DrawResult:
    return DrawResult(draw, attempts_left(rules, player), wins_left(rules, player))


def _started_snapshot(campaign_id: str, ports: DrawPorts) -> CampaignSnapshot:
    """Return the snapshot. Raises CampaignNotStarted well before the start, if the cache is loaded.

    The refusal reads no user's rows. Within CLOCKS_DIFFER_MS of the start, the cache's clock
    decides.
    """
    snapshot = ports.snapshots.get(campaign_id)
    if _is_long_before(snapshot, ports):
        version = ports.draw_cache.find_version(campaign_id)
        if version is not None:
            snapshot = ports.snapshots.get(campaign_id, version_min=version)
            if _is_long_before(snapshot, ports):
                raise CampaignNotStarted
    return snapshot


def _is_long_before(snapshot: CampaignSnapshot, ports: DrawPorts) -> bool:
    return ports.clock.now_ms() < snapshot.campaign.starts_at_ms - CLOCKS_DIFFER_MS


def _check_audience(
    snapshot: CampaignSnapshot, drawer: User, state: PlayerState, ports: DrawPorts
) -> None:
    """Reject denied users and users outside the audience, unless the campaign is off or over."""
    campaign, mode = snapshot.campaign, snapshot.audience_mode
    if campaign.status is CampaignStatus.OFF or ports.clock.now_ms() >= campaign.ends_at_ms:
        return
    is_in = mode is None or state.is_member is (mode is AudienceMode.ALLOW)
    is_denied = ports.clock.now_ms() < state.denied_until_ms
    if is_denied or not is_in or not meets(campaign.required_claims, drawer.claims):
        raise NotInAudience
