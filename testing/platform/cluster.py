"""Cluster of three real cache servers whose slots move."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from local.ports import HOST, Ports
from testing.platform.servers import Server, wait_for

SLOTS = 16_384
NODE_TIMEOUT_MS = 1_000


class Cluster:
    """Three primaries. At first, only the first *holders* have slots."""

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
        """Move a slot with its keys, step by step, as `redis-cli --cluster reshard` does."""
        if self._owners[slot] != to:
            with self.moving(slot, to):
                _pause()

    @contextmanager
    def moving(self, slot: int, to: int) -> Iterator[None]:
        """Move a slot; inside the block, the slot's keys are already at the target."""
        source = self._owners[slot]
        old, new = self.servers[source], self.servers[to]
        self._ask(new, "SETSLOT", slot, "IMPORTING", self._ids[source])
        self._ask(old, "SETSLOT", slot, "MIGRATING", self._ids[to])
        _pause()
        while slot_keys := self._ask(old, "GETKEYSINSLOT", slot, 10):
            old.admin.migrate(HOST, new.port, slot_keys, 0, 5_000)
        yield
        for server in (new, old):
            self._ask(server, "SETSLOT", slot, "NODE", self._ids[to])
        self._owners[slot] = to

    @contextmanager
    def unserved(self, slot: int) -> Iterator[None]:
        """Remove a slot from its owner during the block; the owner still serves its other slots."""
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
    """Wait, so that some users act between two steps."""
    time.sleep(random.uniform(0.005, 0.03))
