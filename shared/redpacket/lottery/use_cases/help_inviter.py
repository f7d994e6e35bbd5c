"""Help (助力): a friend enters a campaign's passphrase and gives the inviter one more draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.campaigns.model import CampaignPlan
from redpacket.lottery.errors import HelpQuotaExhausted, SelfHelp
from redpacket.lottery.model.lottery import (
    DrawRequest,
    HelpStatus,
    Player,
    attempts_left,
    check_is_giving,
    draw_day,
)
from redpacket.lottery.use_cases.cached_snapshots import CachedSnapshots
from redpacket.operations.model.limits import PASSPHRASE_TRIES
from redpacket.operations.ports import Limits
from redpacket.operations.use_cases.limit_rate import require_rate
from redpacket.packets.errors import PassphraseMismatch
from redpacket.packets.model.passphrase import THRESHOLD_DEFAULT, is_alike, is_exact
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import Clock, EventLogger

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.draws import DynamoDraws
    from redpacket.lottery.ports import DrawCache
    from redpacket.packets.ports import Phrases


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpPorts:
    """Dependencies of a help."""

    draw_cache: DrawCache
    draws: DynamoDraws
    snapshots: CachedSnapshots
    phrases: Phrases
    limits: Limits
    clock: Clock
    logger: EventLogger


@dataclass(frozen=True, slots=True)
class Helped:
    """Result for the helper, with the inviter's *attempts_left* today, or None without a limit."""

    status: HelpStatus
    attempts_left: int | None


def help_inviter(
    campaign_id: str, helper_id: str, inviter_id: str, phrase: str, *, ports: HelpPorts
) -> Helped:
    """Give the inviter one more attempt today, once per inviter and helper in a campaign.

    Raises CampaignNotFound, CampaignNotStarted, CampaignEnded, CampaignPaused, SelfHelp,
    PassphraseMismatch, RateLimited, HelpQuotaExhausted.
    """
    campaign = ports.snapshots.get(campaign_id).campaign
    now_ms = ports.clock.now_ms()
    check_is_giving(campaign, now_ms)
    if inviter_id == helper_id:
        raise SelfHelp
    _check_phrase(campaign, helper_id, phrase, ports)
    day = draw_day(campaign, now_ms)
    rules = campaign.rules
    if not rules.helps_per_user_per_day or not rules.helps_given_per_user_per_day:
        raise HelpQuotaExhausted("This campaign does not offer helps.")
    status = ports.draws.record_help(campaign_id, inviter_id, helper_id, day.name, rules, now_ms)
    if status is HelpStatus.HELPS_EXHAUSTED:
        raise HelpQuotaExhausted
    if status is HelpStatus.GIVEN_EXHAUSTED:
        raise HelpQuotaExhausted
    # A retry also updates the cache, because the first call may have failed before its update.
    player = ports.draws.find_player(campaign_id, inviter_id, day.name)
    _update_cache(DrawRequest(campaign_id, inviter_id, "", day, 0), player, ports)
    return Helped(status, attempts_left(campaign.rules, player))


def _check_phrase(campaign: CampaignPlan, helper_id: str, phrase: str, ports: HelpPorts) -> None:
    if campaign.passphrase is None:
        raise PassphraseMismatch
    # Reject the guess if the cache can't count it.
    require_rate(PASSPHRASE_TRIES, f"{helper_id}:{campaign.campaign_id}", limits=ports.limits)
    wanted = campaign.passphrase
    if not is_exact(phrase, wanted, ports.phrases.simplified) and not is_alike(
        phrase, wanted, THRESHOLD_DEFAULT, ports.phrases.similarity
    ):
        raise PassphraseMismatch


def _update_cache(request: DrawRequest, player: Player, ports: HelpPorts) -> None:
    try:
        ports.draw_cache.set_player(request, player)
    except Unavailable as error:
        # Ignore the failure: if the cache later refuses a draw, the ledger verifies the refusal.
        ports.logger.failure("player_not_corrected", error, campaign_id=request.campaign_id)
