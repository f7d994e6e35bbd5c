"""A campaign's quota: how many shares one user may take over all of its packets.

The ledger counts, in the same transaction that makes a claim durable, so that neither a crash nor a
cache that forgets gives anybody more. The cache only spares it claims of who has had enough.
"""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.campaign import Campaign, CampaignStatus
from redpacket.domain.claim import NO_LIMIT, Quota, QuotaStatus
from redpacket.domain.errors import CampaignPaused, QuotaExhausted, Rejected, Unavailable
from redpacket.domain.packet import Rules
from redpacket.flows.guards.limit_rate import UserLimit
from redpacket.flows.packets.cached_campaigns import CachedCampaigns
from redpacket.ports.packets import Packets, Quotas
from redpacket.ports.runtime import Journal


@dataclass(slots=True)
class CampaignQuota:
    """One user's quota for one claim, if the packet is of a campaign that has one."""

    packet_id: str
    user_id: str
    campaigns: CachedCampaigns
    quotas: Quotas
    packets: Packets
    costs: UserLimit
    journal: Journal
    _reserved: Quota | None = None

    def find(self, rules: Rules) -> Quota | None:
        """Return what a claim counts against."""
        return _quota_of(self._campaign(rules))

    def require_on(self, rules: Rules) -> None:
        """Raise CampaignPaused where the campaign gives nothing for now."""
        campaign = self._campaign(rules)
        if campaign and campaign.status is CampaignStatus.OFF:
            raise CampaignPaused("an operator has turned the campaign off")

    def reserve(self, rules: Rules) -> None:
        """Reserve a share of the quota. Raises QuotaExhausted, CampaignPaused, RateLimited."""
        self.require_on(rules)
        quota = self.find(rules)
        if quota is None or quota.count_max == NO_LIMIT:
            return
        status = self.quotas.reserve(quota, self.user_id, self.packet_id)
        if status is QuotaStatus.FULL:
            # Some of what is reserved may have come to nothing, or is under way: the ledger knows.
            self.costs.count(self.user_id)
            claimed_count = self.packets.count_claims(quota.campaign_id, self.user_id)
            status = self.quotas.reserve(
                quota, self.user_id, self.packet_id, claimed_count=claimed_count
            )
        if status is QuotaStatus.EXHAUSTED:
            raise QuotaExhausted(EXHAUSTED)
        self._reserved = quota

    def reassign(self, refusal: Rejected) -> None:
        """Undo the reservation of a claim that was refused; a leftover costs nobody a share."""
        quota = self._reserved
        if quota is None:
            return
        try:
            self.quotas.release(quota, self.user_id, self.packet_id)
            if isinstance(refusal, QuotaExhausted):
                self.quotas.reserve(
                    quota, self.user_id, self.packet_id, claimed_count=quota.count_max
                )
        except Unavailable as error:
            self.journal.failure("quota_not_given_back", error, packet_id=self.packet_id)

    def _campaign(self, rules: Rules) -> Campaign | None:
        return self.campaigns.recall(rules.campaign_id) if rules.campaign_id else None


EXHAUSTED = "you have taken as many shares of this campaign as one may"


def _quota_of(campaign: Campaign | None) -> Quota | None:
    if campaign is None:
        return None
    # Counted without a limit, too: one may be set later.
    return Quota(campaign.campaign_id, campaign.quota_per_user or NO_LIMIT)
