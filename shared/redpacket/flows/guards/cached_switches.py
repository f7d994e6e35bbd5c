"""Know how the switches stand, at next to no cost: from memory, a shared copy, or the store.

What was read is good for KEPT_MS in the copy and for as long again in memory, so that a switch
takes effect within eight seconds everywhere. Where nothing answers, the last that was known holds,
and at first everything is on.
"""

from __future__ import annotations

from redpacket.domain.errors import SwitchedOff, Unavailable
from redpacket.domain.process_cache import ProcessCache
from redpacket.domain.switches import Switch
from redpacket.ports.guards import SwitchCopy, SwitchesSeen, SwitchStore
from redpacket.ports.runtime import Clock, Journal

KEPT_MS = 4_000
"""Twice this, and some time to ask, is under the ten seconds within which a switch must act."""

_OFF = "off"


class CachedSwitches:
    """Caches the switches in one process; *copy* is None where there is no cache."""

    def __init__(
        self, *, store: SwitchStore, copy: SwitchCopy | None, clock: Clock, journal: Journal
    ) -> None:
        self._store = store
        self._copy = copy
        self._clock = clock
        self._journal = journal
        self._cache: ProcessCache[str, frozenset[Switch]] = ProcessCache(
            clock.now_ms, kept_ms=KEPT_MS, size_max=1
        )

    def require_on(self, switch: Switch) -> None:
        """Raise SwitchedOff unless the switch is on."""
        if not self.is_on(switch):
            raise SwitchedOff(
                f"{switch} is switched off for a while; nothing is lost, ask again later"
            )

    def is_on(self, switch: Switch) -> bool:
        """Say whether the switch is on, as far as this process knows."""
        off = self._cache.find(_OFF)
        if off is None:
            now_ms = self._clock.now_ms()
            # A failure is remembered like an answer, or each request would wait for the next one.
            off = self._cache.find_old(_OFF) or frozenset()
            self._cache.keep(_OFF, off, now_ms)
            seen = self._find_copy() or self._read_store(now_ms)
            if seen.is_known:
                off = seen.off
                self._cache.keep(_OFF, off, now_ms)
        return switch not in off

    def _find_copy(self) -> SwitchesSeen | None:
        if not self._copy:
            return None
        try:
            return self._copy.find()
        except Unavailable as error:
            self._journal.failure("switches_not_read", error)
            return None

    def _read_store(self, began_at_ms: int) -> SwitchesSeen:
        try:
            states = self._store.list_states()
        except Exception as error:  # noqa: BLE001 - a broken store must not turn everything off
            self._journal.failure("switches_not_read", error)
            # Spare other processes the wait.
            seen = SwitchesSeen(frozenset(), is_known=False)
        else:
            seen = SwitchesSeen(frozenset(state.switch for state in states if not state.is_on))
        self._keep_copy(seen, began_at_ms)
        return seen

    def _keep_copy(self, seen: SwitchesSeen, began_at_ms: int) -> None:
        # It may be as old as the question.
        age_ms = self._clock.now_ms() - began_at_ms if seen.is_known else 0
        if not self._copy or age_ms >= KEPT_MS:
            return
        try:
            self._copy.keep(seen, KEPT_MS - age_ms)
        except Unavailable as error:
            self._journal.failure("switches_not_read", error)
