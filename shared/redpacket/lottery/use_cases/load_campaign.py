"""Loading of a lottery into the cache: before its start, after an edit or a cache loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.ports import CampaignRepository
from redpacket.lottery.model.lottery import CampaignSnapshot, draw_day
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import Clock, EventLogger

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.prizes import DynamoPrizes
    from redpacket.lottery.ports import DrawCache


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPorts:
    """Dependencies for reading a campaign and loading it into the cache."""

    campaigns: CampaignRepository
    prizes: DynamoPrizes
    draw_cache: DrawCache
    clock: Clock
    logger: EventLogger


def load_campaign(
    campaign_id: str, *, prizes: DynamoPrizes, draw_cache: DrawCache, clock: Clock
) -> CampaignSnapshot:
    """Replace the cached lottery but keep its players. Raises CampaignNotFound."""
    snapshot = prizes.find_snapshot(campaign_id)
    if snapshot is None:
        raise CampaignNotFound
    day = draw_day(snapshot.campaign, clock.now_ms())
    draw_cache.load(snapshot, day, prizes.list_stock(snapshot.prizes, day.name))
    return snapshot


def load_edited(campaign_id: str, *, ports: LoadPorts) -> None:
    """Load the ledger's state into the cache; an unavailable cache does not fail the edit."""
    try:
        load_campaign(
            campaign_id, prizes=ports.prizes, draw_cache=ports.draw_cache, clock=ports.clock
        )
    except Unavailable as error:
        ports.logger.failure("campaign_not_loaded", error, campaign_id=campaign_id)
