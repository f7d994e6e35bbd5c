"""Ports for time, logging and threads; the system clock, threads, and lazily built objects."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Built = TypeVar("Built")


class InParallel(Protocol):
    """Concurrent map that keeps the order and propagates the first error."""

    def __call__(self, do: Callable[[Any], Any], items: Sequence[Any], /) -> list[Any]:
        """Return `do(item)` for every item."""


THREADS = 10
"""Default maximum number of threads, equal to the default size of botocore's connection pool."""


def in_threads(
    do: Callable[[Any], Any], items: Sequence[Any], *, threads: int = THREADS
) -> list[Any]:
    """Return `do(item)` for every item, in order; raise the first error once all threads end."""
    if len(items) <= 1:
        return [do(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(do, items))


class Clock(Protocol):
    """Port for the clock."""

    def now_ms(self) -> int:
        """Return the time since the epoch."""

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait."""


class SystemClock:
    """Clock of the operating system."""

    def now_ms(self) -> int:
        """Return the time since the epoch."""
        return time.time_ns() // 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        """Wait."""
        time.sleep(duration_ms / 1000)


class EventLogger(Protocol):
    """Application log for operators; logging never fails a request."""

    def event(self, name: str, **details: str | int) -> None:
        """Log and count an expected but unusual event."""

    def failure(self, name: str, error: Exception, **details: str | int) -> None:
        """Log an error that was handled and will be repaired later."""

    def count(self, outcome: str, number: int = 1, /) -> None:
        """Count a normal outcome, without a separate log line."""


class _Deferred:
    def __init__(self, build: Callable[[], object]) -> None:
        self._build = build

    def __getattr__(self, name: str) -> object:
        value: object = getattr(self._build(), name)
        vars(self)[name] = value
        return value


def deferred(build: Callable[[], Built]) -> Built:
    """Return a stand-in for the result of *build*, which must be cheap to call repeatedly.

    *build* runs at the first access of each attribute, so that other requests import less. Access
    only methods, because the stand-in caches each attribute.
    """
    return cast("Built", _Deferred(build))
