"""Refusals of claims that the cache decides without the ledger: one suite for the fake and for a
real server.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.model.claim import GrabStatus, Share
from redpacket.packets.model.packet import Packet, PacketStatus, shard_of_user
from redpacket.packets.ports import ShardCache
from redpacket.packets.redis import keys
from redpacket.packets.redis.shards import RedisShards
from redpacket.packets.use_cases.sharded_claims import ShardedClaims
from redpacket.platform.redis.connect import Script, connect
from testing.builders import a_claim, a_packet, a_packet_id, a_refund
from testing.fakes import FakeClock, FakeShards
from testing.platform.servers import OperatorCache, Server, some_servers, wait_for

LARGE = 1_500
"""Number of claims, more than one call of the load script accepts."""


@pytest.fixture(params=["fake", "redis"])
def claim_cache(request: pytest.FixtureRequest) -> ShardCache:
    if request.param == "fake":
        return FakeShards(FakeClock(_now_ms()))
    cache: OperatorCache = request.getfixturevalue("cache")
    return RedisShards(cache, PUBLISHED_SEEDS)


def _now_ms() -> int:
    return int(time.time() * 1000)


def _packet(count: int = 3, **changes: Any) -> Packet:
    return a_packet(100 * count, count, created_at_ms=_now_ms() - 1000, **changes)


def _knows(claim_cache: ShardCache, packet: Packet) -> bool:
    """Return whether a new process finds that the packet's hash is complete."""
    fresh = (
        RedisShards(claim_cache._client, PUBLISHED_SEEDS)
        if isinstance(claim_cache, RedisShards)
        else claim_cache
    )
    return fresh.has_all_claimers(packet.packet_id, "ann")


def _all_shares(packet: Packet) -> list[Share]:
    claims = [a_claim(packet, no, f"user-{no}") for no in range(1, packet.terms.count)]
    return [*claims, a_refund(packet, packet.terms.count)]


def test_a_state_that_received_every_claim_lists_all_claimers(claim_cache: ShardCache) -> None:
    packet = _packet()
    claim_cache.load(packet, [], is_new=True)
    claim_cache.grab(packet.packet_id, "ann")
    claim_cache.close(packet.packet_id)

    assert _knows(claim_cache, packet)
    assert claim_cache.grab(packet.packet_id, "ann").terms == str(packet.terms)


def test_a_state_that_was_loaded_later_does_not(claim_cache: ShardCache) -> None:
    loaded, never = _packet(), _packet()
    claim_cache.load(loaded, [])

    assert not _knows(claim_cache, loaded)
    assert not _knows(claim_cache, never)


def test_a_send_that_arrives_after_another_load_proves_nothing(claim_cache: ShardCache) -> None:
    packet = _packet()
    claim_cache.load(packet, [])
    claim_cache.load(packet, [], is_new=True)

    assert not _knows(claim_cache, packet)


def test_a_later_load_keeps_certainty(claim_cache: ShardCache) -> None:
    packet = _packet()
    claim_cache.load(packet, [], is_new=True)
    claim_cache.load(packet, [a_claim(packet, 1, "ann")])

    assert _knows(claim_cache, packet)


@pytest.mark.parametrize("count", [3, LARGE])
def test_a_packet_is_certain_once_every_outcome_is_loaded(
    claim_cache: ShardCache, count: int
) -> None:
    packet = replace(_packet(count), status=PacketStatus.CLOSING)
    outcomes = _all_shares(packet)

    claim_cache.load(packet, outcomes[1:])
    assert not _knows(claim_cache, packet)
    claim_cache.load(packet, outcomes)

    assert _knows(claim_cache, packet)
    assert claim_cache.grab(packet.packet_id, "user-1").share_no == 1
    assert claim_cache.grab(packet.packet_id, "late").status == "packet_expired"


def test_a_claim_that_bypassed_the_state_makes_it_uncertain(claim_cache: ShardCache) -> None:
    taken, owned, freed = _packet(), _packet(), _packet()
    for packet in (taken, owned, freed):
        claim_cache.load(packet, [], is_new=True)
        claim_cache.grab(packet.packet_id, "ann")

    claim_cache.revoke(taken.packet_id, "ann", 1)
    claim_cache.reassign(owned.packet_id, "ann", 1, owned_no=2)
    claim_cache.release(freed.packet_id, "ann", 1)

    assert [_knows(claim_cache, packet) for packet in (taken, owned, freed)] == [False, False, True]
    assert claim_cache.grab(owned.packet_id, "bob").terms == str(owned.terms)


def test_a_shard_is_certain_about_the_users_who_start_there(claim_cache: ShardCache) -> None:
    sharded = ShardedClaims(claim_cache, clock=FakeClock(_now_ms()))
    packet = _packet(40, packet_id=a_packet_id(4))
    other = _packet(40, packet_id=a_packet_id(4))
    sharded.load(packet, [], is_new=True)
    for part in range(4):
        sharded.load(other, [], part)

    users = [f"user-{number}" for number in range(20)]
    assert all(sharded.has_all_claimers(packet.packet_id, user) for user in users)
    assert not any(sharded.has_all_claimers(other.packet_id, user) for user in users)


def test_a_shard_is_uncertain_about_users_of_other_shards(claim_cache: ShardCache) -> None:
    sharded = ShardedClaims(claim_cache, clock=FakeClock(_now_ms()))
    packet = _packet(40, packet_id=a_packet_id(4))
    claim_cache.load(packet, [], 0, is_new=True)
    for part in range(1, 4):
        sharded.load(packet, [], part)

    for number in range(20):
        user_id = f"user-{number}"
        begins_there = shard_of_user(packet.packet_id, user_id) == 0
        assert sharded.has_all_claimers(packet.packet_id, user_id) == begins_there


@pytest.mark.parametrize("missed_a_claim", [True, False])
def test_a_refusal_while_a_number_is_returned_is_certain_only_if_no_claim_was_missed(
    claim_cache: ShardCache, *, missed_a_claim: bool
) -> None:
    packet = _packet(2)
    claim_cache.load(packet, [], is_new=True)
    for user_id in ("ann", "bob"):
        claim_cache.grab(packet.packet_id, user_id)

    if missed_a_claim:
        claim_cache.reassign(packet.packet_id, "bob", 2, owned_no=1)
    else:
        claim_cache.release(packet.packet_id, "bob", 2)
    refused = [
        claim_cache.grab(packet.packet_id, "cat"),
        claim_cache.take(packet.packet_id, "cat", packet.terms.stored),
    ]

    assert [each.status for each in refused] == [GrabStatus.PACKET_EMPTIED] * 2
    assert [each.is_certain for each in refused] == [not missed_a_claim] * 2


# ---------------------------------------------------------------- only on a real server


def test_certainty_is_cached_for_a_second(
    cache: OperatorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_cache, packet, doubted = RedisShards(cache, PUBLISHED_SEEDS), _packet(), _packet()
    claim_cache.load(packet, [], is_new=True)
    claim_cache.load(doubted, [])
    assert claim_cache.has_all_claimers(packet.packet_id, "ann")
    assert not claim_cache.has_all_claimers(doubted.packet_id, "ann")
    scripts: list[Script] = []
    run = claim_cache.run

    def counted(script: Script, *arguments: Any) -> str:
        scripts.append(script)
        return run(script, *arguments)

    monkeypatch.setattr(claim_cache, "run", counted)
    assert all(claim_cache.has_all_claimers(packet.packet_id, "bob") for _ in range(10))
    assert scripts == []
    assert not claim_cache.has_all_claimers(doubted.packet_id, "bob")
    assert len(scripts) == 1
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s + 1.0)
    assert claim_cache.has_all_claimers(packet.packet_id, "bob")
    assert len(scripts) == 2


@pytest.mark.parametrize("loss", ["flush", "life"])
def test_a_large_packet_that_is_lost_during_a_load_is_uncertain(
    cache: OperatorCache, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    claim_cache, packet = (
        RedisShards(cache, PUBLISHED_SEEDS),
        replace(_packet(LARGE), status=PacketStatus.CLOSING),
    )
    run = claim_cache.run

    def losing(script: Script, key: str, *arguments: Any) -> str:
        answer = run(script, key, *arguments)
        if arguments[1] == "" and loss == "flush":
            cache.delete(key)
        return answer if loss == "flush" else "loaded othr"

    monkeypatch.setattr(claim_cache, "run", losing)
    claim_cache.load(packet, _all_shares(packet))

    assert not _knows(claim_cache, packet)
    assert claim_cache.grab(packet.packet_id, "late").status == "packet_expired"


def test_a_server_without_a_run_id_is_only_certain_about_ledger_loads(
    cache: OperatorCache,
) -> None:
    rules = ("on", "~rp:*", "+@all", "-info")
    cache.execute_command("ACL", "SETUSER", "hidden", "nopass", *rules)  # type: ignore[no-untyped-call]
    port = cache.connection_pool.connection_kwargs["port"]
    client = connect(HOST, port, has_tls=False, username="hidden", password="any", timeout_s=2)
    claim_cache, packet, told = RedisShards(client, PUBLISHED_SEEDS), _packet(), _packet()
    large = replace(_packet(LARGE), status=PacketStatus.CLOSING)

    claim_cache.load(packet, [], is_new=True)
    claim_cache.load(told, _all_shares(told))
    claim_cache.load(large, _all_shares(large))

    assert [_knows(claim_cache, each) for each in (packet, told, large)] == [False, True, False]
    assert claim_cache.grab(packet.packet_id, "ann").share_no == 1
    client.close()
    cache.execute_command("ACL", "DELUSER", "hidden")  # type: ignore[no-untyped-call]


@pytest.fixture
def pair() -> Iterator[tuple[Server, Server]]:
    with some_servers() as start:
        first = start()
        second = start(replicaof=f"{HOST} {first.port}")
        _follows(second, first)
        yield first, second


def _claim_cache_on(server: Server) -> RedisShards:
    return RedisShards(
        connect(HOST, server.port, has_tls=False, username="", password="", timeout_s=2),
        PUBLISHED_SEEDS,
    )


def _follows(replica: Server, primary: Server) -> None:
    def is_up_to_date() -> bool:
        seen = replica.info("replication")
        primary_offset = primary.info("replication")["master_repl_offset"]
        return (
            seen.get("master_link_status") == "up" and seen["slave_repl_offset"] >= primary_offset
        )

    wait_for(is_up_to_date, "a replica that has everything")


def test_after_a_failover_only_ledger_loads_are_certain(pair: tuple[Server, Server]) -> None:
    first, second = pair
    claim_cache = _claim_cache_on(first)
    sent, told = _packet(), _packet()
    claim_cache.load(sent, [], is_new=True)
    claim_cache.load(told, _all_shares(told))
    assert [_knows(claim_cache, packet) for packet in (sent, told)] == [True, True]
    _follows(second, first)

    second.admin.replicaof("NO", "ONE")
    promoted = _claim_cache_on(second)
    assert [_knows(promoted, packet) for packet in (sent, told)] == [False, True]
    later = _packet()
    promoted.load(later, [], is_new=True)
    assert _knows(promoted, later)

    # The first server returns with the second server's data and with its own earlier run id.
    first.admin.replicaof(HOST, second.port)
    _follows(first, second)
    first.admin.replicaof("NO", "ONE")
    assert [_knows(claim_cache, packet) for packet in (sent, told, later)] == [False, True, False]


def test_a_certainty_mark_has_five_characters_and_leaves_the_hash_packed(
    cache: OperatorCache,
) -> None:
    claim_cache, packet = RedisShards(cache, PUBLISHED_SEEDS), _packet()
    claim_cache.load(packet, [], is_new=True)

    state = str(cache.hget(keys.claim_cache(packet.packet_id), "#"))
    assert state[-5] == "@"
    assert len(state) <= 63
    assert cache.object("encoding", keys.claim_cache(packet.packet_id)) == "listpack"
