"""Cache calls of a claim when the process recently saw the packet open."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.model.packet import Opening, Packet, PacketStatus, Rules, shard_id
from redpacket.packets.redis import keys
from redpacket.packets.redis import shards as redis_shards
from redpacket.packets.redis.shards import RedisShards
from redpacket.packets.split import Terms
from testing.builders import a_packet, a_packet_id
from testing.platform.servers import OperatorCache


@pytest.fixture(autouse=True)
def _slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an observation that a packet is open stay valid for longer than a test takes."""
    assert redis_shards._SEEN_OPEN_S <= 0.1
    monkeypatch.setattr(redis_shards, "_SEEN_OPEN_S", 60.0)


def _packet(count: int = 10, **changes: Any) -> Packet:
    return a_packet(100 * count, count, created_at_ms=int(time.time() * 1000) - 1000, **changes)


def _loaded(claim_cache: RedisShards, count: int = 10, **changes: Any) -> Packet:
    packet = _packet(count, **changes)
    claim_cache.load(packet, [])
    claim_cache.take("unknown", "ann", "")  # This call loads the script into the server.
    return packet


@contextmanager
def _counted(cache: OperatorCache) -> Iterator[Counter[str]]:
    """Count the calls inside the block, without the commands that scripts execute."""
    calls: Counter[str] = Counter()
    cache.config_resetstat()
    yield calls
    stats: dict[str, Any] = dict(cache.info("commandstats"))
    for name in ("hmget", "evalsha", "eval"):
        calls[name] += stats.get(f"cmdstat_{name}", {"calls": 0})["calls"]
    for name in [name for name, times in calls.items() if not times]:
        del calls[name]


def test_a_claim_right_after_another_is_one_call(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _loaded(claim_cache)

    with _counted(cache) as calls:
        outcomes = [claim_cache.grab(packet.packet_id, f"user-{number}") for number in range(5)]

    assert calls == {"hmget": 1, "evalsha": 5}
    assert [outcome.share_no for outcome in outcomes] == [1, 2, 3, 4, 5]
    assert {outcome.terms for outcome in outcomes} == {str(packet.terms)}


def test_an_observation_expires_after_a_while(
    cache: OperatorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "ann")

    monkeypatch.setattr(redis_shards, "_SEEN_OPEN_S", 0.01)
    time.sleep(0.01)
    with _counted(cache) as calls:
        claim_cache.grab(packet.packet_id, "bob")

    assert calls == {"hmget": 1, "evalsha": 1}


def test_a_repeat_right_after_a_claim_is_one_call(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _loaded(claim_cache, count=2)
    first = claim_cache.grab(packet.packet_id, "ann")

    with _counted(cache) as calls:
        again = claim_cache.grab(packet.packet_id, "ann")
        # Another process takes the last share.
        RedisShards(cache, PUBLISHED_SEEDS).grab(packet.packet_id, "bob")
        emptied = claim_cache.grab(packet.packet_id, "ann")

    assert calls == {"hmget": 1, "evalsha": 3}
    assert (again.status, again.share_no, again.terms) == ("already_claimed", 1, first.terms)
    assert not again.is_last
    assert emptied.is_last


def test_losers_of_an_emptied_packet_are_one_native_read_each(cache: OperatorCache) -> None:
    claim_cache, other = RedisShards(cache, PUBLISHED_SEEDS), RedisShards(cache, PUBLISHED_SEEDS)
    packet = _loaded(claim_cache, count=3)
    claim_cache.grab(packet.packet_id, "ann")
    for user_id in ("bob", "cat"):
        other.grab(packet.packet_id, user_id)

    with _counted(cache) as calls:
        # `other` took the last share itself, so it needs only a read. `claim_cache` still expects
        # an open packet, so its first grab also runs the script.
        assert other.grab(packet.packet_id, "dan").status == "packet_emptied"
    assert calls == {"hmget": 1}
    with _counted(cache) as calls:
        for number in range(4):
            outcome = claim_cache.grab(packet.packet_id, f"late-{number}")
            assert (outcome.status, outcome.terms) == ("packet_emptied", str(packet.terms))
    assert calls == {"evalsha": 1, "hmget": 4}


def test_a_refusal_has_the_marks_of_the_current_state(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(packet_id=a_packet_id(2))
    claim_cache.load(packet, [], 0, is_whole=True)
    home = shard_id(packet.packet_id, 0)
    assert claim_cache.grab(home, "ann").is_certain

    # Only this shard is loaded again, after the end; owners in other shards may be lost.
    cache.delete(keys.claim_cache(home))
    closing = replace(packet, status=PacketStatus.CLOSING)
    claim_cache.load(closing, [], 0, is_whole=False)

    refused = claim_cache.grab(home, "bob")
    assert (refused.status, refused.is_certain) == ("packet_expired", False)


def test_a_packet_that_was_just_lost_is_not_loaded(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "ann")

    cache.delete(keys.claim_cache(packet.packet_id))

    assert claim_cache.grab(packet.packet_id, "bob").status == "packet_not_loaded"
    claim_cache.load(packet, [])
    assert claim_cache.grab(packet.packet_id, "bob").share_no == 1


def test_a_packet_that_was_just_closed_is_expired(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "ann")

    RedisShards(cache, PUBLISHED_SEEDS).close(packet.packet_id)

    assert claim_cache.grab(packet.packet_id, "bob").status == "packet_expired"
    assert claim_cache.grab(packet.packet_id, "ann").share_no == 1


def test_rules_are_checked_however_often_the_process_has_seen_the_packet(
    cache: OperatorCache,
) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _loaded(claim_cache, rules=Rules(opening=Opening.TWO_STEP))
    terms = str(packet.terms)
    claim_cache.take(packet.packet_id, "ann", terms)

    with _counted(cache) as calls:
        assert claim_cache.grab(packet.packet_id, "bob").status == "packet_gated"

    assert calls == {"hmget": 1}
    assert Terms.parse(terms) == packet.terms


def test_the_number_of_remembered_packets_is_bounded(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    for _ in range(1_001):
        claim_cache.grab(_loaded(claim_cache, count=2).packet_id, "ann")

    assert len(claim_cache._seen_open) <= 1_000
