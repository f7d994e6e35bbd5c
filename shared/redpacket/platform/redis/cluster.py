"""Client for a cache in cluster mode, imported only if CACHE_URL ends with `?cluster`."""

from __future__ import annotations

import random
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError, RedisError, TryAgainError

from redpacket.platform.redis.client import FAILURES, Connections, ConnectTo, Word, pause
from redpacket.platform.redis.connect import connection_maker

if TYPE_CHECKING:
    from typing import Unpack

    from redpacket.platform.redis.connect import Options

Address = tuple[str, int]

_HOPS_MAX = 8
"""Maximum attempts per command; a moving slot takes three, an inconsistent cluster many."""

_MAP_AGE_S = 1.0
"""Minimum seconds between reloads of the slot map after redirections."""

_ASKED_FOR_MAP = 2
"""Maximum servers to ask for the slot map before the endpoint; each may take a full timeout."""


def connect_cluster(host: str, port: int, **options: Unpack[Options]) -> ClusterClient:
    """Return a client that connects when needed; *host* is any node or the cluster's endpoint."""
    return ClusterClient(host, port, connection_maker(**options))


class ClusterClient:
    """Cluster client that loads the slot map at its first command.

    The client follows MOVED and ASK, retries after TRYAGAIN, and reloads the map after a command's
    first failure. If no server has a slot, only commands for keys in that slot fail.
    """

    def __init__(self, host: str, port: int, connect_to: ConnectTo) -> None:
        self._endpoint = host, port
        self._connect_to = connect_to
        self._servers: dict[Address, Connections] = {}
        self._owners: list[Address | None] = []
        self._read_at_s = 0.0

    def ask(self, *words: Word) -> Any:  # noqa: ANN401
        key = words[3] if words[0] in {"EVALSHA", "EVAL"} else words[1]
        slot = key_slot(str(key).encode())
        address, is_asking, has_failed = self._owner(slot), False, False
        for _ in range(_HOPS_MAX):
            try:
                return self._server(address).ask(words, is_asking=is_asking)
            except MovedError as moved:
                address, is_asking = (moved.host or address[0], moved.port), False
                self._note(slot, address)
            except AskError as ask:
                address, is_asking = (ask.host or address[0], ask.port), True
            except TryAgainError:
                pause()
            except (*FAILURES, ClusterDownError):
                self._server(address).forget()
                if has_failed:
                    raise
                has_failed = True
                pause()
                self._read_map(suspect=address)
                address, is_asking = self._owner(slot), False
        raise TryAgainError("the slot is sent from server to server")

    def close(self) -> None:
        self._servers, self._owners = {}, []

    def _server(self, address: Address) -> Connections:
        # ASK may name a server that is not in the map because it has no slots yet.
        server = self._servers.get(address)
        if server is None:
            server = Connections(partial(self._connect_to, *address))
            server = self._servers.setdefault(address, server)
        return server

    def _owner(self, slot: int) -> Address:
        owners = self._owners or self._read_map()
        # If no server has this slot, commands for other slots must still work.
        address = owners[slot] or self._read_map()[slot]
        if address is None:
            raise ClusterDownError("no server has the slot")
        return address

    def _note(self, slot: int, address: Address) -> None:
        if time.monotonic() - self._read_at_s > _MAP_AGE_S:
            # A failover moves all of a server's slots, so reload the whole map.
            self._read_map()
        self._owners[slot] = address

    def _read_map(self, suspect: Address | None = None) -> list[Address | None]:
        others = [address for address in self._servers if address not in {suspect, self._endpoint}]
        sampled = random.sample(others, min(_ASKED_FOR_MAP, len(others)))
        failure: RedisError | None = None
        for address in [*sampled, self._endpoint]:
            server = self._server(address)
            if suspect:
                # After a long freeze, all connections are dead, not only the failed one.
                server.forget()
            try:
                answer = server.ask(("CLUSTER", "SLOTS"))
            except FAILURES as error:
                server.forget()
                failure = error
                continue
            return self._keep_map(answer, address)
        assert failure
        raise failure

    def _keep_map(self, answer: Any, told_by: Address) -> list[Address | None]:  # noqa: ANN401
        owners: list[Address | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        for first, last, (host, port, *_), *_ in answer:
            # An empty host means the server that answered.
            owners[first : last + 1] = [(host or told_by[0], port)] * (last + 1 - first)
        named = {*owners, self._endpoint}
        self._servers = {at: server for at, server in self._servers.items() if at in named}
        self._owners, self._read_at_s = owners, time.monotonic()
        return owners
