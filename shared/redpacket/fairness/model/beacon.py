"""Rounds of the public beacon that draws of earlier releases used (docs/adr/0032).

No new campaign has a beacon. Proofs of past draws still need its terms and the stored rounds.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

_MARGIN_MS = 10_000
"""Minimum milliseconds from the campaign's seeds, and from the day's first midnight, to the day's
round.
"""


@dataclass(frozen=True, slots=True)
class BeaconRound:
    """Stored round with its signature."""

    round_no: int
    signature: bytes

    @property
    def randomness(self) -> str:
        """Randomness of the round: the SHA-256 of its signature, in hex."""
        return hashlib.sha256(self.signature).hexdigest()


@dataclass(frozen=True, slots=True)
class CampaignBeacon:
    """Beacon chain whose rounds, one per day, decided a past campaign; the commitment covers it.

    Round 1 was at *genesis_s*, and another followed every *period_s*. The campaign's rounds all
    follow *committed_at_ms*, the time at which its seeds were fixed. *timezone* defines the day.
    """

    chain_hash: str
    genesis_s: int
    period_s: int
    committed_at_ms: int
    timezone: str

    @classmethod
    def parse(cls, text: str) -> CampaignBeacon:
        """Parse the result of `str`. Raises ValueError for another form."""
        chain_hash, genesis_s, period_s, committed_at_ms, timezone = text.split(",")
        beacon = cls(chain_hash, int(genesis_s), int(period_s), int(committed_at_ms), timezone)
        if len(bytes.fromhex(chain_hash)) != hashlib.sha256().digest_size or beacon.period_s < 1:
            raise ValueError("not chain_hash,genesis_s,period_s,committed_at_ms,timezone")
        return beacon

    def __str__(self) -> str:
        chain = f"{self.chain_hash},{self.genesis_s},{self.period_s}"
        return f"{chain},{self.committed_at_ms},{self.timezone}"

    def round_of(self, day_starts_at_ms: int) -> int:
        """Return the round of the day that begins at that time."""
        at_ms = max(day_starts_at_ms, self.committed_at_ms) + _MARGIN_MS
        return max(1, -(-(at_ms - self.genesis_s * 1000) // (self.period_s * 1000)) + 1)

    def time_ms(self, round_no: int) -> int:
        """Return the time at which a round was signed."""
        return (self.genesis_s + (round_no - 1) * self.period_s) * 1000
