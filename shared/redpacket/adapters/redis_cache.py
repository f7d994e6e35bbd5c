"""The connection to Redis or Valkey, how scripts run there, and how its errors become ours."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import RedisClusterException
from redis.retry import Retry

from redpacket.adapters.redis_tls import TlsConnection
from redpacket.adapters.scripts import read_script
from redpacket.domain.errors import CacheAway, Unavailable

if TYPE_CHECKING:
    from redpacket.adapters.redis_cluster import ClusterClient

Client: TypeAlias = "redis.Redis | ClusterClient"


def connect(
    host: str,
    port: int,
    *,
    has_tls: bool,
    username: str,
    password: str,
    timeout_s: float,
    ca_bundle: str = "",
) -> redis.Redis:
    """Return a client that has not connected yet; *ca_bundle* is as `adapters/tls.py` has it.

    Every script may be repeated (the same user gets the same share), so a timeout is retried too,
    but only once: the user's own retry is as good.
    """
    options = connection_options(
        has_tls=has_tls,
        username=username,
        password=password,
        timeout_s=timeout_s,
        ca_bundle=ca_bundle,
    )
    client = redis.Redis(host=host, port=port, retry=retry_once(), **options)
    if has_tls:
        client.connection_pool.connection_class = TlsConnection
    return client


def connection_options(
    *, has_tls: bool, username: str, password: str, timeout_s: float, ca_bundle: str
) -> dict[str, Any]:
    """Return what a connection to a server is made with, in redis-py's words."""
    return {
        "ssl": has_tls,
        "ssl_ca_certs": ca_bundle or None,
        "username": username or None,
        "password": password or None,
        "protocol": 2,  # one round trip less at connect than RESP3, and nothing of it is used
        "driver_info": None,  # two more: nobody asks the server which library we are
        "decode_responses": True,
        "socket_timeout": timeout_s,
        "socket_connect_timeout": timeout_s,
        "socket_keepalive": True,
    }


def retry_once() -> Retry:
    """Return the retry policy; redis-py's own repeats a command ten times."""
    return Retry(ExponentialWithJitterBackoff(base=0.02, cap=0.1), retries=1)


@dataclass(frozen=True, slots=True)
class Script:
    """A script's source, and the name by which a server that has run it knows it."""

    source: str
    sha: str

    @classmethod
    def read(cls, name: str) -> Script:
        source = read_script(name)
        return cls(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


class Cache:
    """What all adapters of the cache share: one client, scripts by their hash, our errors."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def run(self, script: Script, key: str | Sequence[str], *args: str | int) -> str:
        """Run a script on its key or keys; inside `translated`."""
        keys = [key] if isinstance(key, str) else key
        try:
            answer = self.client.evalsha(script.sha, len(keys), *keys, *args)
        except redis.exceptions.NoScriptError:
            # Not SCRIPT LOAD: a cluster's client sends that to all nodes, and one may be away.
            answer = self.client.eval(script.source, len(keys), *keys, *args)
        return str(answer)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn the client's errors into Unavailable, but for what doesn't pass by itself."""
        try:
            yield
        except redis.exceptions.NoPermissionError:
            # A command that the cache's user may not run is a fault of ours: 500, and an alarm.
            raise
        except redis.ReadOnlyError as error:
            # A primary that became a replica keeps its connections: find the new one.
            self.client.connection_pool.disconnect()
            raise Unavailable("the cache fails over") from error
        except (redis.ConnectionError, redis.TimeoutError) as error:
            raise CacheAway("the cache does not answer") from error
        except (redis.RedisError, RedisClusterException) as error:
            # redis-py's errors about a cluster as a whole are no RedisError, nor does their type
            # tell that no node at all was reached.
            if isinstance(error.__cause__, (redis.ConnectionError, redis.TimeoutError)):
                raise CacheAway("no node of the cache answers") from error
            raise Unavailable("the cache refuses this key for now") from error
