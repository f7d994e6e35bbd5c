"""One loop for grab and open: ask the cache for a share, and make the claim durable.

An amount is returned only after it is durable. If the cache lost its tail in a failover and
disagrees with the ledger, the ledger wins and the cache is repaired.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from redpacket.campaigns.errors import NotInAudience
from redpacket.packets.errors import PacketEmptied, PacketExpired, PacketNotStarted, QuotaExhausted
from redpacket.packets.model.claim import (
    Claim,
    GrabOutcome,
    GrabStatus,
    RecordStatus,
    Share,
    ShareStatus,
)
from redpacket.packets.model.packet import Rules, is_sharded, shard_of_share
from redpacket.packets.split import share_amount_fen
from redpacket.packets.use_cases.campaign_quota import CampaignQuota
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.packets.use_cases.load_packet import CacheLoads, ShardToLoad
from redpacket.platform.errors import InvariantViolated, Rejected, Unavailable
from redpacket.platform.user import User

Entered = TypeVar("Entered")

_LOOK_LIFE_MS = 30_000
"""After a failover, owners of an emptied packet are recognized again within this time (I5)."""

_REFUSALS: dict[GrabStatus, type[Rejected]] = {
    GrabStatus.PACKET_EMPTIED: PacketEmptied,
    GrabStatus.PACKET_EXPIRED: PacketExpired,
    GrabStatus.PACKET_NOT_STARTED: PacketNotStarted,
}


def claim_packet(
    packet_id: str,
    claimer: User,
    via: str | None,
    check_rules: Callable[[str], Rules],
    enter: Callable[[Rules, str, CampaignQuota], Entered | GrabOutcome | Rejected],
    ports: ClaimPorts,
) -> Claim | Entered:
    """Return the user's share, or what *enter* returns instead.

    *check_rules* gets the stored terms and returns the rules, or raises if they refuse the user.
    *enter* passes the gate of a packet with rules: it takes a share, refuses, or admits.
    Raises as `claim_share`.
    """
    loads = CacheLoads(packet_id, claimer.user_id, ports)
    with CampaignQuota(packet_id, claimer, ports) as quota:
        while True:
            if ports.emptied.refuses(packet_id, claimer.user_id):
                raise PacketEmptied
            answer: GrabOutcome | Rejected
            answer = first = ports.claim_cache.grab(packet_id, claimer.user_id)
            if first.status is GrabStatus.PACKET_GATED:
                entered = enter(check_rules(first.terms), first.terms, quota)
                if not isinstance(entered, GrabOutcome | Rejected):
                    return entered
                answer = entered
                if isinstance(answer, GrabOutcome):
                    answer = replace(answer, is_certain=answer.is_certain and first.is_certain)
            claim = claim_share(packet_id, claimer, answer, quota, check_rules, via, ports)
            if isinstance(claim, Claim):
                return claim
            loads.load(claim)


def claim_share(
    packet_id: str,
    claimer: User,
    answer: GrabOutcome | Rejected,
    quota: CampaignQuota,
    check_rules: Callable[[str], Rules],
    via: str | None,
    ports: ClaimPorts,
) -> Claim | ShardToLoad:
    """Turn the cache's answer, or a campaign's refusal, into the user's one share.

    A new claim stores *via*, the user who shared the link; a repeat does not change it.
    Return a shard that the cache lacks: the caller loads it and retries. Raises PacketNotFound,
    PacketNotStarted, PacketEmptied, PacketExpired, QuotaExhausted, NotInAudience. After Unavailable
    the outcome is unknown; a retry returns it.
    """
    if isinstance(answer, Rejected):
        return _own_or_refuse(packet_id, claimer, answer, ports)
    if answer.status in _REFUSALS:
        return _refuse(packet_id, claimer, answer, ports)
    if answer.share_no is None:
        return _shard_to_load(packet_id, answer, ports)
    if answer.status is GrabStatus.ALREADY_CLAIMED:
        owned = _owned(packet_id, claimer, ports)
        if owned and owned.share_no == answer.share_no:
            return Claim(owned, is_new=False)
        if owned is None and answer.is_gated:
            # The claim was interrupted, or the cache entry is forged.
            quota.check(check_rules(answer.terms))
    share = replace(_named_share(packet_id, claimer, answer, answer.share_no, ports), via=via)
    if ports.risk and not ports.risk.allows(claimer):
        ports.claim_cache.release(packet_id, claimer.user_id, share.share_no)
        raise NotInAudience
    # The cache does not store which quota an interrupted claim counts against.
    counted = quota.find() if answer.is_gated else None
    recorded = ports.claims.record_claim(share, counted)
    if recorded is not RecordStatus.RECORDED:
        return _corrected(recorded, share, claimer, ports)
    try:
        ports.payouts.put([share.ref])
    except Unavailable as error:
        # The claim's row is the outbox: the sweep queues it again within two minutes.
        ports.logger.failure("payout_not_queued", error, packet_id=packet_id)
    return Claim(share, is_new=True)


def _shard_to_load(packet_id: str, answer: GrabOutcome, ports: ClaimPorts) -> ShardToLoad:
    if answer.status is GrabStatus.PACKET_ALTERED:
        ports.logger.event("packet_altered", packet_id=packet_id)
    return ShardToLoad(answer.shard, is_behind=False)


def _own_or_refuse(packet_id: str, claimer: User, refusal: Rejected, ports: ClaimPorts) -> Claim:
    """Return the user's share if the cache lost it in a failover (I5), or raise *refusal*."""
    if ports.claim_cache.knows_claimers(packet_id, claimer.user_id):
        raise refusal
    owned = _owned(packet_id, claimer, ports)
    if owned is None:
        raise refusal
    return Claim(owned, is_new=False)


def _refuse(
    packet_id: str, claimer: User, answer: GrabOutcome, ports: ClaimPorts
) -> Claim | ShardToLoad:
    error = _REFUSALS[answer.status]
    if error is PacketEmptied:
        if not answer.is_certain and is_sharded(packet_id):
            return _own_or_refuse(packet_id, claimer, error(), ports)
        # After a failover, reload the owners once instead of looking up each user of the crowd.
        if not answer.is_certain and ports.turns.begin_look(packet_id, 0, _LOOK_LIFE_MS):
            ports.costs.count(claimer.user_id)
            return ShardToLoad(0, is_behind=True)
        ports.emptied.put(packet_id, answer.terms)
    elif error is PacketExpired or not answer.is_certain:
        return _own_or_refuse(packet_id, claimer, error(), ports)
    raise error


def _owned(packet_id: str, claimer: User, ports: ClaimPorts) -> Share | None:
    ports.costs.count(claimer.user_id)
    return ports.packets.find_share_of(packet_id, claimer.user_id)


def _named_share(
    packet_id: str, claimer: User, outcome: GrabOutcome, share_no: int, ports: ClaimPorts
) -> Share:
    return Share(
        packet_id=packet_id,
        share_no=share_no,
        status=ShareStatus.CLAIMED,
        amount_fen=share_amount_fen(ports.seeds.read_terms(packet_id, outcome.terms), share_no),
        decided_at_ms=ports.clock.now_ms(),
        claimer=claimer,
        is_last=outcome.is_last,
    )


def _corrected(
    recorded: RecordStatus, share: Share, claimer: User, ports: ClaimPorts
) -> Claim | ShardToLoad:
    """Repair the cache, which named a share that the ledger does not grant to this user."""
    if recorded is RecordStatus.SHARE_REFUNDED:
        raise PacketExpired
    if recorded in {RecordStatus.QUOTA_EXHAUSTED, RecordStatus.NOT_IN_AUDIENCE}:
        # The cache lost a count or missed an edit, or the host denied the user: release the share.
        ports.claim_cache.release(share.packet_id, claimer.user_id, share.share_no)
        if recorded is RecordStatus.QUOTA_EXHAUSTED:
            raise QuotaExhausted
        ports.costs.count(claimer.user_id)
        raise NotInAudience
    if recorded is RecordStatus.SHARE_TAKEN:
        ports.logger.event("share_collision", packet_id=share.packet_id, share_no=share.share_no)
        ports.claim_cache.revoke(share.packet_id, claimer.user_id, share.share_no)
        return ShardToLoad(shard_of_share(share.packet_id, share.share_no), is_behind=True)
    owned = ports.packets.find_share_of(share.packet_id, claimer.user_id)
    if owned is None:
        raise InvariantViolated(
            f"the taker of share {share.share_no} of {share.packet_id} has a row but no share"
        )
    if owned.share_no != share.share_no:
        ports.logger.event("share_given_back", packet_id=share.packet_id, share_no=share.share_no)
        ports.claim_cache.reassign(
            share.packet_id, claimer.user_id, share.share_no, owned_no=owned.share_no
        )
    return Claim(owned, is_new=False)
