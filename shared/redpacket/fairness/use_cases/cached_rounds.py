"""Process cache of beacon rounds: each is read once, and none before its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.fairness.model.beacon import LATE_MS, PENDING_MS
from redpacket.platform.errors import InvariantViolated, Unavailable
from redpacket.platform.process_cache import ProcessCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.fairness.beacon_ports import Rounds
    from redpacket.fairness.model.beacon import BeaconChain, BeaconRound
    from redpacket.platform.runtime import Clock

_MISSED_FOR_MS = 1_000
"""Milliseconds between two reads of a late round, for any number of waiting users."""

_SIZE_MAX = 1_000

_AWAY = "the beacon's rounds can't be read"
_OTHER_CHAIN = "this campaign's beacon is not the deployment's any more"
_NOT_THERE = "the day's round of the beacon is not there yet"


class RoundPendingError(Exception):
    """A round is not published yet; *wait_s* estimates the wait."""

    def __init__(self, wait_s: int) -> None:
        self.wait_s = wait_s


class CachedRounds:
    """Beacon rounds as this process read them. Another round never replaces a missing one."""

    def __init__(
        self,
        rounds: Callable[[], Rounds],
        *,
        clock: Clock,
        is_signed: Callable[[str, BeaconRound], bool | None] = lambda _chain_hash, _round: True,
    ) -> None:
        """Defer *rounds* to the first read, because many processes never read a round.

        *is_signed* returns None for a chain whose key is unknown: its rounds decide no draw, but
        proofs of earlier draws still show them.
        """
        self._rounds = rounds
        self._is_signed = is_signed
        self._clock = clock
        self._cached: ProcessCache[tuple[str, int], BeaconRound] = ProcessCache(
            clock.now_ms, size_max=_SIZE_MAX
        )
        self._unverified: set[tuple[str, int]] = set()
        self._missed: ProcessCache[tuple[str, int], str] = ProcessCache(
            clock.now_ms, kept_ms=_MISSED_FOR_MS, size_max=_SIZE_MAX
        )

    def find(self, chain: BeaconChain, round_no: int) -> BeaconRound | None:
        """Return a round, or None if it is missing. Raises Unavailable, also for a second after."""
        key = chain.chain_hash, round_no
        beacon_round = self._cached.find(key)
        if beacon_round or self._clock.now_ms() < chain.time_ms(round_no):
            return beacon_round
        if missed := self._missed.find(key):
            if missed == _AWAY:
                raise Unavailable(missed)
            return None
        try:
            beacon_round = self._rounds().find(*key)
        except Unavailable as error:
            self._missed.keep(key, _AWAY)
            raise Unavailable(_AWAY) from error
        if beacon_round:
            # The function that stores rounds verifies them; its role alone must not choose draws.
            is_signed = self._is_signed(chain.chain_hash, beacon_round)
            if is_signed is False:
                raise InvariantViolated(f"round {round_no} of the beacon is not its chain's")
            if is_signed is None:
                self._unverified.add(key)
            self._cached.keep(key, beacon_round)
        else:
            self._missed.keep(key, _NOT_THERE)
        return beacon_round

    def get(self, chain: BeaconChain, round_no: int) -> BeaconRound:
        """Return a day's round. Raises RoundPendingError, or Unavailable if the round is late."""
        beacon_round = self.find(chain, round_no)
        if beacon_round is None:
            late_ms = self._clock.now_ms() - chain.time_ms(round_no)
            if late_ms >= LATE_MS:
                raise Unavailable(_NOT_THERE)
            wait_s = -(-(PENDING_MS - late_ms) // 1000)
            raise RoundPendingError(max(1, wait_s))
        if (chain.chain_hash, round_no) in self._unverified:
            raise Unavailable(_OTHER_CHAIN)
        return beacon_round
