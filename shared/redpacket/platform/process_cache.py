"""Process-local cache, bounded in time and memory."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

from redpacket.platform.errors import Unavailable

Key = TypeVar("Key")
Value = TypeVar("Value")


def no_clock() -> int:
    """Return the time of values that never age."""
    return 0


class ProcessCache(Generic[Key, Value]):
    """Values by key, each for *kept_ms* (None: no limit), at most *size_max*; the oldest go first.

    A value from the future is stale: clocks may be set back.
    """

    def __init__(
        self, now_ms: Callable[[], int], *, kept_ms: int | None = None, size_max: int
    ) -> None:
        self._now_ms = now_ms
        self._kept_ms = kept_ms
        self._size_max = size_max
        self._entries: dict[Key, tuple[int, Value]] = {}
        self._reading = Lock()

    def find(self, key: Key) -> Value | None:
        """Return a value that is not too old."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        kept_at_ms, value = entry
        if self._kept_ms is None or 0 <= self._now_ms() - kept_at_ms < self._kept_ms:
            return value
        return None

    def find_old(self, key: Key) -> Value | None:
        """Return the last value, however old."""
        entry = self._entries.get(key)
        return entry[1] if entry else None

    def keep(self, key: Key, value: Value, at_ms: int | None = None) -> None:
        """Keep a value that was true now, or *at_ms*."""
        self._entries.pop(key, None)
        self._entries[key] = self._now_ms() if at_ms is None else at_ms, value
        if len(self._entries) > self._size_max:
            self._entries.pop(next(iter(self._entries)), None)

    def forget(self, key: Key) -> None:
        """Keep nothing of *key*."""
        self._entries.pop(key, None)

    def read(
        self,
        key: Key,
        load: Callable[[Key], Value],
        on_failure: Callable[[Unavailable], None],
        is_good: Callable[[Value], bool] = lambda _: True,
    ) -> Value:
        """Return a fresh value that *is_good*, or load it.

        If a load fails, the last value is kept for another period, and *on_failure* is called.
        Raises Unavailable if it was never loaded.
        """
        cached = self.find(key)
        if cached is not None and is_good(cached):
            return cached
        # It may be as old as the question.
        began_at_ms = self._now_ms()
        try:
            value = load(key)
        except Unavailable as error:
            last = self.find_old(key)
            if last is None:
                raise
            on_failure(error)
            value = last
        self.keep(key, value, began_at_ms)
        return value

    def read_in_turn(
        self,
        key: Key,
        load: Callable[[Key], Value],
        on_failure: Callable[[Unavailable], None],
        is_good: Callable[[Value], bool] = lambda _: True,
    ) -> Value:
        """Do what `read` does, one thread at a time: the others find what the first one loaded."""
        with self._reading:
            return self.read(key, load, on_failure, is_good)
