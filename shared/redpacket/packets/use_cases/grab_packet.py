"""Grab (抢): take a share at once or, for a two-step packet, get admitted to open (拆) one."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.operations.model.limits import PASSPHRASE_TRIES, wrong_tries
from redpacket.operations.use_cases.limit_rate import limit_guesses
from redpacket.packets.errors import NotInvited, PassphraseMismatch
from redpacket.packets.model.claim import Admission, AdmitStatus, Claim, GrabOutcome, GrabStatus
from redpacket.packets.model.grab_token import LIFE_MS, grab_token
from redpacket.packets.model.packet import Opening, Rules
from redpacket.packets.model.passphrase import is_alike, is_exact
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.packets.use_cases.claim_share import ClaimAttempt
from redpacket.platform.errors import RateLimited, Rejected
from redpacket.platform.user import User


def grab_packet(
    packet_id: str,
    claimer: User,
    passphrase: str | None,
    via: str | None = None,
    *,
    ports: ClaimPorts,
) -> Claim | Admission:
    """Return the user's share or admission; *passphrase* is the optional passphrase.

    Raises as `ClaimAttempt.run`, and NotInvited, PassphraseMismatch, RateLimited, CampaignPaused.
    """
    ports.logger.count("tried")
    return _GrabAttempt(packet_id, claimer, via, ports, passphrase).run()


@dataclass(eq=False)
class _GrabAttempt(ClaimAttempt[Admission]):
    """Attempt of a user whom the rules must allow, and whom a two-step packet only admits."""

    passphrase: str | None

    def check_rules(self, stored: str) -> Rules:
        rules = self.find_rules()
        if not rules.invites(self.claimer.user_id):
            raise NotInvited
        if rules.passphrase is not None:
            self._check_passphrase(rules.passphrase, rules.passphrase_threshold, stored)
        return rules

    def enter(self, rules: Rules, stored: str) -> Admission | GrabOutcome | Rejected:
        if rules.opening is not Opening.TWO_STEP:
            return self.take(rules, stored)
        # The open step reserves the quota.
        return self.quota.find_refusal(rules) or self._admit(stored)

    def _check_passphrase(self, passphrase: str, threshold: int, stored: str) -> None:
        entered, ports = self.passphrase, self.ports
        if not entered:
            raise PassphraseMismatch
        is_correct = is_exact(entered, passphrase)
        # Until this point, right and wrong guesses take the same time.
        limit_guesses(
            PASSPHRASE_TRIES,
            self.claimer.user_id,
            wrong_tries(self.read_terms(stored).count),
            self.packet_id,
            is_spent=not is_correct,
            limits=ports.limits,
        )
        similarity = ports.phrases.similarity
        if not is_correct and not is_alike(entered, passphrase, threshold, similarity):
            raise PassphraseMismatch

    def _admit(self, stored: str) -> Admission | GrabOutcome:
        packet_id, user_id, ports = self.packet_id, self.claimer.user_id, self.ports
        terms = self.read_terms(stored)
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
