from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from redpacket.platform.errors import Unavailable
from redpacket.platform.process_cache import ProcessCache, no_clock
from testing.fakes import FakeClock

KEPT_MS = 1_000


class Store:
    """Source that returns its number of calls, unless it is unavailable."""

    def __init__(self) -> None:
        self.count = 0
        self.is_away = False
        self.failures: list[Unavailable] = []

    def load(self, _key: str) -> int:
        if self.is_away:
            raise Unavailable("the store does not answer")
        self.count += 1
        return self.count


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def cache(clock: FakeClock) -> ProcessCache[str, int]:
    return ProcessCache(clock.now_ms, kept_ms=KEPT_MS, size_max=3)


@pytest.fixture
def store() -> Store:
    return Store()


def test_a_value_is_found_until_it_expires(cache: ProcessCache[str, int], clock: FakeClock) -> None:
    cache.keep("a", 1)

    clock.at_ms += KEPT_MS - 1
    assert cache.find("a") == 1
    clock.at_ms += 1
    assert cache.find("a") is None
    assert cache.find_old("a") == 1


def test_a_value_from_a_later_clock_is_not_found(
    cache: ProcessCache[str, int], clock: FakeClock
) -> None:
    cache.keep("a", 1, clock.at_ms - KEPT_MS)
    assert cache.find("a") is None
    cache.keep("a", 1)

    clock.at_ms -= 1

    assert cache.find("a") is None


def test_a_value_without_an_age_never_expires() -> None:
    cache: ProcessCache[str, int] = ProcessCache(no_clock, size_max=1)
    cache.keep("a", 1)

    assert cache.find("a") == 1


def test_the_oldest_value_is_evicted_beyond_the_bound(cache: ProcessCache[str, int]) -> None:
    for number, key in enumerate("abc"):
        cache.keep(key, number)
    cache.keep("a", 9)

    cache.keep("d", 4)

    assert [cache.find(key) for key in "abcd"] == [9, None, 2, 4]


def test_a_forgotten_value_is_not_found(cache: ProcessCache[str, int]) -> None:
    cache.keep("a", 1)

    cache.forget("a")
    cache.forget("a")

    assert cache.find_old("a") is None


def test_a_value_is_loaded_once_until_it_expires_or_becomes_invalid(
    cache: ProcessCache[str, int], clock: FakeClock, store: Store
) -> None:
    read = [cache.read("a", store.load, store.failures.append) for _ in range(2)]
    clock.at_ms += KEPT_MS
    read.append(cache.read("a", store.load, store.failures.append))
    read.append(cache.read("a", store.load, store.failures.append, lambda value: value > 2))

    assert read == [1, 1, 2, 3]


def test_the_last_value_holds_while_the_store_is_unavailable(
    cache: ProcessCache[str, int], clock: FakeClock, store: Store
) -> None:
    cache.read("a", store.load, store.failures.append)
    clock.at_ms += KEPT_MS
    store.is_away = True

    read = [cache.read("a", store.load, store.failures.append) for _ in range(2)]

    # A failure is cached like an answer; otherwise, each request would wait for another failure.
    assert read == [1, 1]
    assert len(store.failures) == 1
    with pytest.raises(Unavailable):
        cache.read("never loaded", store.load, store.failures.append)


def test_a_value_that_is_trusted_for_a_while_is_not_returned_afterwards(
    clock: FakeClock, store: Store
) -> None:
    cache: ProcessCache[str, int] = ProcessCache(
        clock.now_ms, kept_ms=KEPT_MS, trusted_ms=3 * KEPT_MS // 2, size_max=1
    )

    def read() -> int:
        return cache.read("a", store.load, store.failures.append)

    assert read() == 1
    store.is_away = True
    clock.at_ms += KEPT_MS
    assert read() == 1
    clock.at_ms += KEPT_MS // 2
    assert read() == 1
    clock.at_ms += 1
    with pytest.raises(Unavailable, match="a was last read too long ago"):
        read()
    # Until the period ends, no caller reads the store again.
    assert len(store.failures) == 1

    store.is_away = False
    clock.at_ms += KEPT_MS // 2
    assert read() == 2


def test_a_trusted_value_from_a_later_clock_is_not_returned(clock: FakeClock, store: Store) -> None:
    cache: ProcessCache[str, int] = ProcessCache(
        clock.now_ms, kept_ms=KEPT_MS, trusted_ms=KEPT_MS, size_max=1
    )
    cache.read("a", store.load, store.failures.append)
    store.is_away = True
    clock.at_ms -= 1

    with pytest.raises(Unavailable):
        cache.read("a", store.load, store.failures.append)


def test_one_of_many_threads_loads_and_the_others_wait(
    cache: ProcessCache[str, int], store: Store
) -> None:
    is_loading = Event()

    def slowly(key: str) -> int:
        is_loading.wait(0.05)
        return store.load(key)

    with ThreadPoolExecutor(8) as pool:
        read = list(
            pool.map(lambda _: cache.read_in_turn("a", slowly, store.failures.append), range(8))
        )

    assert read == [1] * 8
