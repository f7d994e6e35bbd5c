"""A public randomness beacon, which signs a round every few seconds.

A draw names its round by time, before the round exists.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

MARGIN_MS = 10_000
"""Minimum milliseconds from a decision to its round: clocks differ, and the log lags."""

PENDING_MS = 2_000
"""Usual delay until a round is available: signed, fetched, verified and written."""

LATE_MS = 30_000
"""Delay after its time until a missing round is a failure that alarms an operator."""


@dataclass(frozen=True, slots=True)
class BeaconChain:
    """A chain of rounds: round 1 is at *genesis_s*, and one follows each *period_s*."""

    chain_hash: str
    genesis_s: int
    period_s: int

    @classmethod
    def parse(cls, text: str) -> BeaconChain:
        """Read what `str` returned; ValueError for another form."""
        chain_hash, genesis_s, period_s = text.split(",")
        chain = cls(chain_hash, int(genesis_s), int(period_s))
        if len(bytes.fromhex(chain_hash)) != hashlib.sha256().digest_size or chain.period_s < 1:
            raise ValueError("not chain_hash,genesis_s,period_s")
        return chain

    def __str__(self) -> str:
        return f"{self.chain_hash},{self.genesis_s},{self.period_s}"

    def first_round(self, at_ms: int) -> int:
        """Return the first round whose time is not before *at_ms*."""
        since_ms = at_ms - self.genesis_s * 1000
        return max(1, -(-since_ms // (self.period_s * 1000)) + 1)

    def time_ms(self, round_no: int) -> int:
        """Return when a round is signed."""
        return (self.genesis_s + (round_no - 1) * self.period_s) * 1000


@dataclass(frozen=True, slots=True)
class BeaconRound:
    """A round with its signature, which everybody can verify by the chain's public key."""

    round_no: int
    signature: bytes

    @property
    def randomness(self) -> str:
        """Randomness of a round: the SHA-256 of its signature, in hex."""
        return hashlib.sha256(self.signature).hexdigest()


@dataclass(frozen=True, slots=True)
class CampaignBeacon:
    """The chain that a campaign draws by, one round a day; fixed at creation.

    No round precedes *committed_at_ms*, the time of its seeds. *timezone* defines the day.
    """

    chain: BeaconChain
    committed_at_ms: int
    timezone: str

    @classmethod
    def parse(cls, text: str) -> CampaignBeacon:
        """Read what `str` returned; ValueError for another form."""
        chain, committed_at_ms, timezone = text.rsplit(",", 2)
        if timezone == "draw":
            raise ValueError(f"a round for each draw is not known any more: {text}")
        return cls(BeaconChain.parse(chain), int(committed_at_ms), timezone)

    def __str__(self) -> str:
        return f"{self.chain},{self.committed_at_ms},{self.timezone}"

    def round_of(self, day_starts_at_ms: int) -> int:
        """Return the round of the day that begins at that time."""
        return self.chain.first_round(max(day_starts_at_ms, self.committed_at_ms) + MARGIN_MS)
