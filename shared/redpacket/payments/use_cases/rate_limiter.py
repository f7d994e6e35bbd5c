"""Rate limiter and circuit breaker for provider calls; all functions share the durable state."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import STATEMENT_ZONE
from redpacket.payments.model.withdrawals import GIVEN_UP_AFTER_MS
from redpacket.platform.errors import Contended, Unavailable
from redpacket.platform.runtime import Clock

if TYPE_CHECKING:
    from redpacket.payments.dynamodb.provider_pace import DynamoProviderPace

CALLS, PROMISES = "calls", "promises"

TRIES = 8

REST_FIRST_MS = 30_000
REST_MS_MAX = 15 * 60_000

FAILURES_MAX = 5
"""Number of consecutive calls, unanswered or refused temporarily, that open the breaker."""

_AHEAD_MS = {CALLS: 30 * 60_000, PROMISES: GIVEN_UP_AFTER_MS}
"""Maximum milliseconds from now, or from the end of the night, to the next slot.

At one call per minute, 30 calls take half an hour; after GIVEN_UP_AFTER_MS, calls for a withdrawal
stop. A later slot comes from a wrong clock, and would stop all calls until then.
"""

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class NightWindow:
    """Nightly pause of transfers, in China Standard Time; it may span midnight."""

    begins_at: time
    ends_at: time

    @classmethod
    def of(cls, text: str) -> NightWindow | None:
        """Parse text such as `23:00-07:00`; return None for an empty text."""
        times = [time.fromisoformat(each) for each in text.split("-") if each]
        return cls(*times) if times else None

    def open_from_ms(self, at_ms: int) -> int:
        """Return *at_ms*, or the end of the window that contains it."""
        local = datetime.fromtimestamp(at_ms / 1000, tz=UTC) + STATEMENT_ZONE
        since_midnight_ms = (local.replace(tzinfo=None) - _midnight(local)) // timedelta(
            milliseconds=1
        )
        begins_ms, ends_ms = _ms(self.begins_at), _ms(self.ends_at)
        if begins_ms <= ends_ms:
            is_within = begins_ms <= since_midnight_ms < ends_ms
        else:
            is_within = since_midnight_ms >= begins_ms or since_midnight_ms < ends_ms
        return at_ms + (ends_ms - since_midnight_ms) % _DAY_MS if is_within else at_ms


@dataclass(frozen=True, slots=True)
class Pace:
    """Rate limits of a provider, with the durable state that all functions share."""

    channel: ProviderName
    bills_per_minute: int
    store: DynamoProviderPace
    clock: Clock
    night: NightWindow | None = None

    @property
    def interval_us(self) -> int:
        """Microseconds between two calls, rounded up."""
        return -(-60_000_000 // self.bills_per_minute)

    def take(self, count: int) -> list[int]:
        """Return slots for *count* calls, or fewer if a night begins. Raises Unavailable."""
        return self._take(CALLS, count)

    def promise(self) -> int:
        """Estimate the time of one more withdrawal; this takes no call slot. Raises Unavailable."""
        (at_ms,) = self._take(PROMISES, 1)
        rests_until_ms, _ = self._find_breaker()
        return self.open_from_ms(max(at_ms, rests_until_ms))

    def open_from_ms(self, at_ms: int) -> int:
        """Return *at_ms*, or the end of the night that contains it."""
        return self.night.open_from_ms(at_ms) if self.night else at_ms

    def rests_until_ms(self) -> int:
        """Return the end of the breaker's or night's pause in ms, or 0 if calls are allowed."""
        now_ms = self.clock.now_ms()
        rests_until_ms, _ = self._find_breaker()
        begins_ms = self.open_from_ms(max(now_ms, rests_until_ms))
        return begins_ms if begins_ms > now_ms else 0

    def rest(self) -> int:
        """Pause all functions, longer after each consecutive pause; return the end in ms."""
        now_ms = self.clock.now_ms()
        until_ms, times = self._find_breaker()
        if until_ms > now_ms:
            return until_ms
        until_ms = now_ms + min(REST_FIRST_MS << min(times, 10), REST_MS_MAX)
        self.store.set_breaker(self.channel, until_ms, times + 1)
        return until_ms

    def recover(self) -> None:
        """Reset the breaker after an answer, so that the next pause is short again."""
        _, times = self._find_breaker()
        if times:
            self.store.set_breaker(self.channel, 0, 0)

    def note(self, *, is_answered: bool) -> None:
        """Store for operators whether the provider answered a run; no decision depends on it."""
        with suppress(Unavailable):
            self.store.note_calls(self.channel, self.clock.now_ms(), is_answered=is_answered)

    def _find_breaker(self) -> tuple[int, int]:
        """Return the pause's end (0 if implausibly late) and the number of consecutive pauses."""
        until_ms, times = self.store.find_breaker(self.channel)
        return until_ms if until_ms <= self.clock.now_ms() + REST_MS_MAX else 0, times

    def _take(self, name: str, count: int) -> list[int]:
        interval_us = self.interval_us
        for _ in range(TRIES):
            seen_us = self.store.find_slot(self.channel, name)
            now_ms = self.clock.now_ms()
            latest_ms = self.open_from_ms(now_ms) + _AHEAD_MS[name]
            first_us = max(seen_us if seen_us <= latest_ms * 1000 else 0, now_ms * 1000)
            first_us = max(first_us, self.open_from_ms(first_us // 1000) * 1000)
            slots = [first_us + number * interval_us for number in range(count)]
            # No slot may lie in a night that begins after the first slot.
            slots = [slot for slot in slots if self.open_from_ms(slot // 1000) == slot // 1000]
            if self.store.take_slots(self.channel, name, seen_us, slots[-1] + interval_us):
                return [-(-slot // 1000) for slot in slots]
        raise Contended


def _midnight(local: datetime) -> datetime:
    return datetime(local.year, local.month, local.day)  # noqa: DTZ001 - local time of one zone


def _ms(at: time) -> int:
    return ((at.hour * 60 + at.minute) * 60 + at.second) * 1000
