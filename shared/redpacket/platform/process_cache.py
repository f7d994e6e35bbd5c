"""Process-local cache with limits on age and size."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from redpacket.platform.errors import Unavailable

Key = TypeVar("Key")
Value = TypeVar("Value")


def no_clock() -> int:
    """Return a constant time, for caches whose values never expire."""
    return 0


class _Entry(NamedTuple, Generic[Value]):
    """Value that was valid at *true_at_ms*; *kept_from_ms* starts the period until a reload."""

    true_at_ms: int
    kept_from_ms: int
    value: Value


class ProcessCache(Generic[Key, Value]):
    """Cache for the newest *size_max* values; each is fresh for *kept_ms* (None: no limit).

    While loads fail, `read` returns the last value until it is older than *trusted_ms* (None: no
    limit). The caches of campaigns and of lottery snapshots set *trusted_ms*, because money depends
    on them. A value from the future is stale, because clocks may be set back.
    """

    def __init__(
        self,
        now_ms: Callable[[], int],
        *,
        kept_ms: int | None = None,
        trusted_ms: int | None = None,
        size_max: int,
    ) -> None:
        self._now_ms = now_ms
        self._kept_ms = kept_ms
        self._trusted_ms = trusted_ms
        self._size_max = size_max
        self._entries: dict[Key, _Entry[Value]] = {}
        self._reading = Lock()

    def find(self, key: Key) -> Value | None:
        """Return the value if it is fresh, otherwise None."""
        entry = self._entries.get(key)
        return entry.value if entry and self._is_kept(entry) else None

    def find_old(self, key: Key) -> Value | None:
        """Return the last value regardless of age, or None."""
        entry = self._entries.get(key)
        return entry.value if entry else None

    def keep(self, key: Key, value: Value, at_ms: int | None = None) -> None:
        """Store a value that is valid now, or was valid at *at_ms*."""
        true_at_ms = self._now_ms() if at_ms is None else at_ms
        self._put(key, _Entry(true_at_ms, true_at_ms, value))

    def forget(self, key: Key) -> None:
        """Remove the value of *key*."""
        self._entries.pop(key, None)

    def read(
        self,
        key: Key,
        load: Callable[[Key], Value],
        on_failure: Callable[[Unavailable], None],
        is_good: Callable[[Value], bool] = lambda _: True,
    ) -> Value:
        """Return a fresh value that satisfies *is_good*, or load the value.

        If a load fails, the last value is kept for another period, and *on_failure* is called.
        Raises Unavailable if the value was never loaded or is no longer trusted.
        """
        entry = self._entries.get(key)
        if entry is None or not self._is_kept(entry) or not is_good(entry.value):
            # The value may be as old as the start of this load.
            began_at_ms = self._now_ms()
            try:
                entry = _Entry(began_at_ms, began_at_ms, load(key))
            except Unavailable as error:
                if entry is None:
                    raise
                on_failure(error)
                entry = entry._replace(kept_from_ms=began_at_ms)
            self._put(key, entry)
        age_ms = self._now_ms() - entry.true_at_ms
        if self._trusted_ms is not None and not 0 <= age_ms <= self._trusted_ms:
            raise Unavailable(f"{key} was last read too long ago")
        return entry.value

    def _is_kept(self, entry: _Entry[Value]) -> bool:
        return self._kept_ms is None or 0 <= self._now_ms() - entry.kept_from_ms < self._kept_ms

    def _put(self, key: Key, entry: _Entry[Value]) -> None:
        self._entries.pop(key, None)
        self._entries[key] = entry
        if len(self._entries) > self._size_max:
            self._entries.pop(next(iter(self._entries)), None)

    def read_in_turn(
        self,
        key: Key,
        load: Callable[[Key], Value],
        on_failure: Callable[[Unavailable], None],
        is_good: Callable[[Value], bool] = lambda _: True,
    ) -> Value:
        """Call `read` in one thread at a time; waiting threads then use the loaded value."""
        with self._reading:
            return self.read(key, load, on_failure, is_good)
