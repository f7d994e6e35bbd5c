"""Provider state that functions share: rate limits, breaker, last answer, last compared day."""

from __future__ import annotations

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.platform.dynamodb.client import Dynamo

IS_FIRST = "attribute_not_exists(next_us)"
IS_STILL_THERE = "next_us = :seen_us"

_BREAKER = "breaker"
_ANSWERS = "answers"
_STATEMENTS = "statements"


class DynamoProviderPace:
    """Durable rate limits, breaker, last answer and last compared statement day per provider."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._payments = dynamo.tables.payments

    def find_slot(self, channel: ProviderName, name: str) -> int:
        """Return the time of the next free slot in microseconds, or 0 if no slot was ever taken."""
        row = self._dynamo.get(self._payments, payment_keys.provider_row(channel, name))
        return int(row["next_us"]) if row else 0

    def take_slots(self, channel: ProviderName, name: str, seen_us: int, next_us: int) -> bool:
        """Set the next free slot to *next_us*; return False if it is no longer *seen_us*."""
        return self._dynamo.update(
            self._payments,
            payment_keys.provider_row(channel, name),
            "SET next_us = :next_us",
            condition=IS_STILL_THERE if seen_us else IS_FIRST,
            next_us=next_us,
            **({"seen_us": seen_us} if seen_us else {}),
        )

    def find_breaker(self, channel: ProviderName) -> tuple[int, int]:
        """Return the current pause's end in milliseconds, and the number of consecutive pauses."""
        row = self._dynamo.get(self._payments, payment_keys.provider_row(channel, _BREAKER))
        return (int(row["rests_until_ms"]), int(row["rested_count"])) if row else (0, 0)

    def set_breaker(self, channel: ProviderName, until_ms: int, times: int) -> None:
        """Store the end of the breaker's pause, and the number of consecutive pauses."""
        self._dynamo.update(
            self._payments,
            payment_keys.provider_row(channel, _BREAKER),
            "SET rests_until_ms = :until_ms, rested_count = :times",
            until_ms=until_ms,
            times=times,
        )

    def note_calls(self, channel: ProviderName, now_ms: int, *, is_answered: bool) -> None:
        """Store when the provider last answered, or since when it has been silent."""
        change = (
            "SET answered_at_ms = :now_ms REMOVE silent_since_ms"
            if is_answered
            else "SET silent_since_ms = if_not_exists(silent_since_ms, :now_ms)"
        )
        row = payment_keys.provider_row(channel, _ANSWERS)
        self._dynamo.update(self._payments, row, change, now_ms=now_ms)

    def find_compared(self, channel: ProviderName) -> str | None:
        """Return the last compared day, or None before the first comparison."""
        row = self._dynamo.get(self._payments, payment_keys.provider_row(channel, _STATEMENTS))
        return str(row["compared_day"]) if row else None

    def note_compared(self, channel: ProviderName, day: str) -> None:
        """Store the last compared day."""
        self._dynamo.update(
            self._payments,
            payment_keys.provider_row(channel, _STATEMENTS),
            "SET compared_day = :day",
            day=day,
        )
