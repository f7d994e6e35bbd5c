"""How fast one subject may do one thing: so many at once, then so many a minute."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class Limit:
    """*burst* at once, and one more every 60 s / *per_minute*: the generic cell rate algorithm."""

    name: str
    per_minute: float
    burst: int

    @property
    def interval_ms(self) -> int:
        """The time that one takes; rounded up, so that no minute holds more than it should."""
        return ceil(60_000 / self.per_minute)


PASSPHRASE_TRIES = Limit("passphrase", per_minute=1, burst=5)
"""Tries of one user at one passphrase (口令), of a packet or a campaign."""

# The subject of each is the user's id.
SENDS = Limit("send", per_minute=120, burst=300)
DRAWS = Limit("draw", per_minute=60, burst=20)
READS = Limit("read", per_minute=600, burst=200)
GRABS = Limit("grab", per_minute=600, burst=200)
"""Grabs of one user that make the ledger read, as repeats do."""

_MINUTES_A_DAY = 1440
_SPARE_TRIES = 20
_TRIES_PER_SHARE = 2
_TRIES_PER_MINUTE = 1 / 60


def wrong_tries(count: int) -> Limit:
    """Return the limit of all users' wrong passphrases for a packet of *count* shares.

    24 tries return each day. An exact match is free. An alike one counts, at most once per claimer;
    the rest is for typing errors.
    """
    burst = _SPARE_TRIES + _TRIES_PER_SHARE * count
    return Limit(PASSPHRASE_TRIES.name, _TRIES_PER_MINUTE, burst)


def daily_send_limit(per_day: int) -> Limit:
    """Return the limit of one user's sends of a day: the cache keeps each for days."""
    return Limit("send_day", per_day / _MINUTES_A_DAY, per_day)
