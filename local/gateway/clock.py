"""The clock of a counterparty, which tests may put forward."""

import time
from datetime import UTC, datetime, timedelta, timezone

MS_PER_S = 1_000
BEIJING = timezone(timedelta(hours=8))


class Clock:
    """Tells the time; it only ever goes forward."""

    def __init__(self) -> None:
        self._ahead_ms = 0

    def now_ms(self) -> int:
        """Return the time of this counterparty."""
        return wall_ms() + self._ahead_ms

    def advance(self, by_ms: int) -> None:
        """Put the clock forward."""
        if by_ms < 0:
            raise ValueError("a clock is never put back")
        self._ahead_ms += by_ms


def wall_ms() -> int:
    """Return the time of this machine, which signatures carry."""
    return time.time_ns() // 1_000_000


def rfc3339(at_ms: int) -> str:
    """Return *at_ms* as the gateway writes it: to the second, in Beijing's zone."""
    return datetime.fromtimestamp(at_ms // MS_PER_S, UTC).astimezone(BEIJING).isoformat()


def day_of(at_ms: int) -> str:
    """Return the day in Beijing whose bills have what happened *at_ms*."""
    return rfc3339(at_ms)[:10]


def time_of_bill(at_ms: int) -> str:
    """Return *at_ms* as bill files write it."""
    return rfc3339(at_ms)[:19].replace("T", " ")
