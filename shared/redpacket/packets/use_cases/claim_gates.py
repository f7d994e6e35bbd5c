"""Checks for packets with rules: a grab (抢) checks the rules, an open (拆) checks the token."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.operations.model.limits import PASSPHRASE_TRIES, wrong_tries
from redpacket.operations.use_cases.limit_rate import limit_guesses
from redpacket.packets.errors import NotInvited, PassphraseMismatch
from redpacket.packets.model.claim import Admission, AdmitStatus, GrabOutcome, GrabStatus
from redpacket.packets.model.grab_token import LIFE_MS, check_grab_token, grab_token
from redpacket.packets.model.packet import Opening, Rules
from redpacket.packets.model.passphrase import is_alike, is_exact
from redpacket.packets.use_cases.campaign_quota import CampaignQuota
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.platform.errors import RateLimited, Rejected
from redpacket.platform.user import User


@dataclass(frozen=True, slots=True, eq=False)
class PacketRules:
    """Gate of a grab, which checks the rules. In a two-step packet, a grab only admits the user."""

    packet_id: str
    claimer: User
    passphrase: str | None
    ports: ClaimPorts

    def check(self, rules: Rules, terms: str) -> None:
        """Raise NotInvited, PassphraseMismatch, or RateLimited after too many wrong guesses."""
        if not rules.admits(self.claimer):
            raise NotInvited
        if rules.passphrase is not None:
            self._check_passphrase(rules.passphrase, rules.passphrase_threshold, terms)

    def admit(
        self, rules: Rules, terms: str, quota: CampaignQuota
    ) -> Admission | GrabOutcome | Rejected | None:
        """Return an admission to a two-step packet, a refusal, or None to take a share now."""
        if rules.opening is not Opening.TWO_STEP:
            return None
        # The open step reserves the quota.
        return quota.find_refusal(rules) or self._admit(terms)

    def _check_passphrase(self, passphrase: str, threshold: int, stored: str) -> None:
        entered, ports = self.passphrase, self.ports
        if not entered:
            raise PassphraseMismatch
        is_correct = is_exact(entered, passphrase, ports.phrases.simplified)
        # Right and wrong guesses take the same time up to this point.
        limit_guesses(
            PASSPHRASE_TRIES,
            self.claimer.user_id,
            wrong_tries(ports.seeds.read_terms(self.packet_id, stored).count),
            self.packet_id,
            is_spent=not is_correct,
            limits=ports.limits,
        )
        if not is_correct and not is_alike(
            entered, passphrase, threshold, ports.phrases.similarity
        ):
            raise PassphraseMismatch

    def _admit(self, stored: str) -> Admission | GrabOutcome:
        packet_id, user_id, ports = self.packet_id, self.claimer.user_id, self.ports
        terms = ports.seeds.read_terms(packet_id, stored)
        outcome = ports.claim_cache.admit(
            packet_id, user_id, life_ms=LIFE_MS, admitted_max=terms.count * ports.admission_factor
        )
        if outcome.status is AdmitStatus.ADMITTED:
            token = grab_token(terms.seed, packet_id, user_id, outcome.number)
            return Admission(token, outcome.number)
        if outcome.status is AdmitStatus.CROWDED:
            wait_ms = max(1, outcome.number - ports.clock.now_ms())
            message = "Too many users are opening this packet. Try again."
            raise RateLimited(message, -(-wait_ms // 1000))
        share_no = outcome.number or None
        status = GrabStatus(outcome.status)
        is_certain = status is not GrabStatus.PACKET_EMPTIED or ports.claim_cache.has_all_claimers(
            packet_id, user_id
        )
        return GrabOutcome(
            status, share_no, stored, is_gated=True, shard=outcome.shard, is_certain=is_certain
        )


@dataclass(frozen=True, slots=True, eq=False)
class TokenCheck:
    """Gate of an open: the grab token proves that the grab checked all other rules."""

    packet_id: str
    user_id: str
    grab_token: str
    ports: ClaimPorts

    def check(self, rules: Rules, terms: str) -> None:  # noqa: ARG002 - the grab checked them
        """Raise GrabTokenInvalid unless the token is this user's and valid."""
        seed = self.ports.seeds.read_terms(self.packet_id, terms).seed
        now_ms = self.ports.clock.now_ms()
        check_grab_token(self.grab_token, seed, self.packet_id, self.user_id, now_ms)

    def admit(self, rules: Rules, terms: str, quota: CampaignQuota) -> None:
        """Return None: this step takes the share."""
