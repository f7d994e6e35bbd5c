"""The board on a cache in cluster mode, where its client has surprises of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from redis.crc import key_slot

from local.ports import HOST
from redpacket.adapters import keys
from redpacket.adapters.redis_claims import RedisClaims
from redpacket.adapters.redis_cluster import ClusterClient, connect_cluster
from redpacket.domain.errors import CacheAway, Unavailable
from redpacket.domain.packet import Packet
from tests.builders import a_packet
from tests.faults.real_cluster import Cluster
from tests.faults.servers import some_servers


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


def _loaded(board: RedisClaims) -> Packet:
    packet = a_packet(created_at_ms=int(time.time() * 1000) - 1000)
    board.load(packet, [])
    return packet


def test_an_ask_to_a_node_without_slots_is_followed(
    cluster: Cluster, client: ClusterClient
) -> None:
    board = RedisClaims(client)
    packet = _loaded(board)
    board.grab(packet.packet_id, "ann")
    slot = key_slot(keys.board(packet.packet_id).encode())

    with cluster.moving(slot, to=2):
        assert board.grab(packet.packet_id, "bob").share_no == 2
        board.close(packet.packet_id)
    assert board.grab(packet.packet_id, "ann").share_no == 1
    assert board.grab(packet.packet_id, "cat").status == "packet_expired"


def test_scripts_are_brought_to_the_one_node_that_misses_them(
    cluster: Cluster, client: ClusterClient
) -> None:
    board = RedisClaims(client)
    packet = _loaded(board)
    slot = key_slot(keys.board(packet.packet_id).encode())
    others = [server for server in cluster.servers if server is not cluster.owner(slot)]
    cluster.owner(slot).admin.script_flush()
    for server in others:
        server.freeze()

    try:
        assert board.grab(packet.packet_id, "ann").share_no == 1
    finally:
        for server in others:
            server.thaw()


def test_a_cluster_that_is_away_is_unavailable_and_not_an_error_of_redis() -> None:
    with pytest.raises(CacheAway):
        RedisClaims(_client(1)).grab("p" * 22, "ann")


def test_a_slot_that_nobody_serves_is_not_taken_for_a_cluster_that_is_away(
    cluster: Cluster, client: ClusterClient
) -> None:
    board = RedisClaims(client)
    packet = _loaded(board)
    slot = key_slot(keys.board(packet.packet_id).encode())

    with cluster.unserved(slot), pytest.raises(Unavailable) as refused:
        board.close(packet.packet_id)

    assert not isinstance(refused.value, CacheAway)
    board.close(packet.packet_id)
