"""A campaign's quota: how many shares one user may take over all of its packets.

The ledger counts, in the same transaction that makes a claim durable, so that neither a crash nor a
cache that forgets gives anybody more. The cache only spares it claims of who has had enough.
"""

from __future__ import annotations

from typing import Self

from redpacket.domain.campaign import Campaign, CampaignStatus
from redpacket.domain.claim import NO_LIMIT, Quota, QuotaStatus
from redpacket.domain.errors import (
    CampaignPaused,
    PacketNotFound,
    QuotaExhausted,
    Rejected,
    Unavailable,
)
from redpacket.domain.packet import Rules
from redpacket.flows.packets.claim_ports import ClaimPorts
from redpacket.ports.packets import Packets

EXHAUSTED = "you have taken as many shares of this campaign as one may"


def find_rules(packet_id: str, packets: Packets) -> Rules:
    """Return a packet's rules. Raises PacketNotFound, also of a prize's: it can't be grabbed."""
    rules = packets.find_rules(packet_id)
    if rules is None or rules.prize_id:
        raise PacketNotFound("no such packet")
    return rules


class CampaignQuota:
    """One user's quota for one claim, if the packet is of a campaign that has one.

    As a context it releases what it reserved where the claim is refused.
    """

    def __init__(self, packet_id: str, user_id: str, ports: ClaimPorts) -> None:
        self._packet_id = packet_id
        self._user_id = user_id
        self._ports = ports
        self._reserved: Quota | None = None

    def __enter__(self) -> Self:
        """Begin the claim."""
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Release what was reserved for a claim that is refused."""
        if self._reserved and isinstance(error, Rejected):
            self._release(self._reserved, error)

    def find(self) -> Quota | None:
        """Return what a claim counts against."""
        return self._find(find_rules(self._packet_id, self._ports.packets))

    def find_pause(self, rules: Rules) -> CampaignPaused | None:
        """Return the refusal of a campaign that gives nothing for now."""
        campaign = self._campaign(rules)
        if campaign and campaign.status is CampaignStatus.OFF:
            return CampaignPaused("an operator has turned the campaign off")
        return None

    def reserve(self, rules: Rules) -> CampaignPaused | QuotaExhausted | None:
        """Reserve a share of the quota, or return the refusal. Raises RateLimited."""
        if pause := self.find_pause(rules):
            return pause
        quota = self._find(rules)
        if quota is None or quota.count_max == NO_LIMIT:
            return None
        status = self._ports.quotas.reserve(quota, self._user_id, self._packet_id)
        if status is QuotaStatus.FULL:
            # Some reservations may have failed, or are under way: the ledger has the count.
            self._ports.costs.count(self._user_id)
            claimed_count = self._ports.claims.count_claims(quota.campaign_id, self._user_id)
            status = self._ports.quotas.reserve(
                quota, self._user_id, self._packet_id, claimed_count=claimed_count
            )
        if status is QuotaStatus.EXHAUSTED:
            return QuotaExhausted(EXHAUSTED)
        self._reserved = quota
        return None

    def _release(self, quota: Quota, refusal: Rejected) -> None:
        """Undo a reservation; a leftover costs no user a share."""
        try:
            self._ports.quotas.release(quota, self._user_id, self._packet_id)
            if isinstance(refusal, QuotaExhausted):
                self._ports.quotas.reserve(
                    quota, self._user_id, self._packet_id, claimed_count=quota.count_max
                )
        except Unavailable as error:
            self._ports.journal.failure("quota_not_given_back", error, packet_id=self._packet_id)

    def _find(self, rules: Rules) -> Quota | None:
        campaign = self._campaign(rules)
        if campaign is None:
            return None
        # Counted without a limit, too: one may be set later.
        return Quota(campaign.campaign_id, campaign.quota_per_user or NO_LIMIT)

    def _campaign(self, rules: Rules) -> Campaign | None:
        return self._ports.campaigns.recall(rules.campaign_id) if rules.campaign_id else None
