"""Know the rounds of the beacon: a process reads each once, and none before its time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redpacket.domain.beacon import PENDING_MS, PacketBeacon
from redpacket.domain.errors import BeaconPending, PacketNotStarted
from redpacket.domain.process_cache import ProcessCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.domain.beacon import BeaconChain, BeaconRound
    from redpacket.domain.split import Terms
    from redpacket.ports.beacon import Rounds
    from redpacket.ports.runtime import Clock

_MISSED_FOR_MS = 1_000
"""A process asks so often for a round that is late, whatever crowd waits for it."""

_SIZE_MAX = 100


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
        self._missed: ProcessCache[tuple[str, int], bool] = ProcessCache(
            clock.now_ms, kept_ms=_MISSED_FOR_MS, size_max=_SIZE_MAX
        )

    def recall(self, chain: BeaconChain, round_no: int) -> BeaconRound:
        """Return a round. Raises BeaconPending, which says when to ask again."""
        key = chain.chain_hash, round_no
        found = self._found.find(key) or self._read(chain, key)
        if found is None:
            msg = "the round of the beacon that decides this is not there yet"
            there_at_ms = chain.time_ms(round_no) + PENDING_MS
            wait_s = -(-(there_at_ms - self._clock.now_ms()) // 1000)
            raise BeaconPending(msg, retry_after_s=max(1, wait_s))
        return found

    def complete(self, terms: Terms) -> Terms:
        """Return a packet's terms with the signature of their round.

        Raises BeaconPending, and PacketNotStarted before the packet's start.
        """
        if not terms.beacon or terms.signature:
            return terms
        completed = self._completed.find(terms)
        if completed is None:
            beacon = PacketBeacon.parse(terms.beacon)
            if self._clock.now_ms() < beacon.starts_at_ms:
                msg = "the packet opens later"
                raise PacketNotStarted(msg)
            found = self.recall(beacon.chain, beacon.round_no)
            completed = replace(terms, signature=found.signature.hex())
            self._completed.keep(terms, completed)
        return completed

    def _read(self, chain: BeaconChain, key: tuple[str, int]) -> BeaconRound | None:
        if self._clock.now_ms() < chain.time_ms(key[1]) or self._missed.find(key):
            return None
        found = self._rounds().find(*key)
        if found is None:
            self._missed.keep(key, value=True)
        else:
            self._found.keep(key, found)
        return found
