"""Grab (抢): take a share at once, or, of a packet in two steps, get admitted to open (拆) one."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.claim import (
    Admission,
    AdmitStatus,
    Claim,
    GrabOutcome,
    GrabStatus,
    Quota,
)
from redpacket.domain.errors import (
    NotInvited,
    PacketNotFound,
    PassphraseMismatch,
    RateLimited,
    Rejected,
)
from redpacket.domain.grab_token import LIFE_MS, grab_token
from redpacket.domain.limits import PASSPHRASE_TRIES, wrong_tries
from redpacket.domain.packet import Opening, Person, Rules
from redpacket.domain.passphrase import is_alike, is_exact
from redpacket.domain.split import Terms
from redpacket.flows.guards.limit_rate import limit_guesses
from redpacket.flows.packets.cached_campaigns import CachedCampaigns
from redpacket.flows.packets.campaign_quota import CampaignQuota
from redpacket.flows.packets.claim_share import ClaimPorts, Gate, claim_share
from redpacket.ports.guards import Limits
from redpacket.ports.packets import Phrases, Quotas


@dataclass(frozen=True, slots=True, kw_only=True)
class GrabPorts:
    """What is asked of a packet with rules, besides the ports that every claim passes."""

    phrases: Phrases
    limits: Limits
    campaigns: CachedCampaigns
    quotas: Quotas
    admission_factor: int


def grab_packet(
    packet_id: str, taker: Person, said: str | None, *, book: GrabPorts, ports: ClaimPorts
) -> Claim | Admission:
    """Return the taker's share, or their admission to open one; *said* is the passphrase, perhaps.

    Raises what `claim_share` does, and NotInvited, PassphraseMismatch, RateLimited,
    CampaignPaused.
    """
    quota = quota_for(packet_id, taker, book=book, ports=ports)
    gate = _GrabGate(packet_id, taker, said, book, quota, ports)
    return claim_within(quota, packet_id, taker, gate=gate, ports=ports)


def claim_within(
    quota: CampaignQuota, packet_id: str, taker: Person, *, gate: Gate, ports: ClaimPorts
) -> Claim | Admission:
    """Claim a share, and give back what was reserved for it where it is refused."""
    try:
        return claim_share(packet_id, taker, gate=gate, ports=ports)
    except Rejected as refusal:
        quota.reassign(refusal)
        raise


def quota_for(
    packet_id: str, taker: Person, *, book: GrabPorts, ports: ClaimPorts
) -> CampaignQuota:
    """Return the taker's quota for one claim."""
    return CampaignQuota(
        packet_id,
        taker.user_id,
        book.campaigns,
        book.quotas,
        ports.packets,
        ports.costs,
        ports.journal,
    )


def find_rules(packet_id: str, ports: ClaimPorts) -> Rules:
    """Return a packet's rules. Raises PacketNotFound, also of a prize's: nobody grabs it."""
    rules = ports.packets.find_rules(packet_id)
    if rules is None or rules.prize_id:
        raise PacketNotFound("no such packet")
    return rules


@dataclass(frozen=True, slots=True)
class _GrabGate:
    """Asks whether the taker is invited, says the passphrase, and has not had enough.

    Of a packet in two steps the quota is asked for when it is opened.
    """

    packet_id: str
    taker: Person
    said: str | None
    book: GrabPorts
    campaign_quota: CampaignQuota
    ports: ClaimPorts

    def enter(self, terms: Terms) -> Admission | GrabOutcome | None:
        rules = find_rules(self.packet_id, self.ports)
        self._check_invited(rules)
        self._check_passphrase(rules, terms.count)
        if rules.opening is Opening.TWO_STEP:
            self.campaign_quota.require_on(rules)
            return self._admit(terms)
        self.campaign_quota.reserve(rules)
        return None

    def quota(self) -> Quota | None:
        return self.campaign_quota.find(find_rules(self.packet_id, self.ports))

    def _check_invited(self, rules: Rules) -> None:
        if rules.recipients and self.taker.user_id not in rules.recipients:
            raise NotInvited("this packet is for others")

    def _check_passphrase(self, rules: Rules, count: int) -> None:
        if rules.passphrase is None:
            return
        if not self.said:
            raise PassphraseMismatch("say the passphrase")
        has_said_it = is_exact(self.said, rules.passphrase)
        # Up to here a right guess takes as long as a wrong one.
        limit_guesses(
            PASSPHRASE_TRIES,
            self.taker.user_id,
            wrong_tries(count),
            self.packet_id,
            is_spent=not has_said_it,
            limits=self.book.limits,
        )
        threshold, similarity = rules.passphrase_threshold, self.book.phrases.similarity
        if not has_said_it and not is_alike(self.said, rules.passphrase, threshold, similarity):
            raise PassphraseMismatch("that is not the passphrase")

    def _admit(self, terms: Terms) -> Admission | GrabOutcome:
        user_id = self.taker.user_id
        outcome = self.ports.claim_cache.admit(
            self.packet_id,
            user_id,
            life_ms=LIFE_MS,
            admitted_max=terms.count * self.book.admission_factor,
        )
        if outcome.status is AdmitStatus.ADMITTED:
            token = grab_token(terms.seed, self.packet_id, user_id, outcome.number)
            return Admission(token, outcome.number)
        if outcome.status is AdmitStatus.CROWDED:
            wait_ms = max(1, outcome.number - self.ports.clock.now_ms())
            raise RateLimited("all places to open are taken: try again", -(-wait_ms // 1000))
        share_no = outcome.number or None
        status = GrabStatus(outcome.status)
        return GrabOutcome(status, share_no, str(terms), is_gated=True, part=outcome.part)
