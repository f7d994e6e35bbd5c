"""Suite for the claim cache and the quotas, in memory and with a real server.

The random scenario compares all answers with the fake's, which the tests of use cases check.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.campaigns.redis import keys as campaign_keys
from redpacket.packets.model.claim import EMPTIED_KEPT_MS, GrabOutcome, Quota
from redpacket.packets.model.packet import (
    Opening,
    Packet,
    PacketStatus,
    Rules,
    is_sharded,
    shard_count,
    shard_id,
    shard_of_share,
)
from redpacket.packets.ports import ClaimCache, LoadTurns, Quotas, ShardCache
from redpacket.packets.redis import keys
from redpacket.packets.redis.quotas import RedisQuotas
from redpacket.packets.redis.shards import RedisShards
from redpacket.packets.use_cases.sharded_claims import ShardedClaims
from testing.builders import a_claim, a_packet, a_packet_id
from testing.fakes import FakeClock, FakeQuotas, FakeShards
from testing.packets.held_numbers import held_numbers
from testing.platform.servers import OperatorCache

DAY_MS = 24 * 3_600_000


@pytest.fixture(params=["fake", "redis", "parted"])
def claim_cache(request: pytest.FixtureRequest) -> Iterator[ClaimCache]:
    if request.param == "fake":
        yield FakeShards(FakeClock(_now_ms()))
    else:
        cache: OperatorCache = request.getfixturevalue("cache")
        claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
        yield (
            claim_cache
            if request.param == "redis"
            else ShardedClaims(claim_cache, clock=FakeClock())
        )


@pytest.fixture(params=["fake", "redis"])
def turns(request: pytest.FixtureRequest) -> LoadTurns:
    if request.param == "fake":
        return FakeShards(FakeClock(_now_ms()))
    return RedisShards(request.getfixturevalue("cache"), PUBLISHED_SEEDS)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _pass_time(claim_cache: ClaimCache | LoadTurns, ms: int) -> None:
    if isinstance(claim_cache, FakeShards):
        claim_cache.clock.sleep_ms(ms)
    else:
        time.sleep(ms / 1000)


def _packet(count: int = 3, **changes: Any) -> Packet:
    return a_packet(100 * count, count, created_at_ms=_now_ms() - 1000, **changes)


def _gated(claim_cache: ClaimCache, count: int = 3, **changes: int) -> Packet:
    packet = replace(_packet(count, **changes), rules=Rules(opening=Opening.TWO_STEP))
    claim_cache.load(packet, [])
    return packet


def _admit(
    claim_cache: ClaimCache, packet: Packet, user_id: str, admitted_max: int = 2
) -> tuple[str, int]:
    outcome = claim_cache.admit(
        packet.packet_id, user_id, life_ms=60_000, admitted_max=admitted_max
    )
    return outcome.status, outcome.number


def _grab(claim_cache: ClaimCache, packet: Packet, user_id: str) -> tuple[str, int | None]:
    outcome = claim_cache.grab(packet.packet_id, user_id)
    return outcome.status, outcome.share_no


def test_one_of_many_callers_is_asked_to_load_a_shard(turns: LoadTurns) -> None:
    packet_id = _packet().packet_id

    answers = [turns.begin_load(packet_id, 0, 300) for _ in range(3)]

    assert answers == [True, False, False]
    assert turns.begin_load(packet_id, 1, 300)
    assert [turns.begin_look(packet_id, 300) for _ in range(2)] == [True, False]
    _pass_time(turns, 310)
    assert turns.begin_load(packet_id, 0, 300)


def test_a_lease_can_be_extended_and_ended(turns: LoadTurns) -> None:
    packet_id = _packet().packet_id
    assert turns.begin_load(packet_id, 0, 100)

    turns.hold_load(packet_id, 0, 5_000)
    _pass_time(turns, 110)
    assert not turns.begin_load(packet_id, 0, 100)
    turns.hold_load(packet_id, 0, 0)

    assert turns.begin_load(packet_id, 0, 100)


def test_the_window_is_checked(claim_cache: ClaimCache) -> None:
    early = _packet(starts_at_ms=_now_ms() + 60_000)
    late = _packet(expires_at_ms=_now_ms() - 500)
    for packet in (early, late):
        claim_cache.load(packet, [])

    assert _grab(claim_cache, early, "ann") == ("packet_not_started", None)
    assert _grab(claim_cache, late, "ann") == ("packet_expired", None)


def test_a_grab_checks_the_window_of_a_packet_with_rules(claim_cache: ClaimCache) -> None:
    early = _gated(claim_cache, starts_at_ms=_now_ms() + 60_000)
    late = _gated(claim_cache, expires_at_ms=_now_ms() - 500)

    assert claim_cache.take(early.packet_id, "ann", "").status == "packet_not_started"
    assert claim_cache.take(late.packet_id, "ann", "").status == "packet_expired"


def test_the_cache_has_no_window_for_a_campaign_packet(claim_cache: ClaimCache) -> None:
    rain = Rules(campaign_id="rain")
    early = _packet(starts_at_ms=_now_ms() + 60_000, rules=rain)
    late = _packet(expires_at_ms=_now_ms() - 500, rules=rain)
    for packet in (early, late):
        claim_cache.load(packet, [])

    for packet in (early, late):
        assert claim_cache.take(packet.packet_id, "ann", "").status == "claimed"
        claim_cache.close(packet.packet_id)
        assert claim_cache.take(packet.packet_id, "bob", "").status == "packet_expired"


def test_the_owner_of_a_share_sees_that_the_packet_is_closed(claim_cache: ClaimCache) -> None:
    packet = _packet()
    claim_cache.load(packet, [])
    claim_cache.grab(packet.packet_id, "ann")

    before = claim_cache.grab(packet.packet_id, "ann")
    claim_cache.close(packet.packet_id)
    # Wait, because shortly after a claim, a process calls only the script.
    _pass_time(claim_cache, 110)
    after = claim_cache.grab(packet.packet_id, "ann")

    assert (before.share_no, before.is_closed) == (1, False)
    assert (after.share_no, after.is_closed) == (1, True)


def test_a_packet_that_ended_before_its_start_is_closed(claim_cache: ClaimCache) -> None:
    packet = _packet(
        starts_at_ms=_now_ms() + 30 * DAY_MS,
        expires_at_ms=_now_ms() - 500,
        status=PacketStatus.CLOSING,
    )

    claim_cache.load(packet, [])

    assert _grab(claim_cache, packet, "ann") == ("packet_expired", None)


def test_a_load_with_another_end_neither_shortens_nor_closes_a_campaign_packet(
    claim_cache: ClaimCache, request: pytest.FixtureRequest
) -> None:
    packet = _packet(rules=Rules(campaign_id="rain"))
    extended = replace(packet, expires_at_ms=packet.expires_at_ms + 90 * DAY_MS)
    for loaded in (packet, extended, packet):
        claim_cache.load(loaded, [])

    assert claim_cache.take(packet.packet_id, "ann", "").status == "claimed"
    if not isinstance(claim_cache, FakeShards):
        cache: OperatorCache = request.getfixturevalue("cache")
        key = keys.claim_cache(packet.packet_id)
        assert cache.pexpiretime(key) == extended.expires_at_ms + 2 * DAY_MS


def test_a_returned_number_is_offered_again_in_time_after_its_key_is_extended(
    claim_cache: ClaimCache,
) -> None:
    packet = _packet(count=1, rules=Rules(campaign_id="rain"))
    claim_cache.load(packet, [])
    assert claim_cache.take(packet.packet_id, "ann", "").share_no == 1
    claim_cache.release(packet.packet_id, "ann", 1)

    claim_cache.load(replace(packet, expires_at_ms=packet.expires_at_ms + 90 * DAY_MS), [])

    assert claim_cache.take(packet.packet_id, "bob", "").status == "packet_emptied"
    _pass_time(claim_cache, EMPTIED_KEPT_MS + 50)
    assert claim_cache.take(packet.packet_id, "bob", "").share_no == 1


def test_an_expired_admission_frees_its_slot(claim_cache: ClaimCache) -> None:
    packet = _gated(claim_cache)
    claim_cache.admit(packet.packet_id, "ann", life_ms=0, admitted_max=1)

    assert _admit(claim_cache, packet, "bob", admitted_max=1)[0] == "admitted"


def test_no_user_is_admitted_if_nothing_is_left_to_open(claim_cache: ClaimCache) -> None:
    emptied, closed, unknown = _gated(claim_cache, count=1), _gated(claim_cache), _packet()
    early = _gated(claim_cache, starts_at_ms=_now_ms() + 60_000)
    late = _gated(claim_cache, expires_at_ms=_now_ms() - 500)
    claim_cache.take(emptied.packet_id, "ann", str(emptied.terms))
    claim_cache.close(closed.packet_id)

    assert _admit(claim_cache, emptied, "ann") == ("already_claimed", 1)
    assert _admit(claim_cache, emptied, "bob") == ("packet_emptied", 0)
    assert _admit(claim_cache, closed, "bob") == ("packet_expired", 0)
    assert _admit(claim_cache, late, "bob") == ("packet_expired", 0)
    assert _admit(claim_cache, early, "bob") == ("packet_not_started", 0)
    assert _admit(claim_cache, unknown, "bob") == ("packet_not_loaded", 0)


def test_the_count_of_a_quota_expires_after_a_day(cache: OperatorCache) -> None:
    quotas = RedisQuotas(cache)
    quotas.reserve(Quota("newyear", 2), "ann", "one")
    quotas.reserve(Quota("newyear", 2), "bob", "one", claimed_count=2)

    for user in ("ann", "bob"):
        assert 0 < cache.pttl(campaign_keys.quota("newyear", user)) <= 24 * 3600 * 1000


# ---------------------------------------------------------------- the scripts and the fake


class _Scenario:
    """Random calls to the fake and to a real server, both of which must give the same answers."""

    def __init__(self, seed: int, cache: OperatorCache) -> None:
        self.random = random.Random(seed)
        self.clock = FakeClock(_now_ms())
        self.fake = FakeShards(self.clock)
        self.cache = cache
        self.quotas: list[Quotas] = [FakeQuotas(), RedisQuotas(cache)]
        self.forget()
        self.packets = [self._packet() for _ in range(12)]
        # The ledger's contents: the claimer of each durable number.
        self.outcomes: dict[str, dict[int, str]] = {packet.packet_id: {} for packet in self.packets}

    def forget(self) -> None:
        """Clear the process caches, because no answer here may depend on them."""
        inner: list[ShardCache] = [self.fake, RedisShards(self.cache, PUBLISHED_SEEDS)]
        self.sides = [ShardedClaims(cache, clock=self.clock) for cache in inner]

    def _packet(self) -> Packet:
        pick = self.random.choice
        ended = pick(({}, {}, {}, {"expires_at_ms": _now_ms() - 500}))
        shards = pick((1, 1, 1, 3))
        return replace(
            _packet(shards * pick((1, 2, 3)), packet_id=a_packet_id(shards), **ended),
            status=pick((PacketStatus.OPEN, PacketStatus.OPEN, PacketStatus.CLOSING)),
            rules=pick(
                (Rules(), Rules(), Rules(opening=Opening.TWO_STEP), Rules(campaign_id="rain"))
            ),
        )

    def move(self) -> None:
        self.clock.at_ms = _now_ms()
        if self.random.random() < 0.5:
            self.forget()
        packet = self.random.choice(self.packets)
        for cache_id in self._caches_of(packet):
            reopens_at_ms = self.fake.caches.get(cache_id, {}).get("reopens_at_ms", 0)
            if abs(reopens_at_ms - self.clock.at_ms) < 300:
                return  # The server's clock may already have passed this time.
        user = self.random.choice("abcdefg")
        moves: list[Callable[[Packet, str], Callable[[ClaimCache], Any]]] = [
            *(self._load, self._close, self._admit, self._take, self._ask, self._outcome),
            *(self._grab, self._grab, self._grab, self._correct, self._correct),
            *(self._evict, self._know),
        ]
        if self.random.random() < 0.1:
            self._reserve(packet, user)
            return
        do = self.random.choice(moves)(packet, user)
        expected, actual = (do(side) for side in self.sides)
        assert actual == expected, (do, packet, user)

    @staticmethod
    def _caches_of(packet: Packet) -> list[str]:
        shards = range(shard_count(packet.packet_id))
        is_whole = not is_sharded(packet.packet_id)
        return (
            [packet.packet_id]
            if is_whole
            else [shard_id(packet.packet_id, shard) for shard in shards]
        )

    def _held(self, packet: Packet, user: str) -> int:
        """Return the user's share number, or a random one if the user has no share."""
        held = held_numbers(self.sides[0], packet.packet_id, [user])
        return held.get(user, self.random.randint(1, packet.terms.count))

    def _grab(self, packet: Packet, user: str) -> Callable[[ClaimCache], Any]:
        return lambda side: _told(side.grab(packet.packet_id, user))

    def _take(self, packet: Packet, user: str) -> Callable[[ClaimCache], Any]:
        if packet.rules.is_plain or not all(
            self.fake.is_loaded(cache_id, 0) for cache_id in self._caches_of(packet)
        ):
            return self._grab(packet, user)
        return lambda side: _told(side.take(packet.packet_id, user, packet.terms.stored))

    def _admit(self, packet: Packet, user: str) -> Callable[[ClaimCache], Any]:
        return lambda side: _admit(side, packet, user)[0]

    def _load(self, packet: Packet, _: str) -> Callable[[ClaimCache], Any]:
        if self.random.random() < 0.3:
            return lambda side: side.load(packet, [], is_new=True)
        outcomes = self.outcomes[packet.packet_id].items()
        shares = [a_claim(packet, share_no, user) for share_no, user in outcomes]
        if is_sharded(packet.packet_id) and self.random.random() < 0.7:
            shard = self.random.randrange(shard_count(packet.packet_id))
            own = [
                share
                for share in shares
                if shard_of_share(packet.packet_id, share.share_no) == shard
            ]
            return lambda side: side.load(packet, own, shard)
        return lambda side: side.load(packet, shares)

    def _outcome(self, packet: Packet, user: str) -> Callable[[ClaimCache], Any]:
        """Record in the ledger a claim that the cache may lack."""
        outcomes = self.outcomes[packet.packet_id]
        free = {*range(1, packet.terms.count + 1)} - outcomes.keys()
        share_no = self._held(packet, user)
        if share_no in free and user not in outcomes.values():
            outcomes[share_no] = user
        return self._ask(packet, user)

    def _evict(self, packet: Packet, _: str) -> Callable[[ClaimCache], Any]:
        """Sometimes delete one of a packet's shards, as if the server had lost it."""
        cache_id = self.random.choice(self._caches_of(packet))
        if self.random.random() < 0.1:
            self.fake.caches.pop(cache_id, None)
            self.cache.delete(keys.claim_cache(cache_id), keys.admitted(cache_id))
        return self._ask(packet, "a")

    def _know(self, packet: Packet, user: str) -> Callable[[ClaimCache], Any]:
        self.forget()
        return lambda side: side.has_all_claimers(packet.packet_id, user)

    def _reserve(self, packet: Packet, user: str) -> None:
        quota = Quota(self.random.choice(("newyear", "lantern")), self.random.randint(1, 3))
        claimed_count = self.random.choice((None, None, 0, 1, 2))
        is_release = self.random.random() < 0.3
        expected, quota_status = (
            side.release(quota, user, packet.packet_id)  # type: ignore[func-returns-value]
            if is_release
            else side.reserve(quota, user, packet.packet_id, claimed_count=claimed_count)
            for side in self.quotas
        )
        assert quota_status == expected

    def _close(self, packet: Packet, _: str) -> Callable[[ClaimCache], Any]:
        return lambda side: side.close(packet.packet_id)

    def _correct(self, packet: Packet, user: str) -> Callable[[ClaimCache], Any]:
        """Make the calls of the use case that repairs the cache from the ledger."""
        packet_id = packet.packet_id
        share_no = self._held(packet, user)
        owner = self.outcomes[packet_id].get(share_no)
        owned = [no for no, name in self.outcomes[packet_id].items() if name == user]
        if owner and owner != user:
            return lambda side: side.revoke(packet_id, user, share_no)
        if owned and owner is None:
            return lambda side: side.reassign(packet_id, user, share_no, owned_no=owned[0])
        if owner is None:
            return lambda side: side.release(packet_id, user, share_no)
        return self._ask(packet, user)

    def _ask(self, packet: Packet, user: str) -> Callable[[ClaimCache], Any]:
        packet_id = packet.packet_id
        return lambda side: (
            side.is_loaded(packet_id, 0),
            side.emptied_by(packet_id),
            held_numbers(side, packet_id, [user]),
        )


def _told(outcome: GrabOutcome) -> tuple[Any, ...]:
    named = outcome.terms if outcome.share_no else ""
    facts = outcome.status, outcome.share_no, outcome.is_last, outcome.is_gated, outcome.shard
    # Owners are not refused, so no caller checks `is_certain` for them.
    return *facts, named, outcome.share_no or outcome.is_certain


@pytest.mark.parametrize("seed", range(3))
def test_the_scripts_and_the_fake_give_the_same_answers(cache: OperatorCache, seed: int) -> None:
    scenario = _Scenario(seed, cache)

    for _ in range(800):
        scenario.move()
    time.sleep(EMPTIED_KEPT_MS / 1000 + 0.4)
    for _ in range(400):
        scenario.move()


def test_a_lease_is_acquired_if_a_cache_writer_stores_it(cache: OperatorCache) -> None:
    turns, packet_id = RedisShards(cache, PUBLISHED_SEEDS), _packet().packet_id
    cache.set(keys.loading(packet_id, 0), "x")
    cache.set(keys.looking(packet_id), "x", px=3_600_000)

    assert turns.begin_load(packet_id, 0, 300)
    assert not turns.begin_load(packet_id, 0, 300)
    assert turns.begin_look(packet_id, 300)
