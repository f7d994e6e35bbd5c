"""Ledger calls by many concurrent users: threads, the real use cases and a real cache.

The Makefile runs this suite after the stacks' tests, because stacks would delay the loading thread.
"""

import time

import pytest

from testing.in_memory_system import InMemorySystem
from testing.packets.crowd import CROWD, a_crowded_town, count_reads, rush
from testing.platform.servers import OperatorCache


@pytest.fixture
def system(cache: OperatorCache) -> InMemorySystem:
    return a_crowded_town(cache.connection_pool.connection_kwargs["port"])


@pytest.mark.parametrize("count", [5, 100])
def test_after_a_flush_many_concurrent_users_cost_one_load(
    system: InMemorySystem, cache: OperatorCache, count: int
) -> None:
    packet = system.send(count=count)
    cache.flushall()
    meter = count_reads(system)

    answers = rush(system, packet)

    # In a process with 200 threads, the loading thread may run for longer than the others wait.
    answers["packet_emptied"] += answers.pop("unavailable", 0)
    assert answers == {"claimed": count, "packet_emptied": CROWD - count}
    # One load, and one search for owners that the emptied cache may have lost: each reads the
    # packet and its shares.
    assert meter.strong_count == len(meter.reads) <= 4


def test_late_users_cost_no_read(system: InMemorySystem) -> None:
    packet = system.send(life_ms=1)
    meter = count_reads(system)
    time.sleep(0.01)

    answers = rush(system, packet)

    assert answers == {"packet_expired": CROWD}
    assert meter.reads == []
