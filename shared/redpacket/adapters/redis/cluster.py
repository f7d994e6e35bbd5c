"""The client of a cache in cluster mode; imported only where CACHE_CLUSTER says so."""

from __future__ import annotations

import random
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError, RedisError, TryAgainError

from redpacket.adapters.redis.client import FAILURES, Connections, ConnectTo, Word, pause
from redpacket.adapters.redis.connect import connection_maker

if TYPE_CHECKING:
    from typing import Unpack

    from redpacket.adapters.redis.connect import Options

Address = tuple[str, int]

_HOPS_MAX = 8
"""A slot that moves costs two; more are a cluster that doesn't know itself what it wants."""

_MAP_AGE_S = 1.0
"""A slot that has moved is noted at once, the whole map is read again after this time at most."""

_ASKED_FOR_MAP = 2
"""Servers, before the endpoint: each may hang for as long as a time-out lasts."""


def connect_cluster(host: str, port: int, **options: Unpack[Options]) -> ClusterClient:
    """Return a client that has not connected yet; *host* is any node, or the cluster's endpoint."""
    return ClusterClient(host, port, connection_maker(**options))


class ClusterClient:
    """Implements Client; asks for the map of slots at its first command.

    Follows MOVED, ASK and TRYAGAIN. Where a server is away or the cluster is down, it reads a new
    map and tries once more. An unserved slot refuses its own packets, not all of them.
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
        # Also one that ASK names and that isn't in the map: it has no slots yet.
        server = self._servers.get(address)
        if server is None:
            server = Connections(partial(self._connect_to, *address))
            server = self._servers.setdefault(address, server)
        return server

    def _owner(self, slot: int) -> Address:
        owners = self._owners or self._read_map()
        # Unserved slots must not refuse the packets of other slots.
        address = owners[slot] or self._read_map()[slot]
        if address is None:
            raise ClusterDownError("no server has the slot")
        return address

    def _note(self, slot: int, address: Address) -> None:
        if time.monotonic() - self._read_at_s > _MAP_AGE_S:
            # After a failover all slots of a server have moved.
            self._read_map()
        self._owners[slot] = address

    def _read_map(self, suspect: Address | None = None) -> list[Address | None]:
        """Ask some server, and the endpoint at last, who has which slots."""
        others = [address for address in self._servers if address not in {suspect, self._endpoint}]
        asked = random.sample(others, min(_ASKED_FOR_MAP, len(others)))
        failure: RedisError | None = None
        for address in [*asked, self._endpoint]:
            server = self._server(address)
            if suspect:
                # After a long sleep every connection is as dead as the one that failed.
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
            # A server that doesn't know its own name is the one that was asked.
            owners[first : last + 1] = [(host or told_by[0], port)] * (last + 1 - first)
        named = {*owners, self._endpoint}
        self._servers = {at: server for at, server in self._servers.items() if at in named}
        self._owners, self._read_at_s = owners, time.monotonic()
        return owners
