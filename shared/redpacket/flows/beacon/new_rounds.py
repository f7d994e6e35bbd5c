"""Name rounds of the beacon that do not exist yet, and have them fetched."""

from __future__ import annotations

from collections.abc import Callable

from redpacket.domain.beacon import BeaconChain, CampaignBeacon
from redpacket.domain.process_cache import ProcessCache
from redpacket.ports.beacon import Rounds
from redpacket.ports.runtime import Clock

_SIZE_MAX = 100

_NEWEST_FOR_MS = 1_000
"""Less than the time by which a named round is later, and a crowd that begins draws asks seldom."""


class NewRounds:
    """The rounds to come, as one process names them."""

    def __init__(self, chain: BeaconChain, rounds: Callable[[], Rounds], *, clock: Clock) -> None:
        self.chain = chain
        self._rounds = rounds
        self._clock = clock
        self._newest: ProcessCache[str, int] = ProcessCache(
            clock.now_ms, kept_ms=_NEWEST_FOR_MS, size_max=1
        )
        self._wanted: ProcessCache[int, bool] = ProcessCache(clock.now_ms, size_max=_SIZE_MAX)

    def committed_at_ms(self) -> int:
        """Return the time of what is committed to now: no later round was verified.

        So no named round is there yet, also where this machine's clock is behind.
        """
        chain_hash = self.chain.chain_hash
        newest_no = self._newest.find(chain_hash)
        if newest_no is None:
            newest_no = self._rounds().find_newest_no(chain_hash)
            self._newest.keep(chain_hash, newest_no)
        return max(self._clock.now_ms(), self.chain.time_ms(newest_no))

    def of_campaign(self, timezone: str) -> CampaignBeacon:
        """Return what a campaign that is created now draws by; its days are listed with it."""
        return CampaignBeacon(self.chain, self.committed_at_ms(), timezone)

    def want(self, round_no: int) -> None:
        """Have a round fetched when it is due: durable before what needs it, once a process."""
        if not self._wanted.find(round_no):
            self._rounds().want(self.chain, round_no)
            self._wanted.keep(round_no, value=True)
