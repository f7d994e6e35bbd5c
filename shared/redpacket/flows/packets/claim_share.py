"""Claim: the cache names a share, the ledger makes it the user's, then they hear of it.

An amount is told only once it is durable. Where the cache and the ledger disagree, because the
cache lost its tail in a failover, the ledger is right and the cache is corrected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Protocol

from redpacket.domain.claim import (
    Admission,
    Claim,
    Fate,
    GrabOutcome,
    GrabStatus,
    Quota,
    RecordStatus,
    ShareFate,
)
from redpacket.domain.errors import (
    CampaignPaused,
    InvariantViolated,
    PacketEmptied,
    PacketExpired,
    PacketNotFound,
    PacketNotStarted,
    QuotaExhausted,
    Rejected,
    Unavailable,
)
from redpacket.domain.packet import Person, is_cut, part_of_share
from redpacket.domain.split import Terms, share_amount_fen
from redpacket.flows.guards.limit_rate import UserLimit
from redpacket.flows.packets.cached_emptied import CachedEmptied
from redpacket.flows.packets.campaign_quota import EXHAUSTED
from redpacket.flows.packets.load_packet import LoadWaits, load_among_many, reload_among_many
from redpacket.ports.packets import ClaimCache, Packets, PayoutQueue
from redpacket.ports.runtime import Clock, Journal

_LOOK_LIFE_MS = 30_000
"""An owner of an emptied packet whom a failover forgot is told the truth within this time (I5)."""

_TRIES = 4
"""Each repair leaves the cache right for this user, so a second try is rare and a fourth unseen."""

_REFUSALS: dict[GrabStatus, tuple[type[Rejected], str]] = {
    GrabStatus.PACKET_EMPTIED: (PacketEmptied, "every share is taken"),
    GrabStatus.PACKET_EXPIRED: (PacketExpired, "the packet's life is over"),
    GrabStatus.PACKET_NOT_STARTED: (PacketNotStarted, "the packet opens later"),
}


class _Again(Enum):
    """Why the cache is asked again."""

    CORRECTED = auto()
    LOADING = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPorts:
    """The ports that every claim passes.

    *costs* counts what a user makes the ledger read: a claim is counted by its own row.
    """

    claim_cache: ClaimCache
    emptied: CachedEmptied
    packets: Packets
    payouts: PayoutQueue
    costs: UserLimit
    clock: Clock
    journal: Journal


class Gate(Protocol):
    """The rules of a packet that has some, for one taker."""

    def enter(self, terms: Terms) -> Admission | GrabOutcome | None:
        """Let a taker who has no share take one, or raise their refusal.

        An admission is their answer; an outcome is what the cache says instead of a share.
        """

    def quota(self) -> Quota | None:
        """Return what the taker's claim counts against."""


def claim_share(
    packet_id: str, taker: Person, *, gate: Gate, ports: ClaimPorts
) -> Claim | Admission:
    """Return the taker's one share of the packet, the same one whenever they ask.

    *gate* is asked only where the packet has rules. Raises PacketNotFound, PacketNotStarted,
    PacketEmptied, PacketExpired, QuotaExhausted; Unavailable where the outcome is unknown, and
    asking again gives the one true answer.
    """
    corrected_count, waits = 0, LoadWaits(ports.clock)
    while corrected_count < _TRIES:
        if ports.emptied.refuses(packet_id, taker.user_id):
            raise PacketEmptied(_REFUSALS[GrabStatus.PACKET_EMPTIED][1])
        outcome = asked = ports.claim_cache.grab(packet_id, taker.user_id)
        if asked.status is GrabStatus.PACKET_GATED:
            try:
                entered = gate.enter(Terms.parse(asked.terms))
            except (CampaignPaused, QuotaExhausted):
                # Who is refused for want of a passphrase or a token can give it again, and is then
                # told their share.
                if owned := _forgotten(packet_id, taker, ports):
                    return Claim(owned, is_new=False)
                raise
            if isinstance(entered, Admission):
                return entered
            outcome = entered or ports.claim_cache.take(packet_id, taker.user_id, asked.terms)
            outcome = replace(outcome, is_certain=asked.is_certain)
        claim = _claim_of(packet_id, taker, outcome, gate, ports)
        if isinstance(claim, Claim):
            return claim
        if claim is _Again.LOADING:
            waits.wait()
        else:
            corrected_count += 1
    msg = "the cache is being repaired"
    raise Unavailable(msg)


def _claim_of(
    packet_id: str, taker: Person, outcome: GrabOutcome, gate: Gate, ports: ClaimPorts
) -> Claim | _Again:
    """Turn the cache's answer into the ledger's, or tell why it must be asked again."""
    if refusal := _REFUSALS.get(outcome.status):
        error, detail = refusal
        if error is PacketEmptied and not outcome.is_certain and not is_cut(packet_id):
            # After a failover the crowd is not looked up one by one: the owners are brought back.
            if _bring_owners(packet_id, taker, ports):
                return _Again.CORRECTED
        elif (error is PacketExpired or not outcome.is_certain) and (
            owned := _forgotten(packet_id, taker, ports)
        ):
            return Claim(owned, is_new=False)
        if error is PacketEmptied:
            ports.emptied.remember(packet_id, outcome.terms)
        raise error(detail)
    if outcome.status is GrabStatus.PACKET_NOT_LOADED:
        part, claim_cache = outcome.part, ports.claim_cache
        is_loaded = load_among_many(
            packet_id,
            part,
            packets=ports.packets,
            claim_cache=claim_cache,
            before_read=lambda: ports.costs.count(taker.user_id),
        )
        return _Again.CORRECTED if is_loaded else _Again.LOADING
    if outcome.status is GrabStatus.ALREADY_CLAIMED:
        owned = _owned(packet_id, taker, ports)
        if owned and owned.share_no == outcome.share_no:
            return Claim(owned, is_new=False)
    share = _claimed_share(packet_id, taker, outcome, ports)
    # Also of a claim that was cut off after its gate: what it counts against is not in the cache.
    quota = gate.quota() if outcome.is_gated else None
    claim = _make_durable(share, taker, quota, ports)
    if isinstance(claim, Claim) and claim.is_new:
        _queue_payout(claim, ports)
    return claim


def _bring_owners(packet_id: str, taker: Person, ports: ClaimPorts) -> bool:
    """Load an emptied packet that may have lost owners, for all callers; False if that was done."""
    if not ports.claim_cache.begin_look(packet_id, 0, _LOOK_LIFE_MS):
        return False
    ports.costs.count(taker.user_id)
    reload_among_many(
        packet_id, 0, packets=ports.packets, claim_cache=ports.claim_cache, clock=ports.clock
    )
    return True


def _forgotten(packet_id: str, taker: Person, ports: ClaimPorts) -> ShareFate | None:
    """Return the share of a taker whom the cache may have forgotten in a failover (I5)."""
    if ports.claim_cache.knows_takers(packet_id, taker.user_id):
        return None
    return _owned(packet_id, taker, ports)


def _owned(packet_id: str, taker: Person, ports: ClaimPorts) -> ShareFate | None:
    """Ask the ledger for the taker's share. Raises RateLimited."""
    ports.costs.count(taker.user_id)
    return ports.packets.find_share_of(packet_id, taker.user_id)


def _claimed_share(
    packet_id: str, taker: Person, outcome: GrabOutcome, ports: ClaimPorts
) -> ShareFate:
    """Return the share as it will be written; its amount follows from the packet's terms."""
    if outcome.share_no is None:
        msg = f"{outcome.status} without a share number"
        raise InvariantViolated(msg)
    return ShareFate(
        packet_id=packet_id,
        share_no=outcome.share_no,
        fate=Fate.CLAIMED,
        amount_fen=share_amount_fen(_terms(packet_id, outcome, ports.packets), outcome.share_no),
        decided_at_ms=ports.clock.now_ms(),
        taker=taker,
        is_last=outcome.is_last,
    )


def _terms(packet_id: str, outcome: GrabOutcome, packets: Packets) -> Terms:
    """Read the terms from the cache's copy, which spares winners a read of the packet row.

    Payout recomputes every amount from the packet row, and refuses one that differs.
    """
    if outcome.terms:
        return Terms.parse(outcome.terms)
    # A load was cut off between its first users and the state.
    packet = packets.find_packet(packet_id)
    if packet is None:
        msg = "no such packet"
        raise PacketNotFound(msg)
    return packet.terms


def _make_durable(
    share: ShareFate, taker: Person, quota: Quota | None, ports: ClaimPorts
) -> Claim | _Again:
    """Write the share's fate, or tell why the cache must be asked for another one."""
    recorded = ports.packets.record_claim(share, quota)
    if recorded is RecordStatus.RECORDED:
        return Claim(share, is_new=True)
    if recorded is RecordStatus.SHARE_REFUNDED:
        msg = "too late: the share went back to the sender"
        raise PacketExpired(msg)
    if recorded is RecordStatus.QUOTA_EXHAUSTED:
        # The cache had forgotten what the taker has: the number is for somebody else.
        ports.claim_cache.release(share.packet_id, taker.user_id, share.share_no)
        raise QuotaExhausted(EXHAUSTED)
    if recorded is RecordStatus.SHARE_TAKEN:
        ports.journal.event("share_collision", packet_id=share.packet_id, share_no=share.share_no)
        ports.claim_cache.revoke(share.packet_id, taker.user_id, share.share_no)
        part = part_of_share(share.packet_id, share.share_no)
        reload_among_many(
            share.packet_id,
            part,
            packets=ports.packets,
            claim_cache=ports.claim_cache,
            clock=ports.clock,
        )
        return _Again.CORRECTED
    owned = ports.packets.find_share_of(share.packet_id, taker.user_id)
    if owned is None:
        msg = f"the taker of share {share.share_no} of {share.packet_id} has one without a fate"
        raise InvariantViolated(msg)
    if owned.share_no != share.share_no:
        ports.journal.event("share_given_back", packet_id=share.packet_id, share_no=share.share_no)
        ports.claim_cache.reassign(
            share.packet_id, taker.user_id, share.share_no, owned_no=owned.share_no
        )
    return Claim(owned, is_new=False)


def _queue_payout(claim: Claim, ports: ClaimPorts) -> None:
    try:
        ports.payouts.put([claim.share.ref])
    except Unavailable as error:
        # The claim's row is the outbox: the sweep queues it again within two minutes.
        ports.journal.failure("payout_not_queued", error, packet_id=claim.share.packet_id)
