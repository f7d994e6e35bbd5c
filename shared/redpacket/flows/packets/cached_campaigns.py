"""Know a campaign as it was some seconds ago: a crowd asks for the same few, over and over."""

from __future__ import annotations

from redpacket.domain.campaign import Campaign
from redpacket.domain.errors import InvariantViolated
from redpacket.domain.process_cache import ProcessCache
from redpacket.ports.campaigns import Campaigns
from redpacket.ports.runtime import Clock, Journal

KEPT_MS = 4_000
"""An edit acts within that, as a switch does."""

_SIZE_MAX = 100


class CachedCampaigns:
    """The campaigns as one process knows them; where the store is away the last value holds."""

    def __init__(self, campaigns: Campaigns, *, clock: Clock, journal: Journal) -> None:
        self._campaigns = campaigns
        self._journal = journal
        self._cache: ProcessCache[str, Campaign] = ProcessCache(
            clock.now_ms, kept_ms=KEPT_MS, size_max=_SIZE_MAX
        )

    def recall(self, campaign_id: str) -> Campaign:
        """Return a campaign that packets are of. Raises Unavailable where it was never read."""
        return self._cache.read(
            campaign_id,
            self._get,
            lambda error: self._journal.failure(
                "campaign_not_read", error, campaign_id=campaign_id
            ),
        )

    def _get(self, campaign_id: str) -> Campaign:
        campaign = self._campaigns.find_campaign(campaign_id)
        if campaign is None:
            raise InvariantViolated(f"campaign {campaign_id} has packets and does not exist")
        return campaign
