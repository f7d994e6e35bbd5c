"""TLS and AUTH with the template's user, for one server and for a cluster."""

import time
from collections.abc import Callable, Iterator

import pytest
from redis.crc import key_slot
from redis.exceptions import AuthenticationError

from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.lottery.redis.draws import RedisDraws
from redpacket.operations.model.limits import Limit
from redpacket.operations.model.switches import Switch
from redpacket.operations.ports import SwitchesSeen
from redpacket.operations.redis.limits import RedisLimits
from redpacket.operations.redis.switches import RedisSwitches
from redpacket.packets.model.claim import Quota
from redpacket.packets.model.packet import Opening, Packet, Rules
from redpacket.packets.redis import keys
from redpacket.packets.redis.quotas import RedisQuotas
from redpacket.packets.redis.shards import RedisShards
from redpacket.platform.errors import CacheAway
from redpacket.platform.redis.client import Client
from redpacket.platform.redis.cluster import connect_cluster
from redpacket.platform.redis.connect import connect
from testing.builders import a_packet
from testing.operations.signed_texts import TEXTS
from testing.packets.held_numbers import held_numbers
from testing.platform.cluster import Cluster
from testing.platform.servers import Server, some_servers
from testing.platform.tls_servers import Authority, Front, some_fronts
from tests.contract.test_cache_user import access_rules

Connected = Callable[..., Client]

PASSWORD = "a password of the tests"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls"))


def _make_user(server: Server, *more: str) -> None:
    rules = [*access_rules(), *more]
    server.admin.execute_command("ACL", "SETUSER", "functions", "on", f">{PASSWORD}", *rules)  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def front(authority: Authority) -> Iterator[Front]:
    with some_servers() as start, some_fronts(authority.server_context(HOST), 1) as (front,):
        server = start()
        _make_user(server)
        front.target = server.port
        yield front


@pytest.fixture(scope="module")
def cluster(authority: Authority) -> Iterator[tuple[Cluster, list[Front]]]:
    with some_servers() as start, some_fronts(authority.server_context(HOST), 3) as fronts:
        left = iter(fronts)

        def start_behind(**options: str | int) -> Server:
            front = next(left)
            # The server announces the TLS port to clients and in MOVED answers.
            server = start(**options, cluster_announce_port=front.port)
            _make_user(server, "+cluster|slots", "+asking")
            front.target = server.port
            return server

        yield Cluster(start_behind, holders=3), fronts


@pytest.fixture
def connected(authority: Authority) -> Connected:
    def to(port: int, password: str = PASSWORD, bundle: str | None = None) -> Client:
        return connect(
            HOST,
            port,
            has_tls=True,
            username="functions",
            password=password,
            timeout_s=2,
            ca_bundle=str(authority.bundle) if bundle is None else bundle,
        )

    return to


@pytest.fixture
def cluster_client(cluster: tuple[Cluster, list[Front]], authority: Authority) -> Client:
    _, fronts = cluster
    return connect_cluster(
        HOST,
        fronts[0].port,
        has_tls=True,
        username="functions",
        password=PASSWORD,
        timeout_s=2,
        ca_bundle=str(authority.bundle),
    )


def _packet(rules: Rules | None = None) -> Packet:
    created_at_ms = int(time.time() * 1000) - 1000
    return a_packet(300, 3, created_at_ms=created_at_ms, rules=rules or Rules())


def _use_everything(client: Client) -> None:
    claim_cache, packet = RedisShards(client, PUBLISHED_SEEDS), _packet()
    claim_cache.load(packet, [])
    numbers = [claim_cache.grab(packet.packet_id, user).share_no for user in ("ann", "bob", "ann")]
    assert numbers == [1, 2, 1]
    claim_cache.release(packet.packet_id, "bob", 2)
    assert held_numbers(claim_cache, packet.packet_id, ["ann", "bob"]) == {"ann": 1}
    claim_cache.close(packet.packet_id)
    gated = _packet(Rules(opening=Opening.TWO_STEP))
    claim_cache.load(gated, [])
    assert claim_cache.admit(gated.packet_id, "ann", life_ms=1000, admitted_max=1).number
    assert claim_cache.take(gated.packet_id, "ann", "").share_no == 1
    assert claim_cache.begin_load(packet.packet_id, 0, 1000)
    quotas = RedisQuotas(client)
    assert quotas.reserve(Quota("newyear", 2), "ann", packet.packet_id) == "reserved"
    quotas.release(Quota("newyear", 2), "ann", packet.packet_id)
    assert RedisLimits(client).take(Limit("quick", per_minute=600, burst=3), packet.packet_id) == 0
    RedisSwitches(client, TEXTS).keep(SwitchesSeen(frozenset({Switch.GRAB})), 1000)
    assert RedisSwitches(client, TEXTS).find() == SwitchesSeen(frozenset({Switch.GRAB}))
    assert RedisDraws(client).begin_load(packet.packet_id, 1000)


def test_all_commands_use_tls_as_the_user_of_the_functions(
    front: Front, connected: Connected
) -> None:
    before = front.count
    client = connected(front.port)

    _use_everything(client)

    assert front.count == before + 1
    client.close()


def test_a_dropped_connection_is_opened_again(front: Front, connected: Connected) -> None:
    client = connected(front.port)
    client.ask("SET", "rp:key", "value")

    front.cut()

    assert client.ask("GET", "rp:key") == "value"


def test_a_wrong_password_gives_no_access(front: Front, connected: Connected) -> None:
    with pytest.raises(CacheAway) as refused:
        RedisShards(connected(front.port, "another password"), PUBLISHED_SEEDS).grab(
            "p" * 22, "ann"
        )

    assert isinstance(refused.value.__cause__, AuthenticationError)


def test_a_server_with_an_untrusted_certificate_gets_no_password(
    front: Front, connected: Connected
) -> None:
    before = front.count

    with pytest.raises(CacheAway, match="does not answer") as refused:
        RedisShards(connected(front.port, bundle=""), PUBLISHED_SEEDS).grab("p" * 22, "ann")

    assert "certificate verify failed" in str(refused.value.__cause__)
    assert front.count == before


def test_a_server_with_another_host_name_gets_no_password(
    authority: Authority, connected: Connected
) -> None:
    elsewhere = authority.server_context("cache.example")
    with some_servers() as start, some_fronts(elsewhere, 1) as (front,):
        front.target = start().port

        with pytest.raises(CacheAway) as refused:
            RedisShards(connected(front.port), PUBLISHED_SEEDS).grab("p" * 22, "ann")

        assert "mismatch" in str(refused.value.__cause__)
        assert front.count == 0


def test_a_cluster_is_found_and_used_over_tls(
    cluster: tuple[Cluster, list[Front]], cluster_client: Client
) -> None:
    _, fronts = cluster

    for _ in range(8):
        _use_everything(cluster_client)

    # The client connected to every node, and read the slot map from at least one.
    assert all(front.count for front in fronts)
    cluster_client.close()


def test_a_moved_slot_is_followed_over_tls(
    cluster: tuple[Cluster, list[Front]], cluster_client: Client
) -> None:
    nodes, _ = cluster
    claim_cache, packet = RedisShards(cluster_client, PUBLISHED_SEEDS), _packet()
    claim_cache.load(packet, [])
    claim_cache.grab(packet.packet_id, "ann")
    slot = key_slot(keys.claim_cache(packet.packet_id).encode())
    to = (nodes.servers.index(nodes.owner(slot)) + 1) % 3

    with nodes.moving(slot, to=to):
        assert claim_cache.grab(packet.packet_id, "bob").share_no == 2
    assert claim_cache.grab(packet.packet_id, "cat").share_no == 3
