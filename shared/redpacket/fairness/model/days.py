"""Draw days, and the chain of their seeds."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from functools import lru_cache

SEED_BYTES = 32

CHAIN_FIRST_DAY, CHAIN_LAST_DAY = "20260101", "21000101"
"""First and last day of a campaign's seed chain; no campaign has a day outside the chain."""

DAY_FORMAT = "%Y%m%d"

_DAY = re.compile(r"\d{8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class DrawDay:
    """Day in a campaign's time zone, such as 20270129. The end is the start of the next day."""

    name: str
    starts_at_ms: int
    ends_at_ms: int


def day_at(timezone: str, at_ms: int) -> DrawDay:
    """Return the day that contains *at_ms* in a time zone."""
    zone = _zone(timezone)
    local = datetime.fromtimestamp(at_ms / 1000, zone)
    first = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    after = (first + timedelta(days=1)).replace(tzinfo=zone)
    return DrawDay(
        first.strftime(DAY_FORMAT), int(first.timestamp() * 1000), int(after.timestamp() * 1000)
    )


def day_named(timezone: str, name: str) -> DrawDay:
    """Return the day *name*. Raises ValueError if no campaign can include the day."""
    days_of_chain(name)
    noon = datetime.strptime(name, DAY_FORMAT).replace(hour=12, tzinfo=_zone(timezone))
    return day_at(timezone, int(noon.timestamp() * 1000))


def day_seed(root: bytes, day: str) -> bytes:
    """Return the seed of *day*: the hash of the next day's seed, or *root* for the last day.

    A revealed seed reveals only the seeds of earlier days.
    """
    return _hashed(root, days_of_chain(CHAIN_LAST_DAY) - days_of_chain(day))


def chain_commitment(campaign_id: str, seed: bytes, day: str) -> str:
    """Return the commitment to the seeds of all days, computed from any *day*."""
    head = _hashed(seed, days_of_chain(day)).hex()
    return hashlib.sha256(f"rpc1,{campaign_id},{head}".encode()).hexdigest()


def days_of_chain(day: str) -> int:
    """Return the number of chain days up to *day*.

    Raises ValueError if the chain does not contain *day*.
    """
    if not _DAY.fullmatch(day):
        raise ValueError(f"{day} is not a day")
    # strptime's import would slow down a cold start.
    first, last, number = (
        date(int(name[:4]), int(name[4:6]), int(name[6:])).toordinal()
        for name in (CHAIN_FIRST_DAY, CHAIN_LAST_DAY, day)
    )
    if not first <= number <= last:
        raise ValueError(f"day {day} is outside the seed chain")
    return number - first + 1


@lru_cache(maxsize=1024)
def _hashed(seed: bytes, times: int) -> bytes:
    # Cache results: a day takes up to 27,000 hashes, and proofs and audits need the same days.
    for _ in range(times):
        seed = hashlib.sha256(seed).digest()
    return seed


def _zone(timezone: str) -> tzinfo:
    # Import lazily: GrabFunction loads this module but needs no time zones.
    from zoneinfo import ZoneInfo

    return ZoneInfo(timezone)
