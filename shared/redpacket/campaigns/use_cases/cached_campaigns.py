"""Campaign reads: strongly consistent, or cached, because many users read few campaigns."""

from __future__ import annotations

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.model import WINDOW_AGE_MAX_MS, Campaign
from redpacket.campaigns.ports import CampaignRepository
from redpacket.platform.errors import InvariantViolated
from redpacket.platform.process_cache import ProcessCache
from redpacket.platform.runtime import Clock, EventLogger

KEPT_MS = 4_000
"""Milliseconds for which a process caches a campaign and may miss an operator's edit."""

_SIZE_MAX = 100


def get_campaign(campaign_id: str, *, campaigns: CampaignRepository) -> Campaign:
    """Return the campaign. Raises CampaignNotFound."""
    campaign = campaigns.find_campaign(campaign_id)
    if campaign is None:
        raise CampaignNotFound
    return campaign


class CachedCampaigns:
    """Process cache of campaigns; while reads fail, it returns an old copy for a limited time."""

    def __init__(self, campaigns: CampaignRepository, *, clock: Clock, logger: EventLogger) -> None:
        self._campaigns = campaigns
        self._logger = logger
        self._cache: ProcessCache[str, Campaign] = ProcessCache(
            clock.now_ms, kept_ms=KEPT_MS, trusted_ms=WINDOW_AGE_MAX_MS, size_max=_SIZE_MAX
        )

    def get(self, campaign_id: str) -> Campaign:
        """Return a packet's campaign. Raises Unavailable if reads fail and the copy is too old."""
        return self._cache.read(
            campaign_id,
            self._get,
            lambda error: self._logger.failure("campaign_not_read", error, campaign_id=campaign_id),
        )

    def _get(self, campaign_id: str) -> Campaign:
        campaign = self._campaigns.find_campaign(campaign_id)
        if campaign is None:
            raise InvariantViolated(f"campaign {campaign_id} has packets but does not exist")
        return campaign
