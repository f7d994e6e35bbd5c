"""Ports for events, webhooks and deliveries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from redpacket.events.model.events import Event
from redpacket.events.model.webhooks import Delivery, DeliveryAttempt, SealedSecret, Webhook
from redpacket.lottery.model.lottery import Draw
from redpacket.packets.model.claim import Share
from redpacket.packets.model.packet import Packet
from redpacket.payments.model.payments import Payment
from redpacket.payments.model.withdrawals import Withdrawal

Subject = Packet | Share | Draw | Withdrawal | Payment


@dataclass(frozen=True, slots=True)
class Change:
    """Row before and after one write."""

    before: Subject | None
    after: Subject


class WebhookRepository(Protocol):
    """Repository of webhooks."""

    def list_all(self) -> list[Webhook]:
        """Return all webhooks by name, eventually consistent."""

    def find(self, name: str) -> Webhook | None:
        """Return a webhook."""

    def put(self, webhook: Webhook, seen: Webhook | None) -> bool:
        """Write an edit of *seen*; return False after a concurrent edit."""

    def note_success(self, webhook: Webhook, attempt: DeliveryAttempt, slow_until_ms: int) -> None:
        """Record a successful attempt and reset the failures."""

    def note_failure(
        self, webhook: Webhook, attempt: DeliveryAttempt, paused_until_ms: int
    ) -> bool:
        """Count a failure; return False if a concurrent one was counted."""


class WaitingList(Protocol):
    """Deliveries that wait for another attempt, and dead letters; lists may lag."""

    def put(self, delivery: Delivery) -> None:
        """Store a delivery until it is due, or as a dead letter."""

    def remove(self, delivery: Delivery, now_ms: int) -> None:
        """Remove a successful delivery."""

    def list_due(self, webhook: str, until_ms: int, limit: int) -> list[Delivery]:
        """Return due deliveries, oldest first."""

    def list_dead(self, webhook: str, limit: int) -> list[Delivery]:
        """Return dead letters, oldest first."""

    def count(self, webhook: str) -> tuple[int, int]:
        """Return the numbers of waiting and dead deliveries, each at most COUNT_MAX."""


COUNT_MAX = 1_000


class DeliveryQueue(Protocol):
    """Queue of the function that sends deliveries."""

    def put(self, deliveries: Iterable[Delivery], *, delay_s: int = 0) -> None:
        """Queue deliveries."""


class Sender(Protocol):
    """Sender of events to receivers."""

    def check(self, url: str) -> None:
        """Raise InvalidRequest if a URL cannot be a target."""

    def new_secret(self, name: str) -> tuple[str, SealedSecret]:
        """Return a new signing secret, to be shown once, and its sealed form."""

    def send(self, webhook: Webhook, event: Event, host_ids: Mapping[str, str]) -> DeliveryAttempt:
        """Send a signed event once; Unavailable means that the sealing keys are unavailable."""


class HostIds(Protocol):
    """The host's ids of users."""

    def find(self, user_ids: Sequence[str]) -> dict[str, str]:
        """Return the known host ids by user id."""
