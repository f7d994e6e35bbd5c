"""Switches and limits, cached in memory and in a shared copy, each for KEPT_MS.

A change takes effect within eight seconds. If neither copy nor store answers, the last known state
applies; a new process starts with all switches on and the default limits.
"""

from __future__ import annotations

from redpacket.operations.model.limits import BOUNDS, LimitName
from redpacket.operations.model.switches import Switch
from redpacket.operations.ports import SwitchCopy, SwitchesSeen, SwitchStore
from redpacket.platform.errors import SwitchedOff, Unavailable
from redpacket.platform.process_cache import ProcessCache
from redpacket.platform.runtime import Clock, EventLogger

KEPT_MS = 4_000
"""Lifetime in each cache, in ms; two lifetimes and a read stay under the ten-second limit."""

_ROW = "row"
_DEFAULTS = SwitchesSeen(frozenset())


class CachedSwitches:
    """Process cache of the switches; *copy* is None in functions without a shared cache."""

    def __init__(
        self, *, store: SwitchStore, copy: SwitchCopy | None, clock: Clock, logger: EventLogger
    ) -> None:
        self._store = store
        self._copy = copy
        self._clock = clock
        self._logger = logger
        self._cache: ProcessCache[str, SwitchesSeen] = ProcessCache(
            clock.now_ms, kept_ms=KEPT_MS, size_max=1
        )

    def require_on(self, switch: Switch) -> None:
        """Raise SwitchedOff unless the switch is on."""
        if not self.is_on(switch):
            raise SwitchedOff

    def is_on(self, switch: Switch) -> bool:
        """Return whether the switch is on in this process's cache."""
        return switch not in self._see().off

    def limit(self, name: LimitName) -> int:
        """Return the limit that operators set, or its default."""
        return BOUNDS[name].nearest(self._see().limits.get(name))

    def _see(self) -> SwitchesSeen:
        cached = self._cache.find(_ROW)
        if cached is None:
            now_ms = self._clock.now_ms()
            cached = self._cache.find_old(_ROW) or _DEFAULTS
            self._cache.keep(_ROW, cached, now_ms)
            seen = self._find_copy() or self._read_store(now_ms)
            if seen.is_known:
                cached = seen
                self._cache.keep(_ROW, cached, now_ms)
            else:
                # A failed read may take longer than KEPT_MS. Count KEPT_MS from the end of the
                # read; otherwise, this request would read again.
                self._cache.keep(_ROW, cached)
        return cached

    def _find_copy(self) -> SwitchesSeen | None:
        if not self._copy:
            return None
        try:
            return self._copy.find()
        except Unavailable as error:
            self._logger.failure("switches_not_read", error)
            return None

    def _read_store(self, began_at_ms: int) -> SwitchesSeen:
        try:
            row = self._store.read()
        except Exception as error:  # noqa: BLE001 - a broken store must not turn everything off
            self._logger.failure("switches_not_read", error)
            # Share the failure, so that other processes do not also wait for the store.
            seen = SwitchesSeen(frozenset(), is_known=False)
        else:
            off = frozenset(state.switch for state in row.states if not state.is_on)
            seen = SwitchesSeen(off, limits=row.limits)
        self._keep_copy(seen, began_at_ms)
        return seen

    def _keep_copy(self, seen: SwitchesSeen, began_at_ms: int) -> None:
        # The state may have changed after the start of the read, so count the age from there.
        age_ms = self._clock.now_ms() - began_at_ms if seen.is_known else 0
        if not self._copy or age_ms >= KEPT_MS:
            return
        try:
            self._copy.keep(seen, KEPT_MS - age_ms)
        except Unavailable as error:
            self._logger.failure("switches_not_read", error)
