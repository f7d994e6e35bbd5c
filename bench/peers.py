"""Claims per second from Python, compared with other ways to hand out each share once.

Contenders take turns. In each turn, several processes claim as fast as they can for half a second.
The unit (1.00) is our script alone, called through redis-py in the same round. The adapter is the
production claim cache; the fastest peer is also compared with it. PostgreSQL is Debian's package
(apt install postgresql), with its default durability and with synchronous_commit=off. Its figures
are null if it is not installed. Claims in Redis are not durable until the ledger has them.
"""

import multiprocessing as mp
import os
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import count
from multiprocessing.pool import Pool
from multiprocessing.synchronize import Barrier
from statistics import median
from typing import Any, NamedTuple

import psycopg
import redis

from bench.postgres import CLAIM, TABLES, a_postgres
from bench.rounds import Figures, interleaved, loaded, packet_id_of, production_client
from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.redis.shards import RedisShards
from redpacket.platform.redis.connect import Script
from testing.platform.servers import some_servers

WORKERS = (1, 4, 20)
OF_THE_JSON = 4
ROUNDS = 5
SECONDS = 0.5
SHARES = 200_000
"""More shares than any contender claims."""

LOCK_SLEEP_S = 0.001
"""Seconds between attempts. The default of 0.1 would leave the lock free most of the time."""

Claim = Callable[[str], object]


class Place(NamedTuple):
    """Servers and key that hold the shares."""

    port: int
    cache_key: str
    postgres: str | None


def measure() -> dict[str, Any]:
    """Return the figures of this bench."""
    with some_servers() as start, a_postgres(SHARES) as postgres:
        if postgres is None:
            print("no PostgreSQL on this machine (apt install postgresql): its figure is null")
        client = start().admin
        for name in ("separate", "lock", "watch"):
            client.rpush(f"{name}:left", *([100] * SHARES))
        port = client.connection_pool.connection_kwargs["port"]
        place = Place(port, loaded(client, 1_000_000), postgres)
        client.script_load(Script.read("packet_grab").source)
        rates = {workers: _rates(place, workers) for workers in WORKERS}
        # A list that became empty would have answered too fast.
        assert all(client.llen(f"{name}:left") for name in ("separate", "lock", "watch"))
    ratios = {workers: _ratios(figures) for workers, figures in rates.items()}
    ours = ratios.pop(OF_THE_JSON)
    peers = [value for name, value in ours.items() if name not in {"script", "adapter"} and value]
    return {
        **ours,
        "best_peer": round(max(peers) / (ours["adapter"] or 1), 3),
        "claims_per_s_4_processes": round(median(rates[OF_THE_JSON]["script"])),
        "adapter_claims_per_s_4_processes": round(median(rates[OF_THE_JSON]["adapter"])),
        **{f"with_{workers}": ratio for workers, ratio in ratios.items()},
    }


def _ratios(figures: Figures) -> dict[str, float | None]:
    def ratio(rates: list[float]) -> float:
        return round(
            median(rate / of for rate, of in zip(rates, figures["script"], strict=True)), 3
        )

    return {name: ratio(figures[name]) if name in figures else None for name in _WAYS}


def _rates(place: Place, workers: int) -> Figures:
    names = [name for name in _WAYS if place.postgres or name not in TABLES]
    with _pool(place, workers) as pool:
        return interleaved({name: partial(_rate, pool, workers, name) for name in names}, ROUNDS)


def _rate(pool: Pool, workers: int, name: str) -> float:
    return sum(pool.map(_claim_for_a_moment, [name] * workers, chunksize=1))


# Code of a worker process. Workers wait for each other first, so that each gets one task.


def _pool(place: Place, workers: int) -> Pool:
    context = mp.get_context("fork")
    return context.Pool(workers, _begin, (place, context.Barrier(workers)))


def _begin(place: Place, barrier: Barrier) -> None:
    global _PLACE, _BARRIER
    _PLACE, _BARRIER = place, barrier


def _claim_for_a_moment(name: str) -> float:
    claim, users = _way(name), _users()
    _BARRIER.wait()
    began_at = time.perf_counter()
    claims = 0
    while time.perf_counter() - began_at < SECONDS:
        claim(next(users))
        claims += 1
    return claims / (time.perf_counter() - began_at)


@cache
def _users() -> Iterator[str]:
    pid = os.getpid()
    return (f"{pid}-{number:08d}" for number in count())


@cache
def _way(name: str) -> Claim:
    return _WAYS[name]()


@cache
def _client() -> redis.Redis:
    # Client of the script and of the Redis peers, tuned for speed.
    return redis.Redis(
        host=HOST,
        port=_PLACE.port,
        protocol=2,
        driver_info=None,
        decode_responses=True,
        socket_timeout=30,
    )


def _script() -> Claim:
    client, script = _client(), Script.read("packet_grab")
    return lambda user_id: client.evalsha(script.sha, 1, _PLACE.cache_key, user_id)


def _adapter() -> Claim:
    claim_cache = RedisShards(production_client(_PLACE.port, timeout_s=30), PUBLISHED_SEEDS)
    packet_id = packet_id_of(_PLACE.cache_key)

    def claim(user_id: str) -> None:
        assert claim_cache.grab(packet_id, user_id).share_no

    return claim


def _take(name: str, user_id: str) -> None:
    client = _client()
    if client.hexists(f"{name}:taken", user_id):
        return
    amount = client.lpop(f"{name}:left")
    client.hset(f"{name}:taken", user_id, str(amount))


def _lock() -> Claim:
    def claim(user_id: str) -> None:
        with _client().lock("lock", timeout=30, sleep=LOCK_SLEEP_S):
            _take("lock", user_id)

    return claim


def _watch() -> Claim:
    def attempt(user_id: str) -> bool:
        with _client().pipeline() as pipeline:
            pipeline.watch("watch:left", "watch:taken")  # type: ignore[no-untyped-call]
            if pipeline.hexists("watch:taken", user_id):
                return True
            amount = pipeline.lindex("watch:left", 0)
            pipeline.multi()
            pipeline.lpop("watch:left")
            pipeline.hset("watch:taken", user_id, str(amount))
            try:
                pipeline.execute()
            except redis.WatchError:
                return False
            return True

    def claim(user_id: str) -> None:
        while not attempt(user_id):
            pass

    return claim


def _postgres(name: str) -> Claim:
    connection = psycopg.connect(_PLACE.postgres or "", autocommit=True)
    connection.execute(f"SET synchronous_commit = {TABLES[name]}")
    claim = CLAIM.format(table=name)
    return lambda user_id: connection.execute(claim, (user_id,))


_WAYS: dict[str, Callable[[], Claim]] = {
    "script": _script,
    "adapter": _adapter,
    "separate": lambda: partial(_take, "separate"),
    "lock": _lock,
    "watch": _watch,
    **{name: partial(_postgres, name) for name in TABLES},
}

_PLACE: Place
_BARRIER: Barrier
