"""Runs one script on one key, for the adapters that share the cache's client with the board."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import redis
from redis.exceptions import RedisClusterException

from redpacket.adapters.scripts import read_script
from redpacket.domain.errors import Unavailable

if TYPE_CHECKING:
    from redpacket.adapters.redis_cluster import ClusterClient


@dataclass(frozen=True, slots=True)
class Script:
    """A script's source, and the name by which a server that has run it knows it."""

    source: str
    sha: str

    @classmethod
    def read(cls, name: str) -> Script:
        """Read `lua/<name>.lua`."""
        source = read_script(name)
        return cls(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())

    def run(self, client: redis.Redis | ClusterClient, key: str, *args: str | int) -> str:
        """Run it, and bring it to a server that misses it."""
        try:
            answer = client.evalsha(self.sha, 1, key, *args)
        except redis.exceptions.NoScriptError:
            # Not SCRIPT LOAD: a cluster's client sends that to all nodes, and one may be away.
            answer = client.eval(self.source, 1, key, *args)
        return str(answer)


@contextmanager
def translated(client: redis.Redis | ClusterClient) -> Iterator[None]:
    """Raise Unavailable for whatever redis-py raises."""
    try:
        yield
    except redis.ReadOnlyError as error:
        # A primary that became a replica keeps its connections: find the new one.
        client.connection_pool.disconnect()
        raise Unavailable("the cache fails over") from error
    # redis-py's errors about a cluster as a whole are no RedisError.
    except (redis.RedisError, RedisClusterException) as error:
        raise Unavailable("the cache does not answer") from error
