"""What the flows of events need: changes of rows, webhooks, deliveries, and a way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from redpacket.domain.claim import ShareFate
from redpacket.domain.events import Event
from redpacket.domain.lottery import Draw
from redpacket.domain.packet import Packet
from redpacket.domain.payments import Payment
from redpacket.domain.webhooks import Attempt, Delivery, SealedSecret, Webhook
from redpacket.domain.withdrawals import Withdrawal

Subject = Packet | ShareFate | Draw | Withdrawal | Payment


@dataclass(frozen=True, slots=True)
class Change:
    """A row before and after one write; the row is of one of the subjects that events are of."""

    before: Subject | None
    after: Subject


class WebhookBook(Protocol):
    """Who is told of what."""

    def list_all(self) -> list[Webhook]:
        """Return all webhooks by their names, perhaps as they were a moment ago."""

    def find(self, name: str) -> Webhook | None:
        """Return one, as it is now."""

    def put(self, webhook: Webhook, seen: Webhook | None) -> bool:
        """Write an edit of *seen*; False if somebody was faster."""

    def note_success(self, webhook: Webhook, attempt: Attempt, slow_until_ms: int) -> None:
        """Note that a receiver took an event: it has not failed since."""

    def note_failure(self, webhook: Webhook, attempt: Attempt, paused_until_ms: int) -> bool:
        """Count a failure; False where another one that began as early was counted."""


class WaitingList(Protocol):
    """Deliveries that wait for another attempt, and dead letters."""

    def put(self, delivery: Delivery) -> None:
        """Let a delivery wait until it is due, or keep it as a dead letter."""

    def remove(self, delivery: Delivery, now_ms: int) -> None:
        """Forget a delivery that was taken."""

    def list_due(self, webhook: str, until_ms: int, limit: int) -> list[Delivery]:
        """Return deliveries that are due, the longest waiting first."""

    def list_dead(self, webhook: str, limit: int) -> list[Delivery]:
        """Return dead letters, the oldest first."""

    def count(self, webhook: str) -> tuple[int, int]:
        """Return how many wait and how many are dead; COUNT_MAX stands for more."""


COUNT_MAX = 1_000


class DeliveryQueue(Protocol):
    """Takes deliveries to the function that makes them."""

    def put(self, deliveries: Iterable[Delivery], *, delay_s: int = 0) -> None:
        """Queue deliveries. Raises Unavailable."""


class Sender(Protocol):
    """Sends an event to an address outside."""

    def check(self, url: str) -> None:
        """Refuse an address that can't be a target. Raises InvalidRequest."""

    def new_secret(self, name: str) -> tuple[str, SealedSecret]:
        """Return a signing secret for a webhook, to be shown once, and as it may be stored."""

    def send(self, webhook: Webhook, event: Event, host_ids: Mapping[str, str]) -> Attempt:
        """Send an event once, signed. Raises Unavailable where its own keys are out of reach."""


class HostIds(Protocol):
    """What the host calls users."""

    def find(self, user_ids: Sequence[str]) -> dict[str, str]:
        """Return the host's ids of those users of whom they are known."""
