"""Know a campaign as it was some seconds ago: a crowd asks for the same few, over and over."""

from __future__ import annotations

from redpacket.domain.campaign import Campaign
from redpacket.domain.errors import InvariantViolated, Unavailable
from redpacket.ports.campaigns import Campaigns
from redpacket.ports.runtime import Clock, Journal

KEPT_MS = 4_000
"""An edit acts within that, as a switch does."""

_REMEMBERED_MAX = 100


class CachedCampaigns:
    """The campaigns as one process knows them; where the store is away the last value holds."""

    def __init__(self, campaigns: Campaigns, *, clock: Clock, journal: Journal) -> None:
        self._campaigns = campaigns
        self._clock = clock
        self._journal = journal
        self._known: dict[str, tuple[int, Campaign]] = {}

    def recall(self, campaign_id: str) -> Campaign:
        """Return a campaign that packets are of. Raises Unavailable where it was never read."""
        now_ms = self._clock.now_ms()
        read_at_ms, known = self._known.get(campaign_id, (0, None))
        if known and 0 <= now_ms - read_at_ms < KEPT_MS:
            return known
        try:
            campaign = self._campaigns.find_campaign(campaign_id)
        except Unavailable as error:
            if known is None:
                raise
            self._journal.failure("campaign_not_read", error, campaign_id=campaign_id)
            campaign = known
        if campaign is None:
            msg = f"campaign {campaign_id} has packets and does not exist"
            raise InvariantViolated(msg)
        if len(self._known) >= _REMEMBERED_MAX:
            self._known.clear()
        self._known[campaign_id] = now_ms, campaign
        return campaign
