"""Shards in Redis or Valkey: one hash per shard, and scripts that make each claim atomic.

An unsharded packet is one shard. `use_cases/sharded_claims.py` combines the shards of a packet.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from redpacket.packets.model.claim import (
    AdmitOutcome,
    AdmitStatus,
    GrabOutcome,
    GrabStatus,
    Share,
    ShareStatus,
)
from redpacket.packets.model.packet import Packet, PacketStatus, is_sharded, shard_id, shard_size
from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.packets.redis import keys
from redpacket.packets.redis.packet_state import OPENS_MS_MAX, PacketHeads
from redpacket.platform.errors import CacheAltered
from redpacket.platform.redis.client import Client
from redpacket.platform.redis.connect import Cache, Script

STATE = "#"
"""Field with a packet's state (lua/lib/state.lua); all other fields are user ids."""

_GATED = "!"
"""Mark after the terms: the packet has rules."""
_FORGETFUL = "?"
"""Mark after the others: the shard may lack notes of its users' shares in other shards."""

_EMPTIED, _CLOSED = "E", "C"
_REFUSED_BY_LETTER = {_EMPTIED: GrabStatus.PACKET_EMPTIED, _CLOSED: GrabStatus.PACKET_EXPIRED}

_KEEP_AFTER_EXPIRY_MS = 24 * 3600 * 1000
"""Milliseconds for which a key outlives its packet. Later grabs load the packet from the ledger.

The scripts derive the packet's end from the key's remaining life (lua/lib/open.lua).
"""

_MOVES_MS = 24 * 3600 * 1000
"""Additional milliseconds that the key of a campaign's packet lives, because edits move the end.

If an edit moves the end further, a claim loads the packet again (claim_share.py).
"""

_SENT, _TOLD = "sent", "told"
"""Arguments of packet_load.lua that say why the loaded hash has every claimer."""

_CERTAIN_S = 1.0
"""Seconds for which a process trusts that a packet's hash has every claimer."""

_LIFE_S = 10.0
"""Seconds for which a process trusts a server life (lua/lib/life.lua) that it has verified."""

_REMEMBERED_MAX = 1_000

_PAIRS_PER_LOAD = 1_000
"""Maximum pairs per script call; ElastiCache Serverless allows 3,999 arguments."""

_SEEN_OPEN_S = 0.1
"""Seconds after a claim in which further claims skip the read, because the script also checks."""

_SEEN_MAX = 1_000
"""Maximum packets that a process remembers as open, about 300 KB."""


class _Head(NamedTuple):
    """Data from a packet's state that outcomes contain; *at_s* is the time of the last claim."""

    terms: str
    is_gated: bool = False
    is_certain: bool = True
    at_s: float = 0.0


class RedisShards(Cache):
    """ShardCache and LoadTurns implementation for Redis and Valkey."""

    def __init__(self, client: Client, seeds: SeedKeys) -> None:
        super().__init__(client)
        self._heads = PacketHeads(seeds)
        self._grab = Script.read("packet_grab")
        self._load = Script.read("packet_load")
        self._amend = Script.read("packet_amend")
        self._close = Script.read("packet_close")
        self._admit = Script.read("packet_admit")
        self._seen_open: dict[str, _Head] = {}
        self._certain = Script.read("packet_certain")
        self._certain_at_s: dict[str, float] = {}
        self._life_at_s: dict[str, float] = {}

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        try:
            return self._look_and_take(packet_id, user_id)
        except CacheAltered:
            return GrabOutcome(GrabStatus.PACKET_ALTERED)

    def _look_and_take(self, packet_id: str, user_id: str) -> GrabOutcome:
        now_s = time.monotonic()
        seen = self._seen_open.get(packet_id)
        if seen and now_s - seen.at_s < _SEEN_OPEN_S:
            outcome = self._take(packet_id, user_id, seen)
            if outcome.share_no is not None:
                self._note_open(packet_id, seen, outcome, now_s)
                return outcome
            # Read after all, because a refusal needs the current state and marks.
            self._seen_open.pop(packet_id, None)
        # Most users lose, and one native read is cheaper than any script (ADR 0002).
        key = keys.claim_cache(packet_id)
        state, owned_no = self.ask("HMGET", key, STATE, user_id)
        head = self._heads.read(key, str(state)) if state else None
        if head is None:
            return self._without_head(key, has_state=bool(state))
        letter, (terms, marks) = str(state)[0], head
        is_gated, is_certain = _GATED in marks, _FORGETFUL not in marks
        if owned_no:
            owned = GrabStatus.ALREADY_CLAIMED
            return GrabOutcome(
                owned,
                int(owned_no),
                terms,
                is_gated,
                is_last=letter == _EMPTIED,
                is_closed=letter == _CLOSED,
            )
        if refused := _REFUSED_BY_LETTER.get(letter):
            if letter == _EMPTIED:
                is_certain = is_certain and self._is_whole(packet_id, marks, now_s)
            return GrabOutcome(refused, None, terms, is_certain=is_certain)
        if is_gated:
            gated = GrabStatus.PACKET_GATED
            return GrabOutcome(gated, None, terms, is_gated, is_certain=is_certain)
        now = _Head(terms, is_certain=is_certain)
        outcome = self._doubted(packet_id, user_id, self._take(packet_id, user_id, now))
        self._note_open(packet_id, now, outcome, now_s)
        return outcome

    def _without_head(self, key: str, *, has_state: bool) -> GrabOutcome:
        """Remove a state that no loader wrote, so that the next load writes it."""
        if not has_state:
            return GrabOutcome(GrabStatus.PACKET_NOT_LOADED)
        self.ask("HDEL", key, STATE)
        return GrabOutcome(GrabStatus.PACKET_ALTERED)

    def _doubted(self, packet_id: str, user_id: str, outcome: GrabOutcome) -> GrabOutcome:
        """Return *outcome*, marked as uncertain if the cache may lack a claim of the user."""
        if outcome.status is not GrabStatus.PACKET_EMPTIED or not outcome.is_certain:
            return outcome
        return replace(outcome, is_certain=self.has_all_claimers(packet_id, user_id))

    def _is_whole(self, packet_id: str, marks: str, now_s: float) -> bool:
        _, is_life, life = marks.partition("@")
        if not is_life:
            return "*" in marks
        proved_at_s = self._life_at_s.get(life)
        if proved_at_s is not None and now_s - proved_at_s < _LIFE_S:
            return True
        is_whole = self.run(self._certain, keys.claim_cache(packet_id)) == "certain"
        if is_whole:
            if len(self._life_at_s) >= _REMEMBERED_MAX:
                self._life_at_s.clear()
            self._life_at_s[life] = now_s
        return is_whole

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        outcome = self._take(packet_id, user_id, _Head(terms, is_gated=True))
        return self._doubted(packet_id, user_id, outcome)

    def _take(self, packet_id: str, user_id: str, head: _Head) -> GrabOutcome:
        answer = self.run(self._grab, keys.claim_cache(packet_id), user_id)
        status, _, number = answer.partition(" ")
        if not number:
            return GrabOutcome(GrabStatus(status), is_certain=head.is_certain)
        share_no, _, last = number.partition(" ")
        return GrabOutcome(
            GrabStatus(status),
            int(share_no),
            head.terms,
            head.is_gated,
            is_certain=head.is_certain,
            is_last=bool(last),
        )

    def _note_open(self, packet_id: str, head: _Head, outcome: GrabOutcome, now_s: float) -> None:
        """Remember whether a packet that has just granted a share has more shares."""
        if outcome.is_last:
            self._seen_open.pop(packet_id, None)
        elif outcome.status is GrabStatus.CLAIMED:
            if len(self._seen_open) >= _SEEN_MAX:
                self._seen_open.clear()
            self._seen_open[packet_id] = head._replace(at_s=now_s)

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        script_keys = [keys.claim_cache(packet_id), keys.admitted(packet_id)]
        answer = self.run(self._admit, script_keys, user_id, life_ms, admitted_max)
        status, _, number = answer.partition(" ")
        return AdmitOutcome(AdmitStatus(status), int(number.partition(" ")[0] or 0))

    def load(
        self,
        packet: Packet,
        shares: Sequence[Share],
        shard: int | None = None,
        *,
        is_new: bool = False,
        is_whole: bool = True,
    ) -> None:
        marks = ("" if packet.rules.is_plain else _GATED) + ("" if is_whole else _FORGETFUL)
        cache_id, count, proof = packet.packet_id, packet.terms.count, _SENT if is_new else ""
        if shard is not None and is_sharded(packet.packet_id):
            # One shard has no proof, because its users may own shares of other shards.
            cache_id, count = shard_id(packet.packet_id, shard), shard_size(packet, shard)
        elif len(shares) == count:
            # If every share is claimed or refunded, no claimer can be missing.
            proof = _TOLD
        self._load_entry(cache_id, packet, count, shares, marks, proof)

    def begin_load(self, packet_id: str, shard: int, life_ms: int) -> bool:
        return self.take_turn(keys.loading(packet_id, shard), "", life_ms)

    def begin_look(self, packet_id: str, life_ms: int) -> bool:
        return self.take_turn(keys.looking(packet_id), "", life_ms)

    def hold_load(self, packet_id: str, shard: int, life_ms: int) -> None:
        self.ask("PEXPIRE", keys.loading(packet_id, shard), life_ms)

    def is_loaded(
        self,
        packet_id: str,
        shard: int,  # noqa: ARG002 - an unsharded packet is one shard
    ) -> bool:
        return bool(self.ask("HEXISTS", keys.claim_cache(packet_id), STATE))

    def note(self, cache_id: str, numbers: Mapping[str, int]) -> None:
        pairs = list(numbers.items())
        for start in range(0, len(pairs), _PAIRS_PER_LOAD):
            args: list[str | int] = [0, "", "", 0, "", ""]
            args += chain.from_iterable(pairs[start : start + _PAIRS_PER_LOAD])
            self.run(self._load, keys.claim_cache(cache_id), *args)

    def _load_entry(
        self,
        cache_id: str,
        packet: Packet,
        count: int,
        shares: Sequence[Share],
        marks: str,
        proof: str,
    ) -> None:
        key = keys.claim_cache(cache_id)
        keep_until_ms = packet.expires_at_ms + _KEEP_AFTER_EXPIRY_MS
        # A packet may end before its start.
        opens_ms = max(0, keep_until_ms - packet.starts_at_ms)
        if packet.rules.campaign_id:
            # The campaign's window decides (campaign_quota.py), so the key opens immediately.
            keep_until_ms, opens_ms = keep_until_ms + _MOVES_MS, OPENS_MS_MAX
        head = self._heads.write(key, packet.terms, count, opens_ms, marks)
        numbers = {share.share_no for share in shares}
        durable_no = max(numbers, default=0)
        free = ",".join(str(no) for no in range(1, durable_no) if no not in numbers)
        # Refunded shares have no claimer.
        pairs: list[tuple[str, int]] = [
            (share.claimer.user_id, share.share_no) for share in shares if share.claimer
        ]
        last_start = max(0, (len(pairs) - 1) // _PAIRS_PER_LOAD * _PAIRS_PER_LOAD)
        life = "-"
        for start in range(0, last_start + 1, _PAIRS_PER_LOAD):
            letter, proven = "", ""
            if start == last_start:
                letter = _letter(packet, count, shares)
                proven = f"{proof} {life} {len(pairs)}" if proof == _TOLD else proof
            args: list[str | int] = [keep_until_ms, letter, head, durable_no, free, proven]
            for user_id, share_no in pairs[start : start + _PAIRS_PER_LOAD]:
                args += [user_id, share_no]
            answer = self.run(self._load, key, *args)
            # Keep the server life of the first call: if it differs in the last one, data was lost.
            life = answer.partition(" ")[2] or "?" if life == "-" else life

    def revoke(self, packet_id: str, user_id: str, share_no: int) -> None:
        self.run(self._amend, keys.claim_cache(packet_id), user_id, share_no, "")

    def reassign(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        self.run(self._amend, keys.claim_cache(packet_id), user_id, share_no, owned_no)

    def release(self, packet_id: str, user_id: str, share_no: int) -> None:
        self.run(self._amend, keys.claim_cache(packet_id), user_id, share_no, 0)

    def close(self, packet_id: str) -> None:
        self.run(self._close, keys.claim_cache(packet_id))

    def has_all_claimers(
        self,
        packet_id: str,
        user_id: str,  # noqa: ARG002 - an unsharded packet is one shard
    ) -> bool:
        key, now_s = keys.claim_cache(packet_id), time.monotonic()
        known_at_s = self._certain_at_s.get(key)
        if known_at_s is not None and now_s - known_at_s < _CERTAIN_S:
            return True
        is_certain = self.run(self._certain, key) == "certain"
        if is_certain:
            if len(self._certain_at_s) >= _REMEMBERED_MAX:
                self._certain_at_s.clear()
            self._certain_at_s[key] = now_s
        return is_certain

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        fields = dict(_pairs(self.ask("HGETALL", keys.claim_cache(packet_id))))
        is_emptied = fields.get(STATE, "").startswith(_EMPTIED)
        return frozenset(fields.keys() - {STATE}) if is_emptied else None


def _pairs(fields: Sequence[str]) -> Iterator[tuple[str, str]]:
    return zip(fields[::2], fields[1::2], strict=True)


def _letter(packet: Packet, count: int, shares: Sequence[Share]) -> str:
    # If all shares are claimed, write "O": the script then sets "emptied" instead of "expired".
    claimed_count = sum(share.status is ShareStatus.CLAIMED for share in shares)
    return "O" if packet.status is PacketStatus.OPEN or claimed_count == count else "C"
