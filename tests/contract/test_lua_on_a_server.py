"""Behavior of the scripts that only a real server shows."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.redis import keys
from redpacket.packets.redis.shards import RedisShards
from redpacket.packets.split import Split
from redpacket.platform.errors import CacheAway, Unavailable
from redpacket.platform.redis.connect import connect, read_script
from testing.builders import a_claim, a_packet, some_terms
from testing.packets.held_numbers import held_numbers
from testing.platform.servers import OperatorCache


def _packet(count: int) -> Packet:
    return a_packet(100 * count, count, created_at_ms=int(time.time() * 1000) - 1000)


def test_a_hundred_threads_share_ten_shares(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(10)
    claim_cache.load(packet, [])

    with ThreadPoolExecutor(max_workers=100) as pool:
        outcomes = list(
            pool.map(
                lambda number: claim_cache.grab(packet.packet_id, f"user-{number}"), range(100)
            )
        )

    numbers = [outcome.share_no for outcome in outcomes if outcome.share_no]
    assert sorted(numbers) == list(range(1, 11))
    assert Counter(outcome.status.value for outcome in outcomes) == {
        "claimed": 10,
        "packet_emptied": 90,
    }


def test_one_user_in_a_hundred_threads_gets_one_share(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(10)
    claim_cache.load(packet, [])

    with ThreadPoolExecutor(max_workers=100) as pool:
        outcomes = list(pool.map(lambda _: claim_cache.grab(packet.packet_id, "ann"), range(100)))

    assert {outcome.share_no for outcome in outcomes} == {1}
    assert cache.hkeys(keys.claim_cache(packet.packet_id)) == ["#", "ann"]


def test_the_script_itself_gives_a_user_the_same_number(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(10)
    claim_cache.load(packet, [])
    grab = cache.register_script(read_script("packet_grab"))
    key = keys.claim_cache(packet.packet_id)

    assert grab(keys=[key], args=["ann"]) == "claimed 1"
    assert grab(keys=[key], args=["ann"]) == "already_claimed 1"


def test_scripts_survive_a_script_flush(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(3)
    claim_cache.load(packet, [])
    claim_cache.grab(packet.packet_id, "ann")

    cache.script_flush()

    assert claim_cache.grab(packet.packet_id, "bob").share_no == 2
    cache.script_flush()
    claim_cache.load(packet, [])
    cache.script_flush()
    claim_cache.revoke(packet.packet_id, "bob", 2)
    cache.script_flush()
    claim_cache.close(packet.packet_id)
    assert claim_cache.grab(packet.packet_id, "cat").status == "packet_expired"


def test_every_key_expires_a_day_after_the_packet(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(3)

    claim_cache.load(packet, [a_claim(packet, 1, "ann")])
    claim_cache.grab(packet.packet_id, "bob")
    claim_cache.revoke(packet.packet_id, "bob", 2)
    claim_cache.close(packet.packet_id)

    (key,) = cache.keys()
    assert key == keys.claim_cache(packet.packet_id)
    assert cache.pexpiretime(key) == packet.expires_at_ms + 24 * 3600 * 1000


def test_a_load_of_thousands_goes_in_chunks(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    equal = some_terms(500_000, 5_000, split=Split.EQUAL)
    packet = replace(_packet(5_000), terms=equal)
    claims = [a_claim(packet, number, f"user-{number}") for number in range(1, 2_502)]

    claim_cache.load(packet, claims)

    assert claim_cache.grab(packet.packet_id, "user-2501").share_no == 2501
    assert claim_cache.grab(packet.packet_id, "new").share_no == 2502


def test_a_partial_load_of_thousands_counts_as_not_loaded(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(5_000)
    # The first chunk of a load writes users, but no state yet.
    cache.hset(keys.claim_cache(packet.packet_id), mapping={"user-1": 1, "user-2": 2})

    assert claim_cache.grab(packet.packet_id, "new").status == "packet_not_loaded"
    # Without a state, the script does not know the rules for claims.
    assert claim_cache.grab(packet.packet_id, "user-2").status == "packet_not_loaded"


def test_a_full_server_refuses_without_taking_a_share(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(3)
    claim_cache.load(packet, [])
    claim_cache.grab(packet.packet_id, "ann")

    cache.config_set("maxmemory", "1")
    try:
        with pytest.raises(Unavailable):
            claim_cache.grab(packet.packet_id, "bob")
        with pytest.raises(Unavailable) as refused:
            claim_cache.load(_packet(3), [])
    finally:
        cache.config_set("maxmemory", "0")

    # The server answers, so one packet without memory does not affect the next one.
    assert not isinstance(refused.value, CacheAway)
    assert claim_cache.grab(packet.packet_id, "bob").share_no == 2


def test_a_full_server_still_closes_and_corrects(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(3)
    claim_cache.load(packet, [])
    claim_cache.grab(packet.packet_id, "bob")

    cache.config_set("maxmemory", "1")
    try:
        claim_cache.revoke(packet.packet_id, "bob", 1)
        claim_cache.close(packet.packet_id)
    finally:
        cache.config_set("maxmemory", "0")

    assert claim_cache.grab(packet.packet_id, "bob").status == "packet_expired"


def test_a_packet_that_ended_long_ago_is_loaded_for_its_owners(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    week_ms = 7 * 24 * 3600 * 1000
    packet = a_packet(created_at_ms=int(time.time() * 1000) - week_ms)
    packet = replace(packet, status=PacketStatus.CLOSED)

    claim_cache.load(packet, [a_claim(packet, 1, "ann")])

    assert claim_cache.grab(packet.packet_id, "ann").share_no == 1
    assert claim_cache.grab(packet.packet_id, "bob").status == "packet_expired"
    assert 0 < cache.pttl(keys.claim_cache(packet.packet_id)) <= 600_000


def test_a_packet_in_an_earlier_layout_is_loaded_again(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(2)
    window = f"{packet.starts_at_ms:013d}{packet.expires_at_ms:013d}0000002"
    earlier: Any = {"#": f"O{window}-0000001|", "=": str(packet.terms), "ann": "1"}
    cache.hset(f"rp:{{{packet.packet_id}}}", mapping=earlier)

    assert claim_cache.grab(packet.packet_id, "bob").status == "packet_not_loaded"
    claim_cache.load(packet, [a_claim(packet, 1, "ann")])

    assert claim_cache.grab(packet.packet_id, "ann").share_no == 1
    assert claim_cache.grab(packet.packet_id, "bob").share_no == 2
    owned = {"ann": 1, "bob": 2}
    assert held_numbers(claim_cache, packet.packet_id, [*owned, "cat"]) == owned


def test_a_small_packet_stays_packed(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(100)
    claim_cache.load(packet, [])
    for number in range(100):
        claim_cache.grab(packet.packet_id, f"user-{number}")

    assert cache.object("ENCODING", keys.claim_cache(packet.packet_id)) == "listpack"


def test_a_loser_does_not_scan_a_larger_packet(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(129)

    claim_cache.load(packet, [a_claim(packet, 1, "ann")])

    assert cache.object("ENCODING", keys.claim_cache(packet.packet_id)) == "hashtable"
    assert cache.hkeys(keys.claim_cache(packet.packet_id)) == ["#", "ann"]


def test_a_loaded_packet_uses_little_memory(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(10)

    claim_cache.load(packet, [])

    # jemalloc allocates 64 and 80 bytes; Redis needs 8 more for its longer object header.
    limit = 144 if "valkey_version" in cache.info("server") else 152
    assert int(cache.memory_usage(keys.claim_cache(packet.packet_id)) or 0) <= limit


def test_a_packet_whose_key_never_expires_gives_out_nothing(cache: OperatorCache) -> None:
    claim_cache = RedisShards(cache, PUBLISHED_SEEDS)
    packet = _packet(10)
    claim_cache.load(packet, [])
    claim_cache.grab(packet.packet_id, "ann")

    # Scripts read the packet's end from the key's remaining lifetime, which PERSIST removes.
    cache.persist(keys.claim_cache(packet.packet_id))

    assert claim_cache.grab(packet.packet_id, "ann").share_no == 1
    assert claim_cache.grab(packet.packet_id, "bob").status == "packet_expired"


def test_an_unreachable_server_is_reported_as_unavailable_and_not_as_a_redis_error() -> None:
    nobody = connect(HOST, 1, has_tls=False, username="", password="", timeout_s=0.1)

    with pytest.raises(CacheAway):
        RedisShards(nobody, PUBLISHED_SEEDS).grab("p" * 22, "ann")
