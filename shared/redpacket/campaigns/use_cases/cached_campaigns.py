"""Process cache of campaigns, because a crowd reads the same few campaigns."""

from __future__ import annotations

from redpacket.campaigns.model import Campaign
from redpacket.campaigns.ports import CampaignRepository
from redpacket.platform.errors import InvariantViolated
from redpacket.platform.process_cache import ProcessCache
from redpacket.platform.runtime import Clock, EventLogger

KEPT_MS = 4_000
"""Milliseconds until an operator's edit takes effect."""

_SIZE_MAX = 100


class CachedCampaigns:
    """Campaigns cached by this process; an old value is used while the store is unavailable."""

    def __init__(self, campaigns: CampaignRepository, *, clock: Clock, logger: EventLogger) -> None:
        self._campaigns = campaigns
        self._logger = logger
        self._cache: ProcessCache[str, Campaign] = ProcessCache(
            clock.now_ms, kept_ms=KEPT_MS, size_max=_SIZE_MAX
        )

    def get(self, campaign_id: str) -> Campaign:
        """Return the campaign of a packet. Raises Unavailable if it was never read."""
        return self._cache.read(
            campaign_id,
            self._get,
            lambda error: self._logger.failure("campaign_not_read", error, campaign_id=campaign_id),
        )

    def _get(self, campaign_id: str) -> Campaign:
        campaign = self._campaigns.find_campaign(campaign_id)
        if campaign is None:
            raise InvariantViolated(f"campaign {campaign_id} has packets and does not exist")
        return campaign
