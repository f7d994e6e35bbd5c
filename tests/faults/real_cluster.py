"""A cluster of three whose slots move, whose third node is new, and one of whose nodes hangs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import redis
from redis.crc import key_slot

from local.ports import HOST, Ports
from redpacket.adapters import keys
from redpacket.adapters.redis.claims import RedisClaims
from redpacket.adapters.redis.cluster import connect_cluster
from tests.faults.figures import Figures
from tests.faults.real_cache import note_recovery, run_crowd
from tests.faults.rush import Crowd, NaiveClaimCache, RealTimeSystem, close_quietly
from tests.faults.servers import CACHE_TIMEOUT_S, Server, some_servers, wait_for

SLOTS = 16_384
NODE_TIMEOUT_MS = 1_000
HANG_S = 2.5
"""Long enough for the others to say that the cluster is down."""


class Cluster:
    """Three primaries; only the first *holders* have slots until some are moved to the others."""

    def __init__(self, start: Callable[..., Server], holders: int = 2) -> None:
        self.servers = [
            start(
                cluster_enabled="yes",
                cluster_port=Ports.free().cache,
                cluster_node_timeout=NODE_TIMEOUT_MS,
            )
            for _ in range(3)
        ]
        self._ids = [str(self._ask(server, "MYID")) for server in self.servers]
        first, *others = self.servers
        for server in others:
            bus = str(server.admin.config_get("cluster-port")["cluster-port"])
            self._ask(first, "MEET", HOST, server.port, bus)
        self._owners = {slot: slot * holders // SLOTS for slot in range(SLOTS)}
        for number, server in enumerate(self.servers[:holders]):
            slots = [slot for slot, owner in self._owners.items() if owner == number]
            self._ask(server, "ADDSLOTSRANGE", slots[0], slots[-1])
        wait_for(self.is_up, "the cluster")

    def is_up(self) -> bool:
        return all(self._is_whole(server) for server in self.servers)

    def owner(self, slot: int) -> Server:
        return self.servers[self._owners[slot]]

    def move(self, slot: int, to: int) -> None:
        """Move a slot with everything in it, as redis-cli --cluster reshard does, step by step."""
        if self._owners[slot] != to:
            with self.moving(slot, to):
                _pause()

    @contextmanager
    def moving(self, slot: int, to: int) -> Iterator[None]:
        """Move a slot; while the block runs its keys are at the target already."""
        source = self._owners[slot]
        old, new = self.servers[source], self.servers[to]
        self._ask(new, "SETSLOT", slot, "IMPORTING", self._ids[source])
        self._ask(old, "SETSLOT", slot, "MIGRATING", self._ids[to])
        _pause()
        while found := self._ask(old, "GETKEYSINSLOT", slot, 10):
            old.admin.migrate(HOST, new.port, found, 0, 5_000)
        yield
        for server in (new, old):
            self._ask(server, "SETSLOT", slot, "NODE", self._ids[to])
        self._owners[slot] = to

    @contextmanager
    def unserved(self, slot: int) -> Iterator[None]:
        """Take a slot from its owner; the others go on without full coverage."""
        owner = self.owner(slot)
        owner.admin.config_set("cluster-require-full-coverage", "no")
        self._ask(owner, "DELSLOTS", slot)
        try:
            yield
        finally:
            self._ask(owner, "ADDSLOTS", slot)
            owner.admin.config_set("cluster-require-full-coverage", "yes")

    def _is_whole(self, server: Server) -> bool:
        info = server.admin.cluster("INFO")
        return info["cluster_state"] == "ok" and int(info["cluster_known_nodes"]) == 3

    @staticmethod
    def _ask(server: Server, *words: str | int) -> Any:
        return server.admin.execute_command("CLUSTER", *words)  # type: ignore[no-untyped-call]


def _pause() -> None:
    """Let some of the crowd come by in between."""
    time.sleep(random.uniform(0.005, 0.03))


def cluster(figures: Figures, *, is_quick: bool) -> None:
    """Move the slots of packets to and fro, then let a node hang until the cluster is down."""
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
        system = RealTimeSystem(RedisClaims(client))
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
            # The first ones go to the new node, which no client knows yet.
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
