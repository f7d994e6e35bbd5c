"""Know the rounds of the beacon: a process reads each once, and none before its time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redpacket.domain.beacon import LATE_MS, PENDING_MS, PacketBeacon
from redpacket.domain.errors import BeaconPending, PacketNotStarted, RoundsAway, Unavailable
from redpacket.domain.process_cache import ProcessCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.domain.beacon import BeaconChain, BeaconRound
    from redpacket.domain.split import Terms
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
        # Winners parse no text that names a round.
        self._completed: ProcessCache[Terms, Terms] = ProcessCache(clock.now_ms, size_max=_SIZE_MAX)
        # With the error of the read, if it failed.
        self._missed: ProcessCache[tuple[str, int], RoundsAway | BeaconPending] = ProcessCache(
            clock.now_ms, kept_ms=_MISSED_FOR_MS, size_max=_SIZE_MAX
        )

    def find(self, chain: BeaconChain, round_no: int) -> BeaconRound | None:
        """Return a round; None where it is not there. Raises RoundsAway, for a second at least."""
        key = chain.chain_hash, round_no
        found = self._found.find(key)
        if found or self._clock.now_ms() < chain.time_ms(round_no):
            return found
        if missed := self._missed.find(key):
            if isinstance(missed, RoundsAway):
                # A new one: an error that is raised again keeps the traces of all times before.
                raise RoundsAway(*missed.args)
            return None
        try:
            found = self._rounds().find(*key)
        except Unavailable as error:
            away = RoundsAway("the beacon's rounds can't be read")
            self._missed.keep(key, away)
            raise away from error
        if found:
            self._found.keep(key, found)
        else:
            self._missed.keep(key, BeaconPending("not there"))
        return found

    def recall(self, chain: BeaconChain, round_no: int) -> BeaconRound:
        """Return a round. Raises BeaconPending, which says when to ask again.

        Also where rounds can't be read: a crowd that asks all at once is too much for one row.
        """
        try:
            found = self.find(chain, round_no)
        except RoundsAway:
            found = None
        if found is None:
            msg = "the round of the beacon that decides this is not there yet"
            late_ms = self._clock.now_ms() - chain.time_ms(round_no)
            wait_s = -(-(PENDING_MS - late_ms) // 1000)
            raise BeaconPending(msg, max(1, wait_s), is_late=late_ms >= LATE_MS)
        return found

    def complete(self, terms: Terms) -> Terms:
        """Return a packet's terms, which name a round, with its signature.

        Raises BeaconPending, and PacketNotStarted before the packet's start.
        """
        if terms.signature:
            return terms
        if completed := self._completed.find(terms):
            return completed
        beacon = PacketBeacon.parse(terms.beacon)
        if self._clock.now_ms() < beacon.starts_at_ms:
            raise PacketNotStarted("the packet opens later")
        return self._completed_by(terms, self.recall(beacon.chain, beacon.round_no))

    def complete_if_there(self, terms: Terms) -> Terms:
        """Return such terms as they are where their round is not there. Raises RoundsAway."""
        if terms.signature:
            return terms
        if completed := self._completed.find(terms):
            return completed
        beacon = PacketBeacon.parse(terms.beacon)
        found = self.find(beacon.chain, beacon.round_no)
        return self._completed_by(terms, found) if found else terms

    def _completed_by(self, terms: Terms, found: BeaconRound) -> Terms:
        completed = replace(terms, signature=found.signature.hex())
        self._completed.keep(terms, completed)
        return completed
