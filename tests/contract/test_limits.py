"""One suite for the limits in memory and the limits on a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from local.ports import HOST
from redpacket.adapters import keys
from redpacket.adapters.redis_cache import connect
from redpacket.adapters.redis_limits import RedisLimits
from redpacket.domain.errors import Unavailable
from redpacket.domain.limits import Limit
from redpacket.ports import Clock, Limits
from tests.fakes import FakeClock, FakeLimits
from tests.faults.servers import OperatorCache

QUICK = Limit("quick", per_minute=600, burst=3)


class _RealClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        time.sleep(duration_ms / 1000)


@dataclass
class Counter:
    """The limits under test, and the clock that they go by."""

    limits: Limits
    clock: Clock

    def take(self, subject: str = "ann", limit: Limit = QUICK) -> int:
        return self.limits.take(limit, subject)


@pytest.fixture(params=["fake", "redis"])
def counter(request: pytest.FixtureRequest) -> Iterator[Counter]:
    if request.param == "fake":
        clock = FakeClock()
        yield Counter(FakeLimits(clock), clock)
    else:
        cache: OperatorCache = request.getfixturevalue("cache")
        yield Counter(RedisLimits(cache), _RealClock())


def test_a_burst_is_let_through_and_then_no_more(counter: Counter) -> None:
    waits_ms = [counter.take() for _ in range(4)]

    assert waits_ms[:3] == [0, 0, 0]
    assert 0 < waits_ms[3] <= 100


def test_whoever_waits_as_long_as_they_are_told_is_let_through(counter: Counter) -> None:
    for _ in range(6):
        if wait_ms := counter.take():
            counter.clock.sleep_ms(wait_ms)
            assert counter.take() == 0


def test_a_refusal_costs_nothing(counter: Counter) -> None:
    for _ in range(3):
        counter.take()

    waits_ms = [counter.take() for _ in range(20)]

    assert max(waits_ms) <= 100


def test_after_a_pause_there_is_a_whole_burst_again(counter: Counter) -> None:
    for _ in range(3):
        counter.take()
    counter.clock.sleep_ms(310)

    assert [counter.take() for _ in range(3)] == [0, 0, 0]
    assert counter.take() > 0


def test_subjects_and_limits_do_not_share_what_is_left(counter: Counter) -> None:
    slow = Limit("slow", per_minute=1, burst=1)
    for _ in range(4):
        counter.take("ann")

    assert counter.take("bob") == 0
    assert counter.take("ann", slow) == 0
    assert 59_000 < counter.take("ann", slow) <= 60_000


def test_a_rate_that_does_not_divide_a_minute_lets_no_more_through() -> None:
    assert Limit("seven", per_minute=7, burst=1).interval_ms * 7 >= 60_000


# ---------------------------------------------------------------- what only a real server shows


def test_fifty_at_once_get_no_more_than_the_burst(cache: OperatorCache) -> None:
    limit = Limit("send", per_minute=1, burst=10)
    limits = RedisLimits(cache)

    with ThreadPoolExecutor(max_workers=50) as pool:
        waits_ms = list(pool.map(lambda _: limits.take(limit, "ann"), range(50)))

    assert waits_ms.count(0) == 10


def test_a_key_goes_when_it_is_of_no_more_use(cache: OperatorCache) -> None:
    RedisLimits(cache).take(QUICK, "ann")

    assert 0 < cache.pttl(keys.limit("quick", "ann")) <= 100
    assert str(cache.get(keys.limit("quick", "ann"))).isdigit()


def test_a_script_that_the_cache_forgot_is_brought_again(cache: OperatorCache) -> None:
    limits = RedisLimits(cache)
    limits.take(QUICK, "ann")
    cache.script_flush("SYNC")

    assert limits.take(QUICK, "ann") == 0


def test_a_cache_that_is_away_is_unavailable() -> None:
    away = connect(HOST, 1, has_tls=False, username="", password="", timeout_s=0.2)

    with pytest.raises(Unavailable):
        RedisLimits(away).take(QUICK, "ann")
