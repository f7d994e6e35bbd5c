"""Cluster of three nodes: slots move, the third node is new, and one node hangs."""

import random
import time
from collections.abc import Callable, Sequence

import redis
from redis.crc import key_slot

from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.redis import keys
from redpacket.packets.redis.shards import RedisShards
from redpacket.platform.redis.cluster import connect_cluster
from testing.platform.cluster import Cluster
from testing.platform.servers import CACHE_TIMEOUT_S, some_servers, wait_for
from tests.faults.figures import Figures
from tests.faults.real_cache import note_recovery, run_crowd
from tests.faults.rush import Crowd, NaiveClaimCache, RealTimeSystem, close_quietly

HANG_S = 2.5
"""Seconds; long enough for the other nodes to mark the cluster as down."""


def cluster(figures: Figures, *, is_quick: bool) -> None:
    """Move the slots of packets back and forth, then freeze a node until the cluster is down."""
    for number in range(1, 2 if is_quick else 5):
        with some_servers() as start:
            nodes = Cluster(start)
            _run(figures, nodes, 15 if is_quick else 60, is_naive=False)
            if number == 1:
                _run(figures, nodes, 15, is_naive=True)


def _run(figures: Figures, nodes: Cluster, moves: int, *, is_naive: bool) -> None:
    client = connect_cluster(
        HOST,
        nodes.servers[0].port,
        has_tls=False,
        username="",
        password="",
        timeout_s=CACHE_TIMEOUT_S,
    )
    usual = redis.RedisCluster(
        host=HOST,
        port=nodes.servers[0].port,
        decode_responses=True,
        require_full_coverage=False,
        socket_timeout=CACHE_TIMEOUT_S,
    )
    try:
        system = RealTimeSystem(RedisShards(client, PUBLISHED_SEEDS))
        packets = system.send_some(20, 200)
        crowd = Crowd(system, packets, NaiveClaimCache(usual) if is_naive else None)
        slots = [key_slot(keys.claim_cache(packet.packet_id).encode()) for packet in packets]
        run_crowd(figures, crowd, _moving(nodes, slots, moves))
    finally:
        close_quietly(client, usual)


def _moving(servers: Cluster, slots: Sequence[int], moves: int) -> Callable[[Crowd, Figures], None]:
    def harm(crowd: Crowd, figures: Figures) -> None:
        for number in range(moves):
            crowd.wait_for_claims(5)
            # The first slots move to the new node, which no client knows yet.
            servers.move(random.choice(slots), 2 if number < 3 else random.randrange(3))
            note_recovery(crowd, figures, time.monotonic())
        if crowd.naive:
            return
        hanging = servers.owner(slots[0])
        hanging.freeze()
        time.sleep(HANG_S)
        hanging.thaw()
        note_recovery(crowd, figures, time.monotonic())
        wait_for(servers.is_up, "the cluster")
        crowd.wait_for_claims(100)
        if crowd.causes["ClusterCrossSlotError"]:
            crowd.wrong.append(f"{crowd.causes['ClusterCrossSlotError']} x CROSSSLOT")
        if not crowd.causes:
            crowd.wrong.append("no call failed on the hanging node")

    return harm
