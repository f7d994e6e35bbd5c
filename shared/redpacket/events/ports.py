"""Ports for event delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from redpacket.events.model.events import Event
    from redpacket.events.model.webhooks import Delivery, DeliveryAttempt, SealedSecret, Webhook


class DeliveryQueue(Protocol):
    """Queue of the function that sends deliveries; tests have a double."""

    def put(self, deliveries: Iterable[Delivery], *, delay_s: int = 0) -> None:
        """Queue deliveries."""


class Sender(Protocol):
    """Sender of events to receivers; tests have a double."""

    def check(self, url: str) -> None:
        """Raise InvalidRequest if events cannot be sent to the URL."""

    def new_secret(self, name: str, url: str) -> tuple[str, SealedSecret]:
        """Return a new signing secret, to be shown once, and the secret sealed for the URL."""

    def sealed_for(self, webhook: Webhook, url: str) -> tuple[SealedSecret, ...]:
        """Return a webhook's secrets, sealed for *url* instead of its current URL."""

    def send(self, webhook: Webhook, event: Event, host_ids: Mapping[str, str]) -> DeliveryAttempt:
        """Send a signed event once. Raises Unavailable if the sealing keys are unavailable."""


class HostIds(Protocol):
    """Repository of users' host ids; the users context has the adapter."""

    def find(self, user_ids: Sequence[str]) -> dict[str, str]:
        """Return the known host ids by user id."""
