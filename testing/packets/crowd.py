"""Concurrent users of one packet, with threads, the real use cases, a real cache, and a count of
the ledger reads.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.model.packet import Packet
from redpacket.packets.redis.shards import RedisShards
from redpacket.packets.use_cases.sharded_claims import ShardedClaims
from redpacket.platform.errors import RedPacketError, Unavailable
from redpacket.platform.redis.connect import connect
from testing.in_memory_system import InMemorySystem
from testing.platform.units import MeteredDynamo
from testing.platform.wall_clock import WallClock

CROWD = 200

_READ_S = 0.01
"""Seconds that a DynamoDB read takes, long enough for the other users to arrive."""


def a_crowded_town(cache_port: int) -> InMemorySystem:
    """Return a system in real time, with the cache at *cache_port*."""
    system = InMemorySystem()
    system.clock = WallClock()
    system.claim_cache = _CachePerThread(cache_port)
    return system


def count_reads(system: InMemorySystem) -> MeteredDynamo:
    """Add latency to *system*, and return the counter of its reads."""
    meter = MeteredDynamo(system.dynamo)
    system.stand_on(_SlowDynamo(meter))
    return meter


ASKED_AT_MOST = 20


def rush(system: InMemorySystem, packet: Packet) -> Counter[str]:
    """Grab as all users at the same time, and return the count of each answer."""
    answers: Counter[str] = Counter()
    ready = threading.Barrier(CROWD)

    def grab(number: int) -> None:
        # Connect first: 200 concurrent connections take longer than a load may.
        system.claim_cache.is_loaded(packet.packet_id, 0)
        ready.wait()
        # A user who gets 503 retries, as clients do: on a busy machine, a load takes longer than a
        # caller waits.
        for _ in range(ASKED_AT_MOST):
            try:
                system.grab(packet, f"user-{number}")
            except Unavailable:
                continue
            except RedPacketError as error:
                answers[error.code] += 1
            else:
                answers["claimed"] += 1
            return
        answers["unavailable"] += 1

    with ThreadPoolExecutor(max_workers=CROWD) as pool:
        list(pool.map(grab, range(CROWD)))
    return answers


class _SlowDynamo:
    """Slow client for many threads: waits overlap, but calls run one at a time."""

    def __init__(self, client: Any) -> None:
        self.exceptions = client.exceptions
        self._client = client
        self._lock = threading.Lock()

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        method = getattr(self._client, operation)

        def call(**arguments: Any) -> Any:
            time.sleep(_READ_S)
            with self._lock:
                return method(**arguments)

        return call


class _CachePerThread(threading.local):
    """Claim cache with one connection per thread, because each Lambda process has one."""

    def __init__(self, port: int) -> None:
        client = connect(HOST, port, has_tls=False, username="", password="", timeout_s=5)
        self._claim_cache = ShardedClaims(RedisShards(client, PUBLISHED_SEEDS), clock=WallClock())

    def __getattr__(self, move: str) -> Any:
        return getattr(self._claim_cache, move)
