"""How fast one subject may do one thing: so many at once, then so many a minute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil

from redpacket.platform.errors import InvalidRequest


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

    def scaled(self, per_minute: float) -> Limit:
        """Return this limit at another rate; the burst takes as long to return as before."""
        burst = ceil(self.burst * per_minute / self.per_minute)
        return replace(self, per_minute=per_minute, burst=burst)


class LimitName(StrEnum):
    """Limit that operators change while the system runs."""

    GRABS_PER_MINUTE = "grabs_per_minute"
    SENDS_PER_MINUTE = "sends_per_minute"
    SENDS_PER_DAY = "sends_per_day"
    DRAWS_PER_MINUTE = "draws_per_minute"
    PAYOUTS_AT_ONCE = "payouts_at_once"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Default of a limit, and the smallest and largest value that operators may set."""

    default: int
    lowest: int
    highest: int

    def nearest(self, value: int | None) -> int:
        """Return the allowed number that is nearest to *value*; the default for None."""
        if value is None:
            return self.default
        return min(max(value, self.lowest), self.highest)


BOUNDS = {
    LimitName.GRABS_PER_MINUTE: Bounds(600, 10, 6_000),
    LimitName.SENDS_PER_MINUTE: Bounds(120, 1, 1_200),
    LimitName.SENDS_PER_DAY: Bounds(1_000, 1, 1_000_000),
    LimitName.DRAWS_PER_MINUTE: Bounds(60, 1, 600),
    LimitName.PAYOUTS_AT_ONCE: Bounds(10, 1, 10),
}
"""PAYOUTS_AT_ONCE counts ledger transactions of one payout process, whose batch has up to ten."""


def check_bounds(name: LimitName, value: int | None) -> None:
    """Raise InvalidRequest unless operators may set *value*; None is the default."""
    bounds = BOUNDS[name]
    if value is not None and value != bounds.nearest(value):
        message = f"{name} must be from {bounds.lowest} to {bounds.highest}"
        raise InvalidRequest([{"field": "value", "message": message}])


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
