"""Claim cache in cluster mode, with the special cases of the cluster client."""

import time
from collections.abc import Iterator

import pytest
from redis.crc import key_slot
from redis.exceptions import AskError, MovedError

from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.campaigns.model import AudienceMode, audience_bucket
from redpacket.campaigns.redis.audiences import RedisAudiences
from redpacket.packets.model.claim import Quota
from redpacket.packets.model.packet import Packet
from redpacket.packets.redis import keys
from redpacket.packets.redis.quotas import RedisQuotas
from redpacket.packets.redis.shards import RedisShards
from redpacket.platform.errors import CacheAway, Unavailable
from redpacket.platform.redis.cluster import ClusterClient, connect_cluster
from testing.builders import a_packet
from testing.platform.cluster import Cluster
from testing.platform.servers import Server, some_servers, wait_for


def _client(port: int) -> ClusterClient:
    return connect_cluster(HOST, port, has_tls=False, username="", password="", timeout_s=0.5)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with some_servers() as start:
        yield Cluster(start)


@pytest.fixture
def client(cluster: Cluster) -> Iterator[ClusterClient]:
    client = _client(cluster.servers[0].port)
    yield client
    client.close()


def _loaded(claim_cache: RedisShards) -> Packet:
    packet = a_packet(created_at_ms=int(time.time() * 1000) - 1000)
    claim_cache.load(packet, [])
    return packet


def test_an_ask_to_a_slotless_node_is_followed(cluster: Cluster, client: ClusterClient) -> None:
    claim_cache = RedisShards(client, PUBLISHED_SEEDS)
    packet = _loaded(claim_cache)
    claim_cache.grab(packet.packet_id, "ann")
    slot = key_slot(keys.claim_cache(packet.packet_id).encode())

    with cluster.moving(slot, to=2):
        assert claim_cache.grab(packet.packet_id, "bob").share_no == 2
        claim_cache.close(packet.packet_id)
    assert claim_cache.grab(packet.packet_id, "ann").share_no == 1
    assert claim_cache.grab(packet.packet_id, "cat").status == "packet_expired"


def test_a_quota_and_the_list_of_users_are_checked_in_one_slot(client: ClusterClient) -> None:
    audiences, quotas = RedisAudiences(client), RedisQuotas(client)
    users = [f"user-{number}" for number in range(20)]
    for user in users:
        turn = audiences.begin_load("gala", audience_bucket(user), 10_000)
        assert turn is None or audiences.load("gala", audience_bucket(user), turn, [])
    audiences.edit("gala", users[:10], [])

    answers = [quotas.reserve(Quota("gala", 1, AudienceMode.ALLOW), user, "one") for user in users]

    assert answers == ["reserved"] * 10 + ["not_in_audience"] * 10


def test_scripts_are_loaded_into_a_node_that_lacks_them(
    cluster: Cluster, client: ClusterClient
) -> None:
    claim_cache = RedisShards(client, PUBLISHED_SEEDS)
    packet = _loaded(claim_cache)
    slot = key_slot(keys.claim_cache(packet.packet_id).encode())
    others = [server for server in cluster.servers if server is not cluster.owner(slot)]
    cluster.owner(slot).admin.script_flush()
    for server in others:
        server.freeze()

    try:
        assert claim_cache.grab(packet.packet_id, "ann").share_no == 1
    finally:
        for server in others:
            server.thaw()


def test_an_unreachable_cluster_is_reported_as_unavailable_and_not_as_a_redis_error() -> None:
    with pytest.raises(CacheAway):
        RedisShards(_client(1), PUBLISHED_SEEDS).grab("p" * 22, "ann")


def test_an_unserved_slot_is_not_reported_as_an_unreachable_cluster(
    cluster: Cluster, client: ClusterClient
) -> None:
    claim_cache = RedisShards(client, PUBLISHED_SEEDS)
    packet = _loaded(claim_cache)
    slot = key_slot(keys.claim_cache(packet.packet_id).encode())

    with cluster.unserved(slot), pytest.raises(Unavailable) as refused:
        claim_cache.close(packet.packet_id)

    assert not isinstance(refused.value, CacheAway)
    claim_cache.close(packet.packet_id)


def _a_packet_of_each(cluster: Cluster, claim_cache: RedisShards) -> dict[int, Packet]:
    """Return a loaded packet for each server that owns slots, keyed by the server's port."""
    packets: dict[int, Packet] = {}
    while len(packets) < 2:
        packet = _loaded(claim_cache)
        slot = key_slot(keys.claim_cache(packet.packet_id).encode())
        packets[cluster.owner(slot).port] = packet
    return packets


def test_an_idle_client_has_no_connections(cluster: Cluster, client: ClusterClient) -> None:
    claim_cache = RedisShards(client, PUBLISHED_SEEDS)
    packets = _a_packet_of_each(cluster, claim_cache)

    for user_id, packet in zip(("ann", "bob"), packets.values(), strict=True):
        for server in cluster.servers:
            server.admin.client_kill_filter(_type="normal", skipme=True)
        assert claim_cache.grab(packet.packet_id, user_id).share_no == 1


def test_a_hanging_server_is_tried_twice_and_the_others_continue(
    cluster: Cluster, client: ClusterClient
) -> None:
    claim_cache = RedisShards(client, PUBLISHED_SEEDS)
    packets = _a_packet_of_each(cluster, claim_cache)
    hanging = cluster.servers[1]
    hanging.freeze()

    try:
        with pytest.raises(CacheAway):
            claim_cache.grab(packets[hanging.port].packet_id, "ann")
        others = packets[cluster.servers[0].port]
        assert claim_cache.grab(others.packet_id, "ann").share_no == 1
    finally:
        hanging.thaw()
    wait_for(cluster.is_up, "the cluster")
    time.sleep(1)  # meanwhile, the client sends no calls to the server
    assert claim_cache.grab(packets[hanging.port].packet_id, "ann").share_no == 1


def test_a_promoted_replica_is_found_while_its_primary_lives_and_afterwards() -> None:
    with some_servers() as start:
        cluster = Cluster(start)
        primary, _, replica = cluster.servers
        client = _client(cluster.servers[1].port)
        claim_cache = RedisShards(client, PUBLISHED_SEEDS)
        packet = _a_packet_of_each(cluster, claim_cache)[primary.port]
        claim_cache.grab(packet.packet_id, "ann")
        _ask(replica, "CLUSTER", "REPLICATE", _ask(primary, "CLUSTER", "MYID"))
        wait_for(lambda: replica.admin.dbsize() == primary.admin.dbsize(), "the replication")

        _ask(replica, "CLUSTER", "FAILOVER", "TAKEOVER")
        wait_for(lambda: primary.info("replication")["role"] == "slave", "the takeover")
        assert claim_cache.grab(packet.packet_id, "bob").share_no == 2
        # This client starts after the takeover, and knows only the other primary's address.
        late = RedisShards(_client(cluster.servers[1].port), PUBLISHED_SEEDS)
        late.grab(packet.packet_id, "cat")
        primary.kill()

        assert claim_cache.grab(packet.packet_id, "cat").share_no == 3
        assert late.grab(packet.packet_id, "ann").share_no == 1


def _ask(server: Server, *words: str) -> str:
    return str(server.admin.execute_command(*words))  # type: ignore[no-untyped-call]


class _Moving:
    """Server that redirects every client to a port of the same host."""

    def __init__(self) -> None:
        self.requests: list[bool] = []

    def ask(self, words: tuple[str | int, ...], *, is_asking: bool = False) -> None:
        self.requests.append(is_asking)
        raise (AskError if len(self.requests) % 2 else MovedError)("1 :6380")


def test_the_client_gives_up_on_a_cluster_that_redirects_every_call(
    client: ClusterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim_cache = RedisShards(client, PUBLISHED_SEEDS)
    claim_cache.grab("p" * 22, "ann")
    moving, addresses = _Moving(), []

    def server(address: tuple[str, int]) -> _Moving:
        addresses.append(address)
        return moving

    monkeypatch.setattr(client, "_server", server)

    with pytest.raises(Unavailable) as refused:
        claim_cache.grab("p" * 22, "ann")

    assert not isinstance(refused.value, CacheAway)
    assert moving.requests == [False, True] * 4
    assert set(addresses[1:]) == {(HOST, 6380)}
