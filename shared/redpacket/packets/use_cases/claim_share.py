"""Grabbing (抢) and opening (拆) packets: get a share from the cache, and make the claim durable.

An amount is returned only after it is durable. If the cache lost its last writes in a failover and
disagrees with the ledger, the ledger wins and the cache is repaired.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

from redpacket.campaigns.errors import NotInAudience
from redpacket.packets.errors import (
    GrabTokenInvalid,
    PacketEmptied,
    PacketExpired,
    PacketNotFound,
    PacketNotStarted,
    QuotaExhausted,
)
from redpacket.packets.model.claim import (
    Admission,
    Claim,
    GrabOutcome,
    GrabStatus,
    RecordStatus,
    Share,
    ShareStatus,
)
from redpacket.packets.model.packet import Opening, Rules, is_sharded, shard_of_share
from redpacket.packets.split import share_amount_fen
from redpacket.packets.use_cases.campaign_quota import CampaignQuota
from redpacket.packets.use_cases.claim_gates import PacketRules, TokenCheck
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.packets.use_cases.load_packet import CacheLoads, ShardToLoad
from redpacket.platform.errors import InvariantViolated, Rejected, Unavailable
from redpacket.platform.user import User

Admitted_co = TypeVar("Admitted_co", covariant=True)
"""Type of the admission that a gate returns instead of a share; an open has none."""

_LOOK_LIFE_MS = 30_000
"""Minimum milliseconds between reloads of an emptied packet's owners after a failover (I5)."""

_REFUSALS: dict[GrabStatus, type[Rejected]] = {
    GrabStatus.PACKET_EMPTIED: PacketEmptied,
    GrabStatus.PACKET_EXPIRED: PacketExpired,
    GrabStatus.PACKET_NOT_STARTED: PacketNotStarted,
}


class Gate(Protocol[Admitted_co]):
    """Checks for a packet with rules: `PacketRules` for a grab, `TokenCheck` for an open."""

    def check(self, rules: Rules, terms: str) -> None:
        """Raise if the packet refuses this user, even if the cache has lost the user's claim."""

    def admit(
        self, rules: Rules, terms: str, quota: CampaignQuota
    ) -> Admitted_co | GrabOutcome | Rejected | None:
        """Admit the user to the next step, or return None if this step takes the share.

        Return a refusal instead of raising it, because the cache may have lost the user's claim.
        """


def grab_packet(
    packet_id: str,
    claimer: User,
    passphrase: str | None,
    via: str | None = None,
    *,
    ports: ClaimPorts,
) -> Claim | Admission:
    """Grab (抢): return the user's share, or the admission to open a two-step packet.

    Raises the errors of `ClaimAttempt.run`, and NotInvited, PassphraseMismatch, RateLimited,
    CampaignPaused.
    """
    ports.logger.count("tried")
    gate = PacketRules(packet_id, claimer, passphrase, ports)
    return ClaimAttempt(packet_id, claimer, via, ports, gate).run()


def open_packet(
    packet_id: str, claimer: User, grab_token: str, via: str | None = None, *, ports: ClaimPorts
) -> Claim:
    """Open (拆), step two of two: return the share of an admitted user.

    Raises the errors of `ClaimAttempt.run`, and GrabTokenInvalid, CampaignPaused.
    """
    if _find_rules(packet_id, ports).opening is not Opening.TWO_STEP:
        raise GrabTokenInvalid
    gate = TokenCheck(packet_id, claimer.user_id, grab_token, ports)
    return ClaimAttempt(packet_id, claimer, via, ports, gate).run()


@dataclass(eq=False)
class ClaimAttempt(Generic[Admitted_co]):
    """One user's attempt to claim a share; the *gate* checks only packets with rules.

    *via* is the user who shared the link. A new claim stores it, and a retry does not change it.
    """

    packet_id: str
    claimer: User
    via: str | None
    ports: ClaimPorts
    gate: Gate[Admitted_co]
    quota: CampaignQuota = field(init=False)

    def __post_init__(self) -> None:
        """Build the quota, whose reservation `run` may release."""
        self.quota = CampaignQuota(self.packet_id, self.claimer, self.ports)

    def run(self) -> Claim | Admitted_co:
        """Return the user's share or admission.

        Raises PacketNotFound, PacketNotStarted, PacketEmptied, PacketExpired, QuotaExhausted,
        NotInAudience, and the refusals of the gate. After Unavailable the outcome is unknown; a
        retry returns it.
        """
        loads = CacheLoads(self.packet_id, self.claimer.user_id, self.ports)
        with self.quota:
            while isinstance(result := self._try_once(), ShardToLoad):
                loads.load(result)
        return result

    def _try_once(self) -> Claim | Admitted_co | ShardToLoad:
        """Call the cache, and return the result or the shard that the cache lacks."""
        if self.ports.emptied.refuses(self.packet_id, self.claimer.user_id):
            raise PacketEmptied
        outcome = self.ports.claim_cache.grab(self.packet_id, self.claimer.user_id)
        if outcome.status is not GrabStatus.PACKET_GATED:
            return self._claim(outcome)
        rules, terms = self._rules_for_new_claim(outcome.terms), outcome.terms
        entered = self.gate.admit(rules, terms, self.quota) or self._take(rules, terms)
        if isinstance(entered, Rejected):
            if self.quota.was_never_open(rules):
                # Even after a failover, users who wait for the start must cause no ledger reads.
                raise entered
            return self._own_or_refuse(entered)
        if isinstance(entered, GrabOutcome):
            if entered.status is GrabStatus.PACKET_EXPIRED and rules.campaign_id:
                # The campaign is open, so the packet was just closed, or its cache key is outdated.
                return ShardToLoad(entered.shard, is_behind=True)
            is_certain = entered.is_certain and outcome.is_certain
            return self._claim(replace(entered, is_certain=is_certain))
        return entered

    def _rules_for_new_claim(self, terms: str) -> Rules:
        """Check the rules with the gate, and return them. Existing owners skip this check."""
        rules = _find_rules(self.packet_id, self.ports)
        self.gate.check(rules, terms)
        return rules

    def _take(self, rules: Rules, terms: str) -> GrabOutcome | Rejected:
        """Reserve one share of the quota and take it from the cache, or return the refusal."""
        return self.quota.reserve(rules) or self.ports.claim_cache.take(
            self.packet_id, self.claimer.user_id, terms
        )

    def _claim(self, outcome: GrabOutcome) -> Claim | ShardToLoad:
        """Turn the cache's answer into the user's one share, or refuse."""
        if outcome.status in _REFUSALS:
            return self._refuse(outcome)
        if outcome.share_no is None:
            return self._shard_to_load(outcome)
        if outcome.status is GrabStatus.ALREADY_CLAIMED:
            owned = self._find_owned()
            if owned and owned.share_no == outcome.share_no:
                return Claim(owned, is_new=False)
            if owned is None and outcome.is_closed:
                raise PacketExpired
            if owned is None and outcome.is_gated:
                # The claim was interrupted, or the cache entry is forged, so check the rules again.
                rules = self._rules_for_new_claim(outcome.terms)
                if refusal := self.quota.find_refusal(rules):
                    raise refusal
        return self._record(self._named_share(outcome, outcome.share_no), outcome)

    def _record(self, share: Share, outcome: GrabOutcome) -> Claim | ShardToLoad:
        """Make the claim durable, and queue its payout."""
        if self.ports.risk and not self.ports.risk.allows(self.claimer):
            self.ports.claim_cache.release(self.packet_id, self.claimer.user_id, share.share_no)
            raise NotInAudience
        # Even a claim that was interrupted after the cache's grant counts against the quota.
        rules = _find_rules(self.packet_id, self.ports) if outcome.is_gated else None
        is_new = outcome.status is GrabStatus.CLAIMED
        if rules and is_new and (closed := self.quota.find_closed(rules)):
            # The campaign ended, or its window moved, after the cache had granted the share.
            self.ports.claim_cache.release(self.packet_id, self.claimer.user_id, share.share_no)
            return self._own_or_refuse(closed)
        counted = self.quota.find(rules) if rules else None
        recorded = self.ports.recorder.record_claim(share, counted)
        if recorded is not RecordStatus.RECORDED:
            return self._corrected(recorded, share)
        try:
            self.ports.payouts.put([share.ref])
        except Unavailable as error:
            # The claim's row is the outbox: the sweep queues the claim within two minutes.
            self.ports.logger.failure("payout_not_queued", error, packet_id=self.packet_id)
        self.ports.logger.count("won")
        return Claim(share, is_new=True)

    def _corrected(self, recorded: RecordStatus, share: Share) -> Claim | ShardToLoad:
        """Repair the cache after the ledger refused the share that the cache had granted."""
        packet_id, user_id, share_no = self.packet_id, self.claimer.user_id, share.share_no
        if recorded is RecordStatus.SHARE_REFUNDED:
            raise PacketExpired
        if recorded in {RecordStatus.QUOTA_EXHAUSTED, RecordStatus.NOT_IN_AUDIENCE}:
            # The cache lost a reservation or missed an edit, or the host denied the user.
            self.ports.claim_cache.release(packet_id, user_id, share_no)
            if recorded is RecordStatus.QUOTA_EXHAUSTED:
                raise QuotaExhausted
            self.ports.costs.count(user_id)
            raise NotInAudience
        if recorded is RecordStatus.SHARE_TAKEN:
            self.ports.logger.event("share_collision", packet_id=packet_id, share_no=share_no)
            self.ports.claim_cache.revoke(packet_id, user_id, share_no)
            return ShardToLoad(shard_of_share(packet_id, share_no), is_behind=True)
        owned = self.ports.packets.find_share_of(packet_id, user_id)
        if owned is None:
            raise InvariantViolated(
                f"the claimer of share {share_no} of {packet_id} has a row but no share"
            )
        if owned.share_no != share_no:
            self.ports.logger.event("share_given_back", packet_id=packet_id, share_no=share_no)
            self.ports.claim_cache.reassign(packet_id, user_id, share_no, owned_no=owned.share_no)
        return Claim(owned, is_new=False)

    def _refuse(self, outcome: GrabOutcome) -> Claim | ShardToLoad:
        error, turns = _REFUSALS[outcome.status], self.ports.turns
        if error is PacketEmptied:
            if not outcome.is_certain and is_sharded(self.packet_id):
                return self._own_or_refuse(error())
            # After a failover, reload all owners once instead of looking up each user.
            if not outcome.is_certain and turns.begin_look(self.packet_id, _LOOK_LIFE_MS):
                self.ports.costs.count(self.claimer.user_id)
                return ShardToLoad(0, is_behind=True)
            self.ports.emptied.put(self.packet_id, outcome.terms)
        elif error is PacketExpired or not outcome.is_certain:
            return self._own_or_refuse(error())
        raise error

    def _own_or_refuse(self, refusal: Rejected) -> Claim:
        """Return the user's share if the cache lost it in a failover (I5), or raise *refusal*."""
        if self.ports.claim_cache.has_all_claimers(self.packet_id, self.claimer.user_id):
            raise refusal
        owned = self._find_owned()
        if owned is None:
            raise refusal
        return Claim(owned, is_new=False)

    def _shard_to_load(self, outcome: GrabOutcome) -> ShardToLoad:
        if outcome.status is GrabStatus.PACKET_ALTERED:
            self.ports.logger.event("packet_altered", packet_id=self.packet_id)
        return ShardToLoad(outcome.shard, is_behind=False)

    def _find_owned(self) -> Share | None:
        self.ports.costs.count(self.claimer.user_id)
        return self.ports.packets.find_share_of(self.packet_id, self.claimer.user_id)

    def _named_share(self, outcome: GrabOutcome, share_no: int) -> Share:
        terms = self.ports.seeds.read_terms(self.packet_id, outcome.terms)
        return Share(
            packet_id=self.packet_id,
            share_no=share_no,
            status=ShareStatus.CLAIMED,
            amount_fen=share_amount_fen(terms, share_no),
            decided_at_ms=self.ports.clock.now_ms(),
            claimer=self.claimer,
            is_last=outcome.is_last,
            via=self.via,
        )


def _find_rules(packet_id: str, ports: ClaimPorts) -> Rules:
    """Return the packet's rules. Raises PacketNotFound for missing and prize packets."""
    packet = ports.packets.find_known(packet_id)
    if packet is None or packet.rules.prize_id:
        raise PacketNotFound
    return packet.rules
