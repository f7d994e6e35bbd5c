"""The client of a cache in cluster mode; imported only where CACHE_CLUSTER says so."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from redis.cluster import PRIMARY, ClusterNode, RedisCluster

from redpacket.adapters.redis_cache import connection_options, retry_once


def connect_cluster(
    host: str,
    port: int,
    *,
    has_tls: bool,
    username: str,
    password: str,
    timeout_s: float,
    ca_bundle: str = "",
) -> ClusterClient:
    """Return a client that has not connected yet; *host* is any node, or the cluster's endpoint."""
    options = connection_options(
        has_tls=has_tls,
        username=username,
        password=password,
        timeout_s=timeout_s,
        ca_bundle=ca_bundle,
    )
    return ClusterClient(host, port, options)


class ClusterClient:
    """Asks for the map of slots at its first command, so that nothing fails before it is needed.

    MOVED, ASK and TRYAGAIN are followed, a node that is away is tried once more after a new map.
    """

    def __init__(self, host: str, port: int, options: dict[str, Any]) -> None:
        self._address = host, port
        self._options = options

    def __getattr__(self, command: str) -> Any:  # noqa: ANN401 - each command has its own answer
        if command.startswith("_"):
            raise AttributeError(command)
        return getattr(self._cluster, command)

    @property
    def connection_pool(self) -> ClusterClient:
        """All connections there are."""
        return self

    def disconnect(self) -> None:
        """Forget the map and every connection; the next command asks for a new one."""
        cluster = self.__dict__.pop("_cluster", None)
        if cluster is not None:
            cluster.close()

    @cached_property
    def _cluster(self) -> _Cluster:
        host, port = self._address
        # Slots that nobody serves are no reason to refuse the packets of all others.
        return _Cluster(
            host, port, retry=retry_once(), require_full_coverage=False, **self._options
        )


class _Cluster(RedisCluster):
    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - redis-py's own
        self._newcomers: dict[str, ClusterNode] = {}
        super().__init__(*args, **options)

    def get_node(
        self, host: str | None = None, port: int | None = None, node_name: str | None = None
    ) -> ClusterNode | None:
        """Return a node, also one that ASK names and that isn't in the map: it has no slots yet."""
        found: ClusterNode | None = super().get_node(host, port, node_name)  # type: ignore[no-untyped-call]
        if found is None and node_name:
            name, _, number = node_name.rpartition(":")
            newcomer = ClusterNode(name, int(number), PRIMARY)  # type: ignore[no-untyped-call]
            found = self._newcomers.setdefault(node_name, newcomer)
        return found
