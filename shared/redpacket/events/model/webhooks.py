"""Webhooks: subscriptions to events, retries of failed deliveries, and dead letters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from redpacket.events.model.events import Event, EventType

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
URL_LENGTH_MAX = 1024
WEBHOOKS_MAX = 20

COUNT_MAX = 1_000
"""Maximum number of deliveries that are counted."""

GIVEN_UP_AFTER_MS = 24 * 3_600_000
"""Age in milliseconds at which an undelivered event becomes a dead letter."""

DEAD_KEPT_MS = 30 * GIVEN_UP_AFTER_MS

BOTH_SIGN_MS = 24 * 3_600_000
"""Milliseconds for which the old secret also signs after a rotation."""

FAILURES_MAX = 5
"""Consecutive failures that open a webhook's circuit breaker."""

SLOW_MS = 2_000
"""Response time in milliseconds above which a receiver counts as slow.

For the next minute, only the sweep calls a slow receiver.
"""

_SLOW_FOR_MS = 60_000
_NOTED_EVERY_MS = 10_000
_PAUSE_MS_MIN, _PAUSE_MS_MAX = 30_000, 15 * 60_000
_RETRY_MS_MIN, _RETRY_MS_MAX = 10_000, 4 * 3_600_000

PERSON_MS_MAX = 15 * 60_000
"""Maximum milliseconds for which an event waits for a user's host id, which the payout stores."""

_PERSON_SOON_MS = 60_000


@dataclass(frozen=True, slots=True)
class SealedSecret:
    """Stored form of a signing secret; an old secret stops signing at *until_ms*."""

    sealed: str = field(repr=False)
    hash: str = field(repr=False)
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """Result of one delivery; *status* is 0 if the receiver did not respond in time."""

    event_id: str
    kind: str
    at_ms: int
    status: int
    duration_ms: int

    @property
    def is_ok(self) -> bool:
        """Return whether the receiver accepted the event."""
        return 200 <= self.status < 300  # noqa: PLR2004 - the success statuses of HTTP


@dataclass(frozen=True, slots=True)
class Webhook:
    """Receiver of events. Edits increment *version*; deliveries change the fields after it."""

    name: str
    url: str
    kinds: frozenset[EventType]
    is_on: bool
    secrets: tuple[SealedSecret, ...]
    created_at_ms: int
    version: int = 1
    failure_count: int = 0
    paused_until_ms: int = 0
    slow_until_ms: int = 0
    last_success: DeliveryAttempt | None = None
    last_failure: DeliveryAttempt | None = None

    def wants(self, kind: EventType) -> bool:
        """Return whether the receiver subscribed to this kind of event."""
        return self.is_on and kind in self.kinds

    def may_be_asked(self, now_ms: int) -> bool:
        """Return whether the webhook is on and its circuit breaker allows a delivery."""
        return self.is_on and self.paused_until_ms <= now_ms

    def is_half_open(self, now_ms: int) -> bool:
        """Return whether one delivery must succeed before others may be sent."""
        return self.may_be_asked(now_ms) and self.failure_count >= FAILURES_MAX

    def is_called_immediately(self, now_ms: int) -> bool:
        """Return whether the queue's function delivers to the receiver, instead of the sweep."""
        return self.may_be_asked(now_ms) and self.slow_until_ms <= now_ms

    def is_worth_noting(self, made: DeliveryAttempt) -> bool:
        """Return whether a success changes the state, or the stored one is at least 10 s old."""
        last = self.last_success.at_ms if self.last_success else 0
        is_news = self.failure_count > 0 or bool(slow_until_ms(made)) is not bool(
            self.slow_until_ms
        )
        return is_news or made.at_ms - last >= _NOTED_EVERY_MS

    def signing(self, now_ms: int) -> tuple[SealedSecret, ...]:
        """Return the secrets that sign now, newest first."""
        return tuple(
            secret for secret in self.secrets if secret.until_ms is None or secret.until_ms > now_ms
        )

    def with_new_secret(self, secret: SealedSecret, now_ms: int) -> Webhook:
        """Return the webhook with a new secret; the current one also signs for another day."""
        older = (
            replace(secret, until_ms=secret.until_ms or now_ms + BOTH_SIGN_MS)
            for secret in self.signing(now_ms)
        )
        return replace(self, secrets=(secret, *older))


@dataclass(frozen=True, slots=True)
class Delivery:
    """Delivery of an event to a webhook; if *is_stored*, the waiting list has the delivery."""

    webhook: str
    event: Event
    first_at_ms: int
    attempt_count: int = 0
    due_at_ms: int = 0
    is_stored: bool = False
    last_status: int | None = None
    died_at_ms: int | None = None


def after_failure(delivery: Delivery, now_ms: int, jitter: float) -> Delivery:
    """Return the delivery with the time of its next attempt, or as a dead letter.

    Delays double from ten seconds to four hours; a *jitter* of 1 keeps a delay, 0 halves it.
    """
    tried = replace(delivery, attempt_count=delivery.attempt_count + 1)
    if is_given_up(delivery, now_ms):
        return replace(tried, died_at_ms=now_ms)
    pause_ms = min(_RETRY_MS_MIN << min(delivery.attempt_count, 16), _RETRY_MS_MAX)
    return replace(tried, due_at_ms=now_ms + int(pause_ms * (1 + jitter) / 2))


def is_given_up(delivery: Delivery, now_ms: int) -> bool:
    """Return whether a delivery is at least a day old."""
    return now_ms - delivery.first_at_ms >= GIVEN_UP_AFTER_MS


def pause_ms(failure_count: int) -> int:
    """Return the pause of a webhook after *failure_count* consecutive failures."""
    if failure_count < FAILURES_MAX:
        return 0
    doubled = _PAUSE_MS_MIN << min(failure_count - FAILURES_MAX, 16)
    return min(doubled, _PAUSE_MS_MAX)


def slow_until_ms(attempt: DeliveryAttempt) -> int:
    """Return the time until which a webhook counts as slow after *attempt*, or 0."""
    return attempt.at_ms + _SLOW_FOR_MS if attempt.duration_ms > SLOW_MS else 0


def person_delay_s(event: Event, host_ids: Mapping[str, str], now_ms: int) -> int:
    """Return the seconds to wait for the host ids of an event's users; 0 means to send now."""
    age_ms = now_ms - event.at_ms
    if age_ms >= PERSON_MS_MAX or all(user_id in host_ids for user_id in event.users.values()):
        return 0
    return 2 if age_ms < _PERSON_SOON_MS else 60
