"""Rate limits per subject: a burst, then a rate per minute."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil

from redpacket.platform.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Limit:
    """Limit by the generic cell rate algorithm: a *burst*, then *per_minute* actions."""

    name: str
    per_minute: float
    burst: int

    @property
    def interval_ms(self) -> int:
        """The milliseconds per action, rounded up."""
        return ceil(60_000 / self.per_minute)

    def scaled(self, per_minute: float) -> Limit:
        """Return this limit at another rate; the time to refill the burst stays the same."""
        burst = ceil(self.burst * per_minute / self.per_minute)
        return replace(self, per_minute=per_minute, burst=burst)


class LimitName(StrEnum):
    """Limit that operators can change while the system runs."""

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
        """Return the allowed value nearest to *value*, or the default for None."""
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
"""Bounds of each limit. PAYOUTS_AT_ONCE limits the concurrent ledger transactions of one payout
process, whose batches need up to ten transactions.
"""


def check_bounds(name: LimitName, value: int | None) -> None:
    """Raise InvalidRequest unless operators may set *value*; None restores the default."""
    bounds = BOUNDS[name]
    if value is not None and value != bounds.nearest(value):
        message = f"{name} must be from {bounds.lowest} to {bounds.highest}"
        raise InvalidRequest.of("value", message)


PASSPHRASE_TRIES = Limit("passphrase", per_minute=1, burst=5)
"""Limit for one user's attempts at the passphrase (口令) of a packet or campaign."""

# The subject of the next four limits is the user id.
SENDS = Limit("send", per_minute=120, burst=300)
DRAWS = Limit("draw", per_minute=60, burst=20)
READS = Limit("read", per_minute=600, burst=200)
GRABS = Limit("grab", per_minute=600, burst=200)
"""Limit for one user's grabs that read the ledger, such as retries."""

PROVIDER_CALLS = Limit("provider_call", per_minute=6, burst=30)
"""Limit for a user's consent requests, and for a user's or client address's wrong codes.

Many users may share an address. Each request and each code costs a call to the provider.
"""

_MINUTES_A_DAY = 1440
_SPARE_TRIES = 20
_TRIES_PER_SHARE = 2
_TRIES_PER_MINUTE = 1 / 60


def wrong_tries(count: int) -> Limit:
    """Return the limit on all users' wrong passphrases for a packet of *count* shares.

    The limit refills by 24 attempts per day. An exact match uses no attempt. A similar phrase uses
    at most one attempt per claimer. The remaining attempts allow for typing errors.
    """
    burst = _SPARE_TRIES + _TRIES_PER_SHARE * count
    return Limit(PASSPHRASE_TRIES.name, _TRIES_PER_MINUTE, burst)


def daily_send_limit(per_day: int) -> Limit:
    """Return the daily limit for one user's sends; a used-up limit refills in a day."""
    return Limit("send_day", per_day / _MINUTES_A_DAY, per_day)
