"""Commands to the cache with the permissions that the template gives the functions' user."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from local.template import read_template
from redpacket.fairness.model.days import DrawDay
from redpacket.lottery.model.lottery import DrawRequest
from redpacket.lottery.redis.draws import RedisDraws
from redpacket.operations.model.limits import READS, Limit
from redpacket.operations.model.switches import Switch
from redpacket.operations.ports import SwitchesSeen
from redpacket.operations.redis.limits import RedisLimits
from redpacket.operations.redis.switches import RedisSwitches
from redpacket.packets.model.claim import Quota
from redpacket.packets.model.packet import Opening, Packet, Rules
from redpacket.packets.redis.quotas import RedisQuotas
from redpacket.packets.redis.shards import RedisShards
from redpacket.platform.redis.client import ServerClient
from redpacket.platform.redis.connect import connect
from testing.builders import a_packet
from testing.operations.signed_texts import TEXTS
from testing.platform.servers import OperatorCache

ROOT = Path(__file__).parents[2]


def access_rules(name: str = "FunctionsUser") -> list[str]:
    """Return the permissions that the template gives a user."""
    user = read_template()["Resources"][name]["Properties"]
    rules: list[str] = user["AccessString"].split()
    return rules


@pytest.fixture
def functions(cache: OperatorCache) -> Iterator[ServerClient]:
    """Yield a client with only the functions' permissions."""
    yield from _client_of(cache, access_rules())


@pytest.fixture
def readers(cache: OperatorCache) -> Iterator[ServerClient]:
    """Yield a client with the permissions of functions that load nothing."""
    yield from _client_of(cache, access_rules("ReadersUser"))


def _client_of(cache: OperatorCache, rules: list[str]) -> Iterator[ServerClient]:
    cache.execute_command("ACL", "SETUSER", "functions", "nopass", *rules)  # type: ignore[no-untyped-call]
    port = cache.connection_pool.connection_kwargs["port"]
    client = connect(HOST, port, has_tls=False, username="functions", password="any", timeout_s=2)
    yield client
    client.close()
    cache.execute_command("ACL", "DELUSER", "functions")  # type: ignore[no-untyped-call]


def test_the_user_can_have_two_passwords_during_a_rotation(cache: OperatorCache) -> None:
    first, second = "f" * 64, "s" * 64
    port = cache.connection_pool.connection_kwargs["port"]
    rules = access_rules()

    def set_user(*changes: str) -> list[bool]:
        cache.execute_command("ACL", "SETUSER", "functions", *changes)  # type: ignore[no-untyped-call]
        return [is_taken(first), is_taken(second)]

    once = Retry(NoBackoff(), 0)

    def is_taken(password: str) -> bool:
        client = redis.Redis(HOST, port, username="functions", password=password, retry=once)
        try:
            return client.get("rp:nothing") is None
        except redis.AuthenticationError:
            return False
        finally:
            client.close()

    assert set_user("reset", *rules, f">{first}") == [True, False]
    assert set_user(f">{second}") == [True, True]
    assert set_user(f"<{first}") == [False, True]
    cache.execute_command("ACL", "DELUSER", "functions")  # type: ignore[no-untyped-call]


def _packet(cache: OperatorCache, **changes: Any) -> Packet:
    seconds, _ = cache.time()
    return a_packet(300, 3, created_at_ms=seconds * 1000 - 1000, **changes)


def test_the_user_can_run_all_commands_that_a_packet_needs(
    cache: OperatorCache, functions: ServerClient
) -> None:
    claim_cache = RedisShards(functions, PUBLISHED_SEEDS)
    packet = _packet(cache)
    claim_cache.load(packet, [], is_new=True)
    # The rules also allow a script to read the server's run id.
    assert claim_cache.has_all_claimers(packet.packet_id, "ann")
    for user in ("ann", "bob"):
        claim_cache.grab(packet.packet_id, user)

    claim_cache.revoke(packet.packet_id, "ann", 1)
    claim_cache.release(packet.packet_id, "bob", 2)
    claim_cache.reassign(packet.packet_id, "nobody", 1, owned_no=2)
    assert claim_cache.grab(packet.packet_id, "cat").share_no
    assert claim_cache.emptied_by(packet.packet_id) is None
    assert claim_cache.begin_load(packet.packet_id, 0, 1000)
    claim_cache.hold_load(packet.packet_id, 0, 0)
    assert claim_cache.is_loaded(packet.packet_id, 0)
    claim_cache.close(packet.packet_id)


def test_the_user_can_admit_and_grab(cache: OperatorCache, functions: ServerClient) -> None:
    claim_cache = RedisShards(functions, PUBLISHED_SEEDS)
    packet = _packet(cache, rules=Rules(opening=Opening.TWO_STEP))
    claim_cache.load(packet, [])

    admitted = [
        claim_cache.admit(packet.packet_id, user, life_ms=1000, admitted_max=1).status
        for user in ("ann", "ann", "bob")
    ]

    assert admitted == ["admitted", "admitted", "crowded"]
    assert claim_cache.take(packet.packet_id, "ann", str(packet.terms)).share_no == 1


def test_the_user_can_count_against_a_quota(functions: ServerClient) -> None:
    quotas = RedisQuotas(functions)
    quota = Quota("newyear", 2)

    assert quotas.reserve(quota, "ann", "one") == "reserved"
    assert quotas.reserve(quota, "ann", "two", claimed_count=2) == "exhausted"
    quotas.release(quota, "ann", "one")


def test_the_user_can_limit_rates(functions: ServerClient) -> None:
    limits = RedisLimits(functions)

    for _ in range(2):
        assert limits.take(Limit("quick", per_minute=600, burst=3), "ann") == 0


def test_the_user_can_copy_the_switches(functions: ServerClient) -> None:
    copy = RedisSwitches(functions, TEXTS)
    copy.keep(SwitchesSeen(frozenset({Switch.GRAB})), 1000)

    assert copy.find() == SwitchesSeen(frozenset({Switch.GRAB}))


NEEDLESS = [
    ("FLUSHALL",),
    ("CONFIG", "GET", "*"),
    ("KEYS", "*"),
    ("SCAN", "0"),
    ("CLIENT", "PAUSE", "1"),
    ("CLIENT", "KILL", "TYPE", "normal"),
    ("FUNCTION", "FLUSH"),
    ("SCRIPT", "FLUSH"),
    ("ACL", "LIST"),
    ("DEL", "rp:4{x}"),
]


@pytest.mark.parametrize("user", ["functions", "readers"])
@pytest.mark.parametrize("command", NEEDLESS)
def test_the_user_cannot_run_commands_that_no_function_needs(
    request: pytest.FixtureRequest, user: str, command: tuple[str, ...]
) -> None:
    client: ServerClient = request.getfixturevalue(user)
    with pytest.raises(redis.exceptions.NoPermissionError):
        client.ask(*command)


def test_a_reader_limits_reads(readers: ServerClient) -> None:
    limits, quick = RedisLimits(readers), Limit(READS.name, per_minute=600, burst=3)

    for is_spent in (False, True):
        assert limits.take(quick, "ann") == 0
        assert limits.take_within(quick, "ann", quick, "group", is_spent=is_spent) == 0


@pytest.mark.parametrize(
    "command",
    [
        ("SET", "rp:4{x}", "broken"),
        ("SET", "rp:{draw:gala}", "broken"),
        ("GET", "rp:4{x}"),
        ("EVAL", "return redis.call('SET', KEYS[1], 'broken')", 1, "rp:4{x}"),
        ("HSET", "rp:4{x}", "thief", "1"),
        ("EVAL", "return redis.call('HSET', KEYS[1], 'thief', '1')", 1, "rp:4{x}"),
        ("SET", "rp:switches", ""),
        ("SET", "rp:{risk:thief}", "allow"),
        ("HGET", "rp:{audience:newyear:1}", "ann"),
        ("SET", "rp:limit:{passphrase:x}", "0"),
        ("EVAL", "return redis.call('SET', KEYS[1], '0')", 1, "rp:limit:{passphrase:x}"),
        ("SET", "rp:limit:{passphrase:x}:ann", "0"),
        ("GET", "rp:limit:{send:ann}"),
        ("SET", "rp:limit:{readers:ann}", "0"),
    ],
)
def test_a_reader_cannot_access_packets_lotteries_decisions_or_other_limits(
    readers: ServerClient, command: tuple[str | int, ...]
) -> None:
    with pytest.raises(redis.exceptions.RedisError, match=r"(?i)permission"):
        readers.ask(*command)


def test_an_altered_lottery_can_be_dropped(functions: ServerClient) -> None:
    RedisDraws(functions).drop(DrawRequest("gala", "ann", "draw", DrawDay("20270101", 0, 1), 0))


def test_the_rights_for_a_given_cache_equal_the_rights_in_the_template() -> None:
    page = (ROOT / "docs" / "how-to" / "own-cache.md").read_text()

    assert " ".join(access_rules()[1:]) in page


def test_a_missing_right_is_reported_as_a_client_error(
    cache: OperatorCache, functions: ServerClient
) -> None:
    cache.execute_command("ACL", "SETUSER", "functions", "-hmget")  # type: ignore[no-untyped-call]

    with pytest.raises(redis.exceptions.NoPermissionError):
        RedisShards(functions, PUBLISHED_SEEDS).grab("p" * 22, "ann")
