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
)
from redpacket.domain.grab_token import LIFE_MS, grab_token
from redpacket.domain.packet import Opening, Person, Rules
from redpacket.domain.passphrase import is_match
from redpacket.domain.split import Terms
from redpacket.flows.claim_share import Desk, claim_share
from redpacket.ports import Phrases


def grab_packet(
    packet_id: str,
    taker: Person,
    *,
    said: str | None,
    admission_factor: int,
    phrases: Phrases,
    desk: Desk,
) -> Claim | Admission:
    """Return the taker's share, or their admission to open one; *said* is the passphrase, perhaps.

    Raises what `claim_share` does, and NotInvited, PassphraseMismatch, RateLimited.
    """
    gate = _GrabGate(packet_id, taker, said, admission_factor, phrases, desk)
    return claim_share(packet_id, taker, gate=gate, desk=desk)


@dataclass(frozen=True, slots=True)
class _GrabGate:
    packet_id: str
    taker: Person
    said: str | None
    admission_factor: int
    phrases: Phrases
    desk: Desk

    def enter(self, terms: Terms) -> Admission | GrabOutcome | None:
        rules = find_rules(self.packet_id, self.desk)
        self._check_invited(rules)
        self._check_passphrase(rules)
        if rules.opening is Opening.TWO_STEP:
            return self._admit(terms)
        return None

    def quota(self) -> Quota | None:
        return None

    def _check_invited(self, rules: Rules) -> None:
        if rules.recipients and self.taker.user_id not in rules.recipients:
            raise NotInvited("this packet is for others")

    def _check_passphrase(self, rules: Rules) -> None:
        if rules.passphrase is None:
            return
        if self.said is None:
            raise PassphraseMismatch("say the passphrase")
        if not is_match(
            self.said, rules.passphrase, rules.passphrase_threshold, self.phrases.similarity
        ):
            raise PassphraseMismatch("that is not the passphrase")

    def _admit(self, terms: Terms) -> Admission | GrabOutcome:
        user_id = self.taker.user_id
        outcome = self.desk.board.admit(
            self.packet_id,
            user_id,
            life_ms=LIFE_MS,
            admitted_max=terms.count * self.admission_factor,
        )
        if outcome.status is AdmitStatus.ADMITTED:
            token = grab_token(terms.seed, self.packet_id, user_id, outcome.number)
            return Admission(token, outcome.number)
        if outcome.status is AdmitStatus.CROWDED:
            wait_ms = max(1, outcome.number - self.desk.clock.now_ms())
            raise RateLimited("all places to open are taken: try again", -(-wait_ms // 1000))
        share_no = outcome.number or None
        return GrabOutcome(GrabStatus(outcome.status), share_no, str(terms), is_gated=True)


def find_rules(packet_id: str, desk: Desk) -> Rules:
    """Return a packet's rules. Raises PacketNotFound."""
    rules = desk.packets.find_rules(packet_id)
    if rules is None:
        raise PacketNotFound("no such packet")
    return rules
