"""What a crowd asks of the ledger, counted: threads, the real flows and a real cache."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from local.ports import HOST
from redpacket.adapters.redis_cache import connect
from redpacket.adapters.redis_claims import RedisClaims
from redpacket.domain.errors import RedPacketError
from redpacket.domain.packet import Packet
from redpacket.flows.try_parts import PartedBoard
from tests.faults.rush import WallClock
from tests.faults.servers import OperatorCache
from tests.town import Town

CROWD = 200

_READS = {"get_item", "query", "batch_get_item", "transact_get_items"}
_READ_S = 0.01
"""About what a call to DynamoDB takes: long enough for the others to come, too."""


class CountingDynamo:
    """FakeDynamo, one call at a time; every read of it is a strong one, and is counted."""

    def __init__(self, dynamo: Any) -> None:
        self.exceptions = dynamo.exceptions
        self.reads: Counter[str] = Counter()
        self._dynamo = dynamo
        self._lock = threading.Lock()

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        method = getattr(self._dynamo, operation)

        def call(**arguments: Any) -> Any:
            time.sleep(_READ_S)
            with self._lock:
                if operation in _READS:
                    self.reads[operation] += 1
                return method(**arguments)

        return call

    @property
    def read_count(self) -> int:
        return self.reads.total()


class BoardPerThread(threading.local):
    """A thread is what a Lambda's process is: it has a connection of its own."""

    def __init__(self, port: int) -> None:
        client = connect(HOST, port, has_tls=False, username="", password="", timeout_s=5)
        self._board = PartedBoard(RedisClaims(client), clock=WallClock())

    def __getattr__(self, move: str) -> Any:
        return getattr(self._board, move)


@pytest.fixture
def town(cache: OperatorCache) -> Town:
    town = Town()
    town.clock = WallClock()
    port = cache.connection_pool.connection_kwargs["port"]
    town.board = BoardPerThread(port)
    return town


def _count_reads(town: Town) -> CountingDynamo:
    counting = CountingDynamo(town.dynamo)
    town.packets, town.ledger = town.adapters(counting)
    return counting


def _rush(town: Town, packet: Packet) -> Counter[str]:
    """Let the crowd grab at the same moment; return their answers."""
    answers: Counter[str] = Counter()
    ready = threading.Barrier(CROWD)

    def grab(number: int) -> None:
        # Everybody has a connection: 200 at once take a process longer than a load may.
        town.board.is_loaded(packet.packet_id, 0)
        ready.wait()
        try:
            town.grab(packet, f"user-{number}")
        except RedPacketError as error:
            answers[error.code] += 1
        else:
            answers["claimed"] += 1

    with ThreadPoolExecutor(max_workers=CROWD) as pool:
        list(pool.map(grab, range(CROWD)))
    return answers


@pytest.mark.parametrize("count", [5, 100])
def test_after_a_flush_a_crowd_costs_one_load(town: Town, cache: OperatorCache, count: int) -> None:
    packet = town.send(count=count)
    cache.flushall()
    counting = _count_reads(town)

    answers = _rush(town, packet)

    # A process of 200 threads may keep the one that loads waiting for longer than the others do.
    answers["packet_emptied"] += answers.pop("unavailable", 0)
    assert answers == {"claimed": count, "packet_emptied": CROWD - count}
    # One load, and one look for owners whom the cache may have forgotten when it is emptied.
    assert counting.reads <= Counter(get_item=2, query=2)


def test_who_is_late_costs_no_read(town: Town) -> None:
    packet = town.send(life_ms=1)
    counting = _count_reads(town)
    time.sleep(0.01)

    answers = _rush(town, packet)

    assert answers == {"packet_expired": CROWD}
    assert counting.reads == {}
