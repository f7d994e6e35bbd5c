"""Know the rounds of the beacon: a process reads each once, and none before its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.domain.beacon import LATE_MS, PENDING_MS
from redpacket.domain.errors import DayNotStarted, Unavailable
from redpacket.domain.process_cache import ProcessCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.domain.beacon import BeaconChain, BeaconRound
    from redpacket.ports.beacon import Rounds
    from redpacket.ports.runtime import Clock

_MISSED_FOR_MS = 1_000
"""A process asks so often for a round that is late, whatever crowd waits for it."""

_SIZE_MAX = 1_000


class CachedRounds:
    """The rounds as one process knows them. A missing one is never replaced by another."""

    def __init__(self, rounds: Callable[[], Rounds], *, clock: Clock) -> None:
        """Build *rounds* with the first one that is read: many processes never read one."""
        self._rounds = rounds
        self._clock = clock
        self._found: ProcessCache[tuple[str, int], BeaconRound] = ProcessCache(
            clock.now_ms, size_max=_SIZE_MAX
        )
        # With the reason.
        self._missed: ProcessCache[tuple[str, int], str] = ProcessCache(
            clock.now_ms, kept_ms=_MISSED_FOR_MS, size_max=_SIZE_MAX
        )

    def find(self, chain: BeaconChain, round_no: int) -> BeaconRound | None:
        """Return a round; None where it is not there. Raises Unavailable, for a second at least."""
        key = chain.chain_hash, round_no
        found = self._found.find(key)
        if found or self._clock.now_ms() < chain.time_ms(round_no):
            return found
        if missed := self._missed.find(key):
            if missed is _AWAY:
                raise Unavailable(missed)
            return None
        try:
            found = self._rounds().find(*key)
        except Unavailable as error:
            self._missed.keep(key, _AWAY)
            raise Unavailable(_AWAY) from error
        if found:
            self._found.keep(key, found)
        else:
            self._missed.keep(key, _NOT_THERE)
        return found

    def recall(self, chain: BeaconChain, round_no: int) -> BeaconRound:
        """Return a day's round. Raises DayNotStarted, and Unavailable where the round is late."""
        found = self.find(chain, round_no)
        if found is None:
            late_ms = self._clock.now_ms() - chain.time_ms(round_no)
            if late_ms >= LATE_MS:
                raise Unavailable(_NOT_THERE)
            wait_s = -(-(PENDING_MS - late_ms) // 1000)
            raise DayNotStarted("the day's draws begin with its beacon round", max(1, wait_s))
        return found


_AWAY = "the beacon's rounds can't be read"
_NOT_THERE = "the day's round of the beacon is not there yet"
