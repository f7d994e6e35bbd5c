"""A campaign's quota: how many shares one user may take over all of its packets.

The ledger counts, in the same transaction that makes a claim durable, so that neither a crash nor a
cache that forgets gives anybody more. The cache only spares it those who have had enough.
"""

from __future__ import annotations

from redpacket.domain.campaign import Campaign, CampaignStatus
from redpacket.domain.claim import Quota, QuotaStatus
from redpacket.domain.errors import (
    CampaignPaused,
    InvariantViolated,
    QuotaExhausted,
    Rejected,
    Unavailable,
)
from redpacket.domain.packet import Rules
from redpacket.ports import Campaigns, Journal, Packets, Quotas


class CampaignQuota:
    """One user's quota for one claim, if the packet is of a campaign that has one."""

    def __init__(
        self,
        packet_id: str,
        user_id: str,
        *,
        campaigns: Campaigns,
        quotas: Quotas,
        packets: Packets,
        journal: Journal,
    ) -> None:
        self._packet_id = packet_id
        self._user_id = user_id
        self._campaigns = campaigns
        self._quotas = quotas
        self._packets = packets
        self._journal = journal
        self._reserved: Quota | None = None

    def find(self, rules: Rules) -> Quota | None:
        """Return what a claim counts against."""
        campaign = self._campaign(rules)
        if campaign is None or not campaign.quota_per_user:
            return None
        return Quota(campaign.campaign_id, campaign.quota_per_user)

    def reserve(self, rules: Rules) -> None:
        """Reserve a share of the quota. Raises QuotaExhausted, CampaignPaused."""
        campaign = self._campaign(rules)
        if campaign and campaign.status is CampaignStatus.OFF:
            raise CampaignPaused("the campaign is paused")
        quota = self.find(rules)
        if quota is None:
            return
        status = self._quotas.reserve(quota, self._user_id, self._packet_id)
        if status is QuotaStatus.FULL:
            # Some of what is reserved may have come to nothing, or is under way: the ledger knows.
            claimed_count = self._packets.count_claims(quota.campaign_id, self._user_id)
            status = self._quotas.reserve(
                quota, self._user_id, self._packet_id, claimed_count=claimed_count
            )
        if status is QuotaStatus.EXHAUSTED:
            raise QuotaExhausted("you have taken as many shares of this campaign as one may")
        self._reserved = quota

    def give_back(self, refusal: Rejected) -> None:
        """Undo the reservation of a claim that was refused; what is left over costs nobody."""
        if self._reserved is None:
            return
        try:
            self._quotas.release(self._reserved, self._user_id, self._packet_id)
            if isinstance(refusal, QuotaExhausted):
                self._quotas.reserve(
                    self._reserved,
                    self._user_id,
                    self._packet_id,
                    claimed_count=self._reserved.count_max,
                )
        except Unavailable as error:
            self._journal.failure("quota_not_given_back", error, packet_id=self._packet_id)

    def _campaign(self, rules: Rules) -> Campaign | None:
        if rules.campaign_id is None:
            return None
        campaign = self._campaigns.recall_campaign(rules.campaign_id)
        if campaign is None:
            msg = f"packet {self._packet_id} is of a campaign that does not exist"
            raise InvariantViolated(msg)
        return campaign
