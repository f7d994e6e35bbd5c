"""Pace calls to a gateway: so many a minute, none at night, none while it is out of order.

Slots are an interval apart for all functions together, since what is next is one durable number.
An unused slot is lost, and no slot is used before its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta

from redpacket.domain.errors import Unavailable
from redpacket.domain.gateway import BILL_ZONE, Channel
from redpacket.ports.gateways import GatewayPace
from redpacket.ports.runtime import Clock

CALLS, PROMISES = "calls", "promises"

TRIES = 8
"""Of two functions that take slots at once one is refused, and tries again."""

REST_FIRST_MS = 30_000
REST_MS_MAX = 15 * 60_000

FAILURES_MAX = 5
"""Calls in a row without a clear answer, or refused for all payees alike."""

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class NightWindow:
    """When no transfer is made, by China's time; it may span midnight."""

    begins_at: time
    ends_at: time

    def open_from_ms(self, at_ms: int) -> int:
        """Return *at_ms*, or when the window ends that it is in."""
        local = datetime.fromtimestamp(at_ms / 1000, tz=UTC) + BILL_ZONE
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
    """The gateway's limits, and the durable numbers by which all functions keep to them."""

    channel: Channel
    bills_per_minute: int
    store: GatewayPace
    clock: Clock
    night: NightWindow | None = None

    @property
    def interval_us(self) -> int:
        """How far apart two calls are, rounded up."""
        return -(-60_000_000 // self.bills_per_minute)

    def take(self, count: int) -> list[int]:
        """Return when each of *count* calls may be made; fewer where the night begins before.

        Raises Unavailable.
        """
        return self._take(CALLS, count)

    def promise(self) -> int:
        """Return when one more withdrawal is expected to be made, by those that came before it.

        It is an estimate, and takes no slot. Raises Unavailable.
        """
        (at_ms,) = self._take(PROMISES, 1)
        rests_until_ms, _ = self.store.find_breaker(self.channel)
        return self.open_from_ms(max(at_ms, rests_until_ms))

    def open_from_ms(self, at_ms: int) -> int:
        """Return *at_ms*, or when the night ends that it is in."""
        return self.night.open_from_ms(at_ms) if self.night else at_ms

    def rests_until_ms(self) -> int:
        """Return until when no call is made, for a breaker or for the night; 0 where one may be."""
        now_ms = self.clock.now_ms()
        rests_until_ms, _ = self.store.find_breaker(self.channel)
        begins_ms = self.open_from_ms(max(now_ms, rests_until_ms))
        return begins_ms if begins_ms > now_ms else 0

    def rest(self) -> int:
        """Let all functions rest, longer each time in a row; return until when."""
        now_ms = self.clock.now_ms()
        until_ms, times = self.store.find_breaker(self.channel)
        if until_ms > now_ms:
            return until_ms
        until_ms = now_ms + min(REST_FIRST_MS << min(times, 10), REST_MS_MAX)
        self.store.set_breaker(self.channel, until_ms, times + 1)
        return until_ms

    def recover(self) -> None:
        """Note that the gateway answers: the next rest is a short one again."""
        _, times = self.store.find_breaker(self.channel)
        if times:
            self.store.set_breaker(self.channel, 0, 0)

    def _take(self, name: str, count: int) -> list[int]:
        interval_us = self.interval_us
        for _ in range(TRIES):
            seen_us = self.store.find_slot(self.channel, name)
            now_us = self.clock.now_ms() * 1000
            first_us = max(seen_us, now_us)
            first_us = max(first_us, self.open_from_ms(first_us // 1000) * 1000)
            slots = [first_us + number * interval_us for number in range(count)]
            # No slot is within a night that begins after the first one.
            slots = [slot for slot in slots if self.open_from_ms(slot // 1000) == slot // 1000]
            if self.store.take_slots(self.channel, name, seen_us, slots[-1] + interval_us):
                return [-(-slot // 1000) for slot in slots]
        raise Unavailable("other functions take all slots")


def _midnight(local: datetime) -> datetime:
    return datetime(local.year, local.month, local.day)  # noqa: DTZ001 - wall time of one zone


def _ms(at: time) -> int:
    return ((at.hour * 60 + at.minute) * 60 + at.second) * 1000
