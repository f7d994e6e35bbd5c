"""Campaign checks for a claim: the user's quota, the audience and the time window.

The ledger counts each claim in its transaction, so a cache failover grants no extra share.
"""

from __future__ import annotations

from typing import Self

from redpacket.campaigns.errors import CampaignPaused, NotInAudience
from redpacket.campaigns.model import AudienceMode, Campaign, CampaignStatus, audience_bucket, meets
from redpacket.packets.errors import PacketExpired, PacketNotStarted, QuotaExhausted
from redpacket.packets.model.claim import NO_LIMIT, Quota, QuotaStatus
from redpacket.packets.model.packet import Rules
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.platform.errors import Rejected, Unavailable
from redpacket.platform.user import User


class CampaignQuota:
    """Campaign checks for one user's claim. On exit, a rejected claim's reservation is released."""

    def __init__(self, packet_id: str, claimer: User, ports: ClaimPorts) -> None:
        self._packet_id = packet_id
        self._claimer = claimer
        self._user_id = claimer.user_id
        self._ports = ports
        self._reserved: Quota | None = None

    def __enter__(self) -> Self:
        """Begin the claim."""
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Release the reservation if the claim was rejected."""
        if self._reserved and isinstance(error, Rejected):
            self._release(self._reserved, error)

    def find(self, rules: Rules) -> Quota | None:
        """Return the quota that a claim counts against, or None without a campaign."""
        campaign = self._campaign(rules)
        return self._quota(campaign) if campaign else None

    def find_closed(self, rules: Rules) -> Rejected | None:
        """Return a refusal if the packet is not open now, given its campaign's current window."""
        if campaign := self._campaign(rules):
            now_ms = self._ports.clock.now_ms()
            starts_at_ms, ends_at_ms = rules.window_in(campaign.starts_at_ms, campaign.ends_at_ms)
            if now_ms >= ends_at_ms:
                return PacketExpired()
            if now_ms < starts_at_ms:
                return PacketNotStarted()
        return None

    def was_never_open(self, rules: Rules) -> bool:
        """Return whether a campaign's packet has never been open, so that no share is claimed."""
        campaign = self._campaign(rules)
        if campaign is None:
            return False
        first_ms = max(campaign.first_starts_at_ms, rules.starts_at_ms)
        return self._ports.clock.now_ms() < first_ms

    def find_refusal(self, rules: Rules) -> Rejected | None:
        """Return the reason why the user may not take part now, regardless of the quota."""
        campaign = self._campaign(rules)
        if campaign is None:
            return None
        if refusal := self._find_known_refusal(campaign, rules):
            return refusal
        mode = campaign.audience_mode
        if mode and self._is_member(campaign.campaign_id) is not (mode is AudienceMode.ALLOW):
            return NotInAudience()
        return None

    def reserve(self, rules: Rules) -> Rejected | None:
        """Reserve one share of the quota, or return the refusal. Raises RateLimited."""
        campaign = self._campaign(rules)
        if campaign is None:
            return None
        if not campaign.quota_per_user:
            return self.find_refusal(rules)
        if refusal := self._find_known_refusal(campaign, rules):
            return refusal
        quota = self._quota(campaign)
        status = self._ports.quotas.reserve(quota, self._user_id, self._packet_id)
        if status is QuotaStatus.AUDIENCE_NOT_LOADED:
            self._load_audience(campaign.campaign_id)
            status = self._ports.quotas.reserve(quota, self._user_id, self._packet_id)
        if status is QuotaStatus.FULL:
            # Some reservations may belong to unfinished claims, so read the ledger's exact count.
            self._ports.costs.count(self._user_id)
            claimed_count = self._ports.recorder.count_claims(quota.campaign_id, self._user_id)
            status = self._ports.quotas.reserve(
                quota, self._user_id, self._packet_id, claimed_count=claimed_count
            )
        if status in {QuotaStatus.NOT_IN_AUDIENCE, QuotaStatus.AUDIENCE_NOT_LOADED}:
            return NotInAudience()
        if status is QuotaStatus.EXHAUSTED:
            return QuotaExhausted()
        self._reserved = quota
        return None

    def _find_known_refusal(self, campaign: Campaign, rules: Rules) -> Rejected | None:
        if refusal := self.find_closed(rules):
            return refusal
        if campaign.status is CampaignStatus.OFF:
            return CampaignPaused()
        if not meets(campaign.required_claims, self._claimer.claims):
            return NotInAudience()
        return None

    def _is_member(self, campaign_id: str) -> bool | None:
        is_member = self._ports.quotas.find_member(campaign_id, self._user_id)
        if is_member is None:
            self._load_audience(campaign_id)
            is_member = self._ports.quotas.find_member(campaign_id, self._user_id)
        return is_member

    def _load_audience(self, campaign_id: str) -> None:
        self._ports.costs.count(self._user_id)
        self._ports.load_audience(campaign_id, audience_bucket(self._user_id))

    def _release(self, quota: Quota, refusal: Rejected) -> None:
        """Undo a reservation. If that fails, the ledger's count later corrects a full quota."""
        try:
            self._ports.quotas.release(quota, self._user_id, self._packet_id)
            if isinstance(refusal, QuotaExhausted):
                self._ports.quotas.reserve(
                    quota, self._user_id, self._packet_id, claimed_count=quota.count_max
                )
        except Unavailable as error:
            self._ports.logger.failure("quota_not_given_back", error, packet_id=self._packet_id)

    def _quota(self, campaign: Campaign) -> Quota:
        # Count claims even without a limit, because an operator may set a limit later.
        count_max = campaign.quota_per_user or NO_LIMIT
        return Quota(campaign.campaign_id, count_max, campaign.audience_mode)

    def _campaign(self, rules: Rules) -> Campaign | None:
        return self._ports.campaigns.get(rules.campaign_id) if rules.campaign_id else None
