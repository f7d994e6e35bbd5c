"""Sharded claim cache: users start at their home shard, and try others after it is emptied.

The cache stores each shard like a packet, in a separate slot; money, terms and share numbers belong
to the whole packet. Before a share from another shard becomes durable, it is noted in the user's
home shard, so that one read answers retries and late users.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from redpacket.packets.model.claim import (
    EMPTIED_KEPT_MS,
    AdmitOutcome,
    AdmitStatus,
    GrabOutcome,
    GrabStatus,
    Share,
)
from redpacket.packets.model.packet import (
    Packet,
    is_sharded,
    local_no,
    other_shards,
    shard_count,
    shard_id,
    shard_of_share,
    shard_of_user,
    share_no_of,
)
from redpacket.packets.ports import ShardCache
from redpacket.platform.process_cache import ProcessCache
from redpacket.platform.runtime import Clock

_EMPTIED_MAX = 10_000
"""Maximum shards that a process remembers as emptied, about 1 MB."""

Outcome = TypeVar("Outcome", GrabOutcome, AdmitOutcome)


@dataclass(frozen=True, slots=True)
class _Found(Generic[Outcome]):
    """First shard that is not emptied, or the user's home shard if all are emptied."""

    shard: int
    outcome: Outcome
    at_home: Outcome


class ShardedClaims:
    """ClaimCache implementation, which passes calls for an unsharded packet to its only shard."""

    def __init__(self, shards: ShardCache, *, clock: Clock) -> None:
        self._shards = shards
        self._clock = clock
        # Emptied shards to skip. CachedEmptied does this for small packets, which are not sharded.
        # The cache offers a returned number only after EMPTIED_KEPT_MS (lua/packet_amend.lua).
        self._emptied: ProcessCache[str, bool] = ProcessCache(
            clock.now_ms, kept_ms=EMPTIED_KEPT_MS, size_max=_EMPTIED_MAX
        )

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        if not is_sharded(packet_id):
            return self._shards.grab(packet_id, user_id)
        answer = self._first_left(
            packet_id, user_id, lambda cache_id: self._shards.grab(cache_id, user_id)
        )
        outcome = self._packet_outcome(packet_id, user_id, answer.shard, answer.outcome)
        return replace(outcome, is_certain=answer.at_home.is_certain)

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        if not is_sharded(packet_id):
            return self._shards.take(packet_id, user_id, terms)
        answer = self._first_left(
            packet_id, user_id, lambda cache_id: self._shards.take(cache_id, user_id, terms)
        )
        return self._packet_outcome(packet_id, user_id, answer.shard, answer.outcome)

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        """Admit to the first shard with shares left; the shards divide *admitted_max*."""
        if not is_sharded(packet_id):
            return self._shards.admit(
                packet_id, user_id, life_ms=life_ms, admitted_max=admitted_max
            )
        places = -(-admitted_max // shard_count(packet_id))
        answer = self._first_left(
            packet_id,
            user_id,
            lambda cache_id: self._shards.admit(
                cache_id, user_id, life_ms=life_ms, admitted_max=places
            ),
        )
        outcome, shard = answer.outcome, answer.shard
        if outcome.status is AdmitStatus.ALREADY_CLAIMED:
            outcome = replace(outcome, number=_share_no(packet_id, shard, outcome.number))
        return replace(outcome, shard=shard)

    def load(
        self,
        packet: Packet,
        shares: Sequence[Share],
        shard: int | None = None,
        *,
        is_new: bool = False,
    ) -> None:
        """Load shards from the ledger, and note the users' numbers in their home shards."""
        packet_id = packet.packet_id
        if not is_sharded(packet_id):
            self._shards.load(packet, shares, is_new=is_new)
            return
        own: dict[int, list[Share]] = defaultdict(list)
        notes: dict[int, dict[str, int]] = defaultdict(dict)
        for share in shares:
            of_share = shard_of_share(packet_id, share.share_no)
            own[of_share].append(replace(share, share_no=local_no(packet_id, share.share_no)))
            if share.claimer:
                home = shard_of_user(packet_id, share.claimer.user_id)
                if home != of_share:
                    notes[home][share.claimer.user_id] = -share.share_no
        for number in range(shard_count(packet_id)) if shard is None else (shard,):
            # A single shard's *shares* omit users of the shard who own a share of another shard.
            # Even before the start there may be such users, because edits move the start.
            is_whole = shard is None
            self._shards.load(packet, own[number], number, is_new=is_new, is_whole=is_whole)
            self._emptied.forget(shard_id(packet_id, number))
        for home, numbers in notes.items():
            self._shards.note(shard_id(packet_id, home), numbers)

    def has_all_claimers(self, packet_id: str, user_id: str) -> bool:
        """Check the home shard, which notes claims of other shards before they are durable."""
        cache_id = packet_id
        if is_sharded(packet_id):
            cache_id = shard_id(packet_id, shard_of_user(packet_id, user_id))
        return self._shards.has_all_claimers(cache_id, user_id)

    def is_loaded(self, packet_id: str, shard: int) -> bool:
        cache_id = shard_id(packet_id, shard) if is_sharded(packet_id) else packet_id
        return self._shards.is_loaded(cache_id, 0)

    def revoke(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Remove a number, and its note in the home shard, from a user who does not own it."""
        if not is_sharded(packet_id):
            self._shards.revoke(packet_id, user_id, share_no)
            return
        of_share, home = shard_of_share(packet_id, share_no), shard_of_user(packet_id, user_id)
        for shard in dict.fromkeys((of_share, home)):
            number = _number(packet_id, shard, share_no)
            self._shards.revoke(shard_id(packet_id, shard), user_id, number)

    def reassign(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        """Replace a number with the user's durable number; both may be in any shard."""
        if not is_sharded(packet_id):
            self._shards.reassign(packet_id, user_id, share_no, owned_no=owned_no)
            return
        home = shard_of_user(packet_id, user_id)
        owned = _number(packet_id, home, owned_no)
        if shard_of_share(packet_id, share_no) == home:
            number = local_no(packet_id, share_no)
            self._shards.reassign(shard_id(packet_id, home), user_id, number, owned_no=owned)
        else:
            self.release(packet_id, user_id, share_no)
            self._shards.note(shard_id(packet_id, home), {user_id: owned})

    def release(self, packet_id: str, user_id: str, share_no: int) -> None:
        if not is_sharded(packet_id):
            self._shards.release(packet_id, user_id, share_no)
            return
        of_share, home = shard_of_share(packet_id, share_no), shard_of_user(packet_id, user_id)
        # Release the number before its note, so that a retry after a crash finds the note.
        self._shards.release(shard_id(packet_id, of_share), user_id, local_no(packet_id, share_no))
        if of_share != home:
            self._shards.revoke(shard_id(packet_id, home), user_id, -share_no)

    def close(self, packet_id: str) -> None:
        for cache_id in _cache_ids(packet_id):
            self._shards.close(cache_id)

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        """Return the claimers of an emptied unsharded packet; sharded packets are too large."""
        return None if is_sharded(packet_id) else self._shards.emptied_by(packet_id)

    def _first_left(
        self, packet_id: str, user_id: str, ask: Callable[[str], Outcome]
    ) -> _Found[Outcome]:
        home = shard_of_user(packet_id, user_id)
        # Always query the home shard, because only it has all data about this user.
        at_home = ask(shard_id(packet_id, home))
        if self._note_emptied(shard_id(packet_id, home), at_home):
            for shard in other_shards(packet_id, user_id):
                cache_id = shard_id(packet_id, shard)
                if self._emptied.find(cache_id):
                    continue
                outcome = ask(cache_id)
                if not self._note_emptied(cache_id, outcome):
                    return _Found(shard, outcome, at_home)
        return _Found(home, at_home, at_home)

    def _note_emptied(self, cache_id: str, outcome: GrabOutcome | AdmitOutcome) -> bool:
        is_emptied = outcome.status.value == GrabStatus.PACKET_EMPTIED.value
        if is_emptied:
            self._emptied.keep(cache_id, value=True)
        else:
            self._emptied.forget(cache_id)
        return is_emptied

    def _packet_outcome(
        self, packet_id: str, user_id: str, shard: int, outcome: GrabOutcome
    ) -> GrabOutcome:
        """Note the number in the home shard, then return a shard's outcome as the packet's."""
        if outcome.status is GrabStatus.PACKET_EMPTIED:
            # Omit the terms, so that the caller doesn't add the packet to CachedEmptied.
            return GrabOutcome(outcome.status)
        if outcome.share_no is None:
            return replace(outcome, shard=shard)
        share_no = _share_no(packet_id, shard, outcome.share_no)
        home = shard_of_user(packet_id, user_id)
        if shard != home:
            self._shards.note(shard_id(packet_id, home), {user_id: -share_no})
        return replace(outcome, share_no=share_no, shard=shard)


def _cache_ids(packet_id: str) -> list[str]:
    if not is_sharded(packet_id):
        return [packet_id]
    return [shard_id(packet_id, shard) for shard in range(shard_count(packet_id))]


def _number(packet_id: str, shard: int, share_no: int) -> int:
    """Return a share's number in a shard: local for a share of this shard, otherwise negative."""
    is_own = shard_of_share(packet_id, share_no) == shard
    return local_no(packet_id, share_no) if is_own else -share_no


def _share_no(packet_id: str, shard: int, number: int) -> int:
    return share_no_of(packet_id, shard, number) if number > 0 else -number
