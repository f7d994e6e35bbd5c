"""Shared parts of benches: interleaved rounds, and the server's CPU time per call."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from statistics import median

import redis

from local.ports import HOST
from local.seed_keys import PUBLISHED_SEEDS
from redpacket.packets.redis import keys
from redpacket.packets.redis.shards import RedisShards
from redpacket.platform.redis.client import Client
from redpacket.platform.redis.connect import connect
from testing.builders import a_packet
from testing.platform.servers import CACHE_TIMEOUT_S, Server

ROUNDS = 15
CALLS = 4_000
"""Number of calls by each contender in each round, which take tens of milliseconds."""

PIPELINE = 200
DAY_MS = 24 * 3600 * 1000

Call = tuple[str | int, ...]
Figures = dict[str, list[float]]
"""One figure per round, keyed by the contender's name."""


@dataclass(frozen=True, slots=True)
class Contender:
    """Named call to the server. Every answer must begin with *expected*."""

    name: str
    next_call: Callable[[], Call]
    expected: str


def interleaved(runs: Mapping[str, Callable[[], float]], rounds: int = ROUNDS) -> Figures:
    """Run all contenders in turn, repeatedly, so that a slow moment of the machine affects all."""
    figures: Figures = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            figures[name].append(run())
    return figures


def server_costs_us(server: Server, contenders: Iterable[Contender]) -> Figures:
    """Measure the server's CPU time per call, which excludes the client and other processes."""

    def run(contender: Contender) -> float:
        before_s = cpu_s(server)
        send(server.admin, contender.next_call, CALLS, contender.expected)
        return (cpu_s(server) - before_s) / CALLS * 1e6

    return interleaved({each.name: partial(run, each) for each in contenders})


def send(client: redis.Redis, next_call: Callable[[], Call], calls: int, expected: str) -> None:
    """Make calls in pipelines. Each answer must begin with *expected*."""
    for sent in range(0, calls, PIPELINE):
        pipeline = client.pipeline(transaction=False)
        for _ in range(min(PIPELINE, calls - sent)):
            pipeline.execute_command(*next_call())  # type: ignore[no-untyped-call]
        for answer in pipeline.execute():
            assert str(answer).startswith(expected), answer


def whole_costs_us(
    server: Server, runs: Mapping[str, Callable[[str], object]], *, calls: int
) -> Figures:
    """Measure the server's CPU time for sequential calls by users.

    The server reads and answers each call separately, as for a Lambda function, which costs more
    than most commands do.
    """
    numbers = count(1)

    def run(ask: Callable[[str], object]) -> float:
        before_s = cpu_s(server)
        for _ in range(calls):
            ask(f"user-{next(numbers):08d}")
        return (cpu_s(server) - before_s) / calls * 1e6

    return interleaved({name: partial(run, ask) for name, ask in runs.items()})


def cpu_s(server: Server) -> float:
    """Return the CPU seconds that a server has used since its start."""
    spent = server.info("cpu")
    return float(spent["used_cpu_user"]) + float(spent["used_cpu_sys"])


def script_call(client: redis.Redis, source: str, *arguments: str | int) -> Call:
    """Load a script, and return its call without the last arguments."""
    return ("EVALSHA", str(client.script_load(source)), *arguments)


def the_limit(client: redis.Redis) -> Contender:
    """Return a call of an empty script, which no other script can beat."""
    call = script_call(client, "#!lua\nreturn 0", 0)
    return Contender("limit", always(*call), "0")


def ratio(figures: Figures, of: str, to: str) -> float:
    """Return the speed of *of* relative to *to*, as the median of the rounds' cost ratios."""
    pairs = zip(figures[to], figures[of], strict=True)
    return round(median(other / cost for other, cost in pairs), 3)


def speeds(costs_us: Figures) -> dict[str, float]:
    """Return the empty script's calls per second, and the relative speeds of all others."""
    others = {name: ratio(costs_us, name, "limit") for name in costs_us if name != "limit"}
    return {"limit_rps": round(1e6 / median(costs_us["limit"])), **others}


def loaded(client: Client, share_count: int) -> str:
    """Load a packet that is already open, and return the key of the packet's hash."""
    now_ms = int(time.time() * 1000)
    packet = a_packet(100 * share_count, share_count, created_at_ms=now_ms)
    packet = replace(packet, expires_at_ms=now_ms + DAY_MS)
    RedisShards(client, PUBLISHED_SEEDS).load(packet, [])
    return keys.claim_cache(packet.packet_id)


def packet_id_of(key: str) -> str:
    """Return the id of the packet whose hash has this key."""
    return key.partition("{")[2].removesuffix("}")


def production_client(port: int, timeout_s: float = CACHE_TIMEOUT_S) -> Client:
    """Connect to the cache as the functions do."""
    return connect(HOST, port, has_tls=False, username="", password="", timeout_s=timeout_s)


def always(*call: str | int) -> Callable[[], Call]:
    """Return a function that always returns *call*."""
    return lambda: call


def of_new_users(*call: str | int, ids: str = "user-{:08d}") -> Callable[[], Call]:
    """Return a function that returns *call* with another user's id each time."""
    numbers = count(1)
    return lambda: (*call, ids.format(next(numbers)))
