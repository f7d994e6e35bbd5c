"""Sharded packets on the in-memory claim cache."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.model.claim import EMPTIED_KEPT_MS
from redpacket.packets.model.packet import (
    Opening,
    Packet,
    PacketStatus,
    Rules,
    shard_id,
    shard_of_share,
    shard_of_user,
)
from redpacket.packets.ports import ShardCache
from redpacket.packets.redis import keys
from redpacket.packets.redis.shards import RedisShards
from redpacket.packets.use_cases.sharded_claims import ShardedClaims
from testing.builders import a_claim, a_packet, a_packet_id, a_refund
from testing.fakes import FakeClock, FakeShards
from testing.packets.held_numbers import held_numbers
from testing.platform.servers import OperatorCache

PARTS = 3


class CountedClaimCache:
    """Claim cache that counts its calls."""

    def __init__(self, claim_cache: ShardCache) -> None:
        self._claim_cache = claim_cache
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._claim_cache, name)

        def call(*args: Any, **options: Any) -> Any:
            self.calls[name] += 1
            return method(*args, **options)

        return call


@dataclass
class Boards:
    """Sharded claim cache, the cache below it, and the clock that both use."""

    inner: ShardCache
    forget: Callable[[str], object]
    clock: FakeClock = field(default_factory=lambda: FakeClock(_now_ms()))
    requests: Any = None

    def __post_init__(self) -> None:
        self.requests = CountedClaimCache(self.inner)
        self.claim_cache = ShardedClaims(self.requests, clock=self.clock)

    def grab(self, packet: Packet, user_id: str) -> tuple[str, int | None]:
        outcome = self.claim_cache.grab(packet.packet_id, user_id)
        return outcome.status, outcome.share_no

    def lose(self, packet: Packet, *shards: int) -> None:
        for shard in shards:
            self.forget(shard_id(packet.packet_id, shard))


@pytest.fixture
def caches() -> Boards:
    """Return in-memory caches; test_claim_cache.py compares sharded packets with a real server."""
    clock = FakeClock(_now_ms())
    memory = FakeShards(clock)
    return Boards(memory, lambda cache_id: memory.caches.pop(cache_id, None), clock)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _packet(count: int = 8, **changes: Any) -> Packet:
    changes = {
        "packet_id": a_packet_id(PARTS),
        "created_at_ms": _now_ms() - 1000,
        "expires_at_ms": _now_ms() + 60_000,
        **changes,
    }
    return a_packet(100 * count, count, **changes)


def _loaded(caches: Boards, count: int = 8, **changes: Any) -> Packet:
    packet = _packet(count, **changes)
    caches.claim_cache.load(packet, [], is_new=True)
    return packet


def _users_of(packet: Packet, shard: int) -> Iterator[str]:
    number = 0
    while True:
        user_id = f"user-{number}"
        if shard_of_user(packet.packet_id, user_id) == shard:
            yield user_id
        number += 1


def _some(packet: Packet, shard: int, number: int) -> list[str]:
    users = _users_of(packet, shard)
    return [next(users) for _ in range(number)]


def _emptied_by_one_shard(caches: Boards, **changes: Any) -> tuple[Packet, dict[str, int]]:
    """Return a packet that users of its first shard emptied, with their share numbers."""
    packet = _loaded(caches, **changes)
    owned = {}
    for user_id in _some(packet, 0, packet.terms.count):
        status, share_no = caches.grab(packet, user_id)
        assert status == "claimed"
        owned[user_id] = share_no or 0
    return packet, owned


def _claims(packet: Packet, owned: dict[str, int]) -> list[Any]:
    return [a_claim(packet, share_no, user_id) for user_id, share_no in owned.items()]


def test_all_shards_together_issue_every_share_once(caches: Boards) -> None:
    packet = _loaded(caches, count=20)

    told = [caches.grab(packet, f"user-{number}") for number in range(30)]

    numbers = [share_no for status, share_no in told if status == "claimed"]
    assert sorted(number or 0 for number in numbers) == list(range(1, 21))
    assert Counter(status for status, _ in told) == {"claimed": 20, "packet_emptied": 10}


def test_a_user_starts_at_a_fixed_shard(caches: Boards) -> None:
    packet = _loaded(caches)

    for shard in range(PARTS):
        (user_id,) = _some(packet, shard, 1)
        assert caches.grab(packet, user_id) == ("claimed", shard + 1)


def test_a_user_whose_shard_is_empty_gets_a_share_of_another(caches: Boards) -> None:
    packet, owned = _emptied_by_one_shard(caches)

    assert sorted(owned.values()) == list(range(1, 9))
    for user_id, share_no in owned.items():
        assert caches.grab(packet, user_id) == ("already_claimed", share_no)


def test_a_repeat_is_one_read_wherever_the_share_is(caches: Boards) -> None:
    packet, owned = _emptied_by_one_shard(caches)

    for user_id, share_no in owned.items():
        caches.requests.calls.clear()
        assert caches.grab(packet, user_id)[1] == share_no
        assert caches.requests.calls == {"grab": 1}


def test_the_last_share_of_each_shard_is_marked(caches: Boards) -> None:
    packet = _loaded(caches, count=2 * PARTS)
    users = [user for shard in range(PARTS) for user in _some(packet, shard, 2)]

    is_last = [caches.claim_cache.grab(packet.packet_id, user).is_last for user in users]

    assert is_last == [False, True] * PARTS


def test_owners_of_shares_of_an_emptied_packet_are_found_in_any_shard(caches: Boards) -> None:
    packet, owned = _emptied_by_one_shard(caches)

    assert all(caches.claim_cache.grab(packet.packet_id, user_id).is_last for user_id in owned)


def test_losers_of_an_emptied_packet_cost_one_read_each(caches: Boards) -> None:
    packet, owned = _emptied_by_one_shard(caches)
    latecomers = [f"late-{number}" for number in range(50)]
    assert caches.grab(packet, latecomers[0])[0] == "packet_emptied"
    caches.requests.calls.clear()

    assert {caches.grab(packet, user_id)[0] for user_id in latecomers} == {"packet_emptied"}
    assert caches.requests.calls == {"grab": 50}
    caches.clock.sleep_ms(EMPTIED_KEPT_MS)
    caches.grab(packet, latecomers[0])
    assert caches.requests.calls == {"grab": 50 + PARTS}
    assert set(owned.values()) == set(range(1, 9))


def test_an_emptied_packet_is_not_taken_for_a_small_one(caches: Boards) -> None:
    packet, _ = _emptied_by_one_shard(caches)

    assert not caches.claim_cache.grab(packet.packet_id, "late").terms
    assert caches.claim_cache.emptied_by(packet.packet_id) is None


@pytest.mark.parametrize("share_no", [1, 2])
def test_a_number_that_is_returned_to_any_shard_is_reused(caches: Boards, share_no: int) -> None:
    packet, owned = _emptied_by_one_shard(caches)
    user_id = next(user for user, number in owned.items() if number == share_no)

    for _ in range(2):
        caches.claim_cache.release(packet.packet_id, user_id, share_no)

    assert caches.grab(packet, "late")[0] == "packet_emptied"
    caches.clock.sleep_ms(EMPTIED_KEPT_MS)
    assert caches.grab(packet, "late") == ("claimed", share_no)
    assert caches.grab(packet, user_id) == ("packet_emptied", None)


@pytest.mark.parametrize("share_no", [1, 2])
def test_a_user_who_does_not_own_a_number_loses_it_in_every_shard(
    caches: Boards, share_no: int
) -> None:
    packet, owned = _emptied_by_one_shard(caches)
    user_id = next(user for user, number in owned.items() if number == share_no)

    for _ in range(2):
        caches.claim_cache.revoke(packet.packet_id, user_id, share_no)

    assert caches.grab(packet, user_id) == ("packet_emptied", None)
    assert caches.grab(packet, "late") == ("packet_emptied", None)
    assert held_numbers(caches.claim_cache, packet.packet_id, [user_id]) == {}


@pytest.mark.parametrize(("share_no", "owned_no"), [(1, 4), (1, 2), (2, 1), (2, 5), (2, 3)])
def test_a_number_is_swapped_for_the_one_that_its_user_owns(
    caches: Boards, share_no: int, owned_no: int
) -> None:
    packet, owned = _emptied_by_one_shard(caches)
    user_id = next(user for user, number in owned.items() if number == share_no)
    claim_cache = caches.claim_cache

    for _ in range(2):
        claim_cache.reassign(packet.packet_id, user_id, share_no, owned_no=owned_no)

    assert caches.grab(packet, user_id) == ("already_claimed", owned_no)
    caches.clock.sleep_ms(EMPTIED_KEPT_MS)
    assert caches.grab(packet, "late") == ("claimed", share_no)
    assert caches.grab(packet, "later") == ("packet_emptied", None)


def test_closing_ends_all_shards_but_keeps_claims(caches: Boards) -> None:
    packet = _loaded(caches)
    owners = {
        user_id: caches.grab(packet, user_id)[1]
        for user_id in _some(packet, 1, 4)  # One user's share is in another shard.
    }

    for _ in range(2):
        caches.claim_cache.close(packet.packet_id)

    for user_id, share_no in owners.items():
        assert caches.grab(packet, user_id) == ("already_claimed", share_no)
    # Late users of every shard get this refusal, although only shard 1 is empty.
    for shard in range(PARTS):
        *_, late = _some(packet, shard, 6)
        assert caches.grab(packet, late) == ("packet_expired", None)


def test_a_request_names_its_lost_shard(caches: Boards) -> None:
    packet = _loaded(caches)
    caches.lose(packet, 1)
    first, second = _some(packet, 0, 1)[0], _some(packet, 1, 1)[0]

    assert caches.grab(packet, first) == ("claimed", 1)
    outcome = caches.claim_cache.grab(packet.packet_id, second)
    assert (outcome.status, outcome.shard) == ("packet_not_loaded", 1)
    caches.claim_cache.load(packet, [], 1)
    assert caches.grab(packet, second) == ("claimed", 2)


def test_a_request_names_another_lost_shard(caches: Boards) -> None:
    packet = _loaded(caches, count=PARTS)
    first, second, third = _some(packet, 0, 3)
    caches.grab(packet, first)
    caches.lose(packet, 1, 2)

    shards = []
    while (outcome := caches.claim_cache.grab(packet.packet_id, second)).status != "claimed":
        shards.append(outcome.shard)
        caches.claim_cache.load(packet, [], outcome.shard)

    assert outcome.share_no == shards[0] + 1
    assert set(shards) < {1, 2}
    assert caches.claim_cache.grab(packet.packet_id, third).shard == 3 - shards[0]


def test_a_shard_that_is_restored_alone_is_certain_about_no_user(caches: Boards) -> None:
    packet, owned = _emptied_by_one_shard(caches)
    claims = _claims(packet, owned)
    elsewhere = next(user for user, number in owned.items() if number == 2)
    assert caches.claim_cache.grab(packet.packet_id, "late").is_certain
    caches.lose(packet, 0)

    caches.claim_cache.load(
        packet, [c for c in claims if shard_of_share(packet.packet_id, c.share_no) == 0], 0
    )

    of_shard = next(user for user, number in owned.items() if number == 4)
    assert caches.grab(packet, of_shard) == ("already_claimed", 4)
    refused = caches.claim_cache.grab(packet.packet_id, elsewhere)
    assert not refused.is_certain or refused.share_no == 2
    other = _some(packet, 1, 1)[0]
    assert caches.claim_cache.grab(packet.packet_id, other).is_certain


def test_all_shards_together_restore_all_claimers(caches: Boards) -> None:
    packet, owned = _emptied_by_one_shard(caches)
    claims = _claims(packet, owned)
    caches.lose(packet, *range(PARTS))

    for shard in range(PARTS):
        own = [c for c in claims if shard_of_share(packet.packet_id, c.share_no) == shard]
        caches.claim_cache.load(packet, own, shard)

    # After this grab, the process does not call the other shards for a while.
    assert caches.grab(packet, "late") == ("packet_emptied", None)
    for user_id, share_no in owned.items():
        assert caches.grab(packet, user_id) == ("already_claimed", share_no)
    assert held_numbers(caches.claim_cache, packet.packet_id, owned) == owned


def test_a_start_in_the_future_does_not_prove_that_a_shard_has_every_claimer(
    caches: Boards,
) -> None:
    # An operator may have postponed the start after claims.
    packet = _packet(starts_at_ms=_now_ms() + 60_000)

    for shard in range(PARTS):
        caches.claim_cache.load(packet, [], shard)

    assert not caches.claim_cache.grab(packet.packet_id, "ann").is_certain
    assert caches.grab(packet, "ann") == ("packet_not_started", None)


def test_a_whole_packet_is_loaded_with_all_claimers(caches: Boards) -> None:
    packet, owned = _emptied_by_one_shard(caches)
    closed = replace(packet, status=PacketStatus.CLOSED)
    caches.lose(packet, *range(PARTS))
    claims = _claims(packet, owned)

    caches.claim_cache.load(closed, [*claims[:-1], a_refund(packet, claims[-1].share_no)])

    for user_id, share_no in list(owned.items())[:-1]:
        assert caches.grab(packet, user_id) == ("already_claimed", share_no)
    assert caches.grab(packet, "late") == ("packet_expired", None)


def test_a_note_that_precedes_its_shard_waits_for_it(caches: Boards) -> None:
    packet = _loaded(caches, rules=Rules(campaign_id="rain"))
    user_id = _some(packet, 0, 1)[0]
    caches.lose(packet, 0)
    caches.inner.note(shard_id(packet.packet_id, 0), {user_id: -2})

    # The cache cannot use the note until the shard has the packet's terms.
    outcome = caches.claim_cache.grab(packet.packet_id, user_id)
    assert (outcome.status, outcome.shard) == ("packet_not_loaded", 0)
    caches.claim_cache.load(packet, [], 0)

    outcome = caches.claim_cache.grab(packet.packet_id, user_id)
    assert (outcome.status, outcome.share_no, outcome.is_gated) == ("already_claimed", 2, True)
    others = [user for user in _some(packet, 0, 4) if user != user_id]
    taken = [
        caches.claim_cache.take(packet.packet_id, user, str(packet.terms)).share_no
        for user in others
    ]
    assert taken == [1, 4, 7]


def test_rules_are_checked_before_a_share_of_another_shard_is_taken(caches: Boards) -> None:
    packet = _loaded(caches, rules=Rules(campaign_id="rain"))
    terms, claim_cache = str(packet.terms), caches.claim_cache
    *first, last = _some(packet, 0, 4)
    for user_id in first:
        claim_cache.take(packet.packet_id, user_id, terms)

    grab_outcome = claim_cache.grab(packet.packet_id, last)
    held = held_numbers(claim_cache, packet.packet_id, [last])
    taken = claim_cache.take(packet.packet_id, last, grab_outcome.terms)

    assert (grab_outcome.status, grab_outcome.terms) == ("packet_gated", terms)
    assert held == {}
    assert (taken.status, taken.terms, taken.is_gated) == ("claimed", terms, True)
    assert shard_of_share(packet.packet_id, taken.share_no or 0) != 0
    assert caches.grab(packet, last) == ("already_claimed", taken.share_no)


def test_each_shard_admits_its_part_of_the_users(caches: Boards) -> None:
    packet = _loaded(caches, count=6, rules=Rules(opening=Opening.TWO_STEP))

    def admit(user_id: str) -> str:
        outcome = caches.claim_cache.admit(
            packet.packet_id, user_id, life_ms=60_000, admitted_max=2 * PARTS
        )
        return outcome.status

    for shard in range(PARTS):
        told = [admit(user) for user in _some(packet, shard, 3)]
        assert told == ["admitted", "admitted", "crowded"]


def test_a_user_admitted_to_an_empty_shard_gets_a_share_of_another(caches: Boards) -> None:
    packet = _loaded(caches, count=PARTS, rules=Rules(opening=Opening.TWO_STEP))
    claim_cache, terms = caches.claim_cache, str(packet.terms)
    first, second, third, fourth = _some(packet, 0, 4)
    claim_cache.take(packet.packet_id, first, terms)

    def admit(user_id: str) -> tuple[str, int]:
        outcome = claim_cache.admit(packet.packet_id, user_id, life_ms=60_000, admitted_max=9)
        return outcome.status, outcome.number if outcome.status != "admitted" else 0

    assert admit(first) == ("already_claimed", 1)
    assert admit(second) == ("admitted", 0)
    taken = claim_cache.take(packet.packet_id, second, terms).share_no
    assert admit(second) == ("already_claimed", taken)
    claim_cache.take(packet.packet_id, third, terms)
    assert admit(fourth) == ("packet_emptied", 0)
    caches.lose(packet, 0)
    caches.clock.sleep_ms(EMPTIED_KEPT_MS)
    assert admit(fourth) == ("packet_not_loaded", 0)


def test_an_unsharded_packet_costs_no_additional_call(caches: Boards) -> None:
    packet = _loaded(caches, count=2, packet_id=a_packet_id())
    packet_id, claim_cache = packet.packet_id, caches.claim_cache

    numbers = [caches.grab(packet, user_id)[1] for user_id in ("ann", "bob", "ann", "cem")]
    claim_cache.release(packet_id, "bob", 2)
    claim_cache.revoke(packet_id, "ann", 1)
    claim_cache.reassign(packet_id, "ann", 1, owned_no=2)
    claim_cache.close(packet_id)

    assert numbers == [1, 2, 1, None]
    once = ("load", "release", "revoke", "reassign", "close")
    assert caches.requests.calls == {"grab": 4, **dict.fromkeys(once, 1)}


def test_a_note_does_not_shorten_the_lifetime_of_a_shard(cache: OperatorCache) -> None:
    claim_cache = ShardedClaims(RedisShards(cache, PUBLISHED_SEEDS), clock=FakeClock(_now_ms()))
    packet = _packet()
    claim_cache.load(packet, [])
    home = keys.claim_cache(shard_id(packet.packet_id, 0))
    before: Any = cache.pexpiretime(home)

    RedisShards(cache, PUBLISHED_SEEDS).note(shard_id(packet.packet_id, 0), {"ann": -2})

    assert cache.pexpiretime(home) == before
    cache.delete(home)
    RedisShards(cache, PUBLISHED_SEEDS).note(shard_id(packet.packet_id, 0), {"ann": -2})
    assert 0 < int(str(cache.pttl(home))) <= 600_000


def test_the_shards_of_a_packet_are_in_different_slots(cache: OperatorCache) -> None:
    packet = _packet(packet_id=a_packet_id(20), count=40)
    ShardedClaims(RedisShards(cache, PUBLISHED_SEEDS), clock=FakeClock()).load(packet, [])

    names: Any = cache.keys("*")

    assert len({name[name.index("{") : name.index("}")] for name in names}) == 20
