"""Suite for limits, in memory and with a real server."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from redpacket.operations.model.limits import Limit
from redpacket.operations.ports import Limits
from redpacket.operations.redis import keys
from redpacket.operations.redis.limits import RedisLimits
from redpacket.platform.errors import Unavailable
from redpacket.platform.runtime import Clock
from testing.fakes import FakeClock, FakeLimits
from testing.platform.servers import OperatorCache

QUICK = Limit("quick", per_minute=600, burst=3)


class _RealClock:
    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        time.sleep(duration_ms / 1000)


@dataclass
class Counter:
    """Limits under test, and the clock that they use."""

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


def test_a_burst_is_allowed_and_no_more(counter: Counter) -> None:
    waits_ms = [counter.take() for _ in range(4)]

    assert waits_ms[:3] == [0, 0, 0]
    assert 0 < waits_ms[3] <= 100


def test_a_user_who_waits_for_the_returned_delay_is_allowed(counter: Counter) -> None:
    for _ in range(6):
        if wait_ms := counter.take():
            counter.clock.sleep_ms(wait_ms)
            assert counter.take() == 0


def test_a_refusal_costs_nothing(counter: Counter) -> None:
    for _ in range(3):
        counter.take()

    waits_ms = [counter.take() for _ in range(20)]

    assert max(waits_ms) <= 100


def test_after_a_pause_a_whole_burst_is_allowed_again(counter: Counter) -> None:
    for _ in range(3):
        counter.take()
    counter.clock.sleep_ms(310)

    assert [counter.take() for _ in range(3)] == [0, 0, 0]
    assert counter.take() > 0


def test_subjects_and_limits_have_separate_allowances(counter: Counter) -> None:
    slow = Limit("slow", per_minute=1, burst=1)
    for _ in range(4):
        counter.take("ann")

    assert counter.take("bob") == 0
    assert counter.take("ann", slow) == 0
    assert 59_000 < counter.take("ann", slow) <= 60_000


GROUP = Limit("quick", per_minute=600, burst=5)


def _within(counter: Counter, subject: str, *, is_spent: bool = True, group: str = "team") -> int:
    return counter.limits.take_within(QUICK, subject, GROUP, group, is_spent=is_spent)


def test_a_member_is_refused_once_the_member_or_the_group_has_no_allowance(
    counter: Counter,
) -> None:
    mine = [_within(counter, "ann") for _ in range(4)]
    others = [_within(counter, "bob") for _ in range(3)]

    assert mine[:3] == [0, 0, 0]
    assert 0 < mine[3] <= 100
    assert others[:2] == [0, 0]
    assert 0 < others[2] <= 100
    assert _within(counter, "bob", group="another") == 0


def test_unspent_allowance_of_a_group_remains_and_is_still_checked(counter: Counter) -> None:
    slow = Limit("quick", per_minute=1, burst=2)

    def take(subject: str, *, is_spent: bool) -> int:
        return counter.limits.take_within(QUICK, subject, slow, "team", is_spent=is_spent)

    free = [take(f"user-{number}", is_spent=False) for number in range(9)]
    spent = [take(f"user-{number}", is_spent=True) for number in range(10, 12)]

    assert free == [0] * 9
    assert spent == [0, 0]
    # A group without allowance refuses every call, so the answer does not reveal *is_spent*.
    assert all(take(f"late-{is_spent}", is_spent=is_spent) > 59_000 for is_spent in (True, False))
    assert counter.take("late-True", slow) == 0


def test_a_rate_that_does_not_divide_a_minute_allows_no_more() -> None:
    assert Limit("seven", per_minute=7, burst=1).interval_ms * 7 >= 60_000


# ---------------------------------------------------------------- only on a real server


def test_fifty_concurrent_calls_get_no_more_than_the_burst(cache: OperatorCache) -> None:
    limit = Limit("send", per_minute=1, burst=10)
    limits = RedisLimits(cache)

    with ThreadPoolExecutor(max_workers=50) as pool:
        waits_ms = list(pool.map(lambda _: limits.take(limit, "ann"), range(50)))

    assert waits_ms.count(0) == 10


def test_a_key_expires_once_it_has_no_effect(cache: OperatorCache) -> None:
    RedisLimits(cache).take(QUICK, "ann")

    assert 0 < cache.pttl(keys.limit("quick", "ann")) <= 100
    assert str(cache.get(keys.limit("quick", "ann"))).isdigit()


@pytest.mark.parametrize("is_spent", [True, False])
def test_a_full_server_counts_no_guess(cache: OperatorCache, *, is_spent: bool) -> None:
    limits = RedisLimits(cache)
    cache.config_set("maxmemory", "1")
    try:
        with pytest.raises(Unavailable):
            limits.take_within(QUICK, "ann", GROUP, "team", is_spent=is_spent)
    finally:
        cache.config_set("maxmemory", "0")
