"""Webhook administration by operators: URLs, event kinds, secrets and dead letters."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redpacket.events.errors import WebhookNotFound
from redpacket.events.model.events import Event, EventType
from redpacket.events.model.webhooks import WEBHOOKS_MAX, Delivery, DeliveryAttempt, Webhook
from redpacket.events.ports import Sender
from redpacket.platform.errors import InvalidRequest, VersionConflict
from redpacket.platform.runtime import Clock, InParallel

if TYPE_CHECKING:
    from redpacket.events.dynamodb.webhooks import DynamoWaitingList, DynamoWebhooks

DEAD_SHOWN = 50

REPLAYED_MAX = 500
"""Maximum dead letters per replay, so that the call ends within API Gateway's 30 seconds."""


@dataclass(frozen=True, slots=True)
class EditPorts:
    """Dependencies of edits."""

    repository: DynamoWebhooks
    pending: DynamoWaitingList
    sender: Sender
    clock: Clock
    in_parallel: InParallel


def watch_webhook(
    name: str, *, ports: EditPorts
) -> tuple[Webhook, tuple[int, int], list[Delivery]]:
    """Return a webhook, its waiting and dead counts, and its oldest dead letters."""
    webhook, pending = find_webhook(name, ports=ports), ports.pending
    return webhook, pending.count(name), pending.list_dead(name, DEAD_SHOWN)


def find_webhook(name: str, *, ports: EditPorts) -> Webhook:
    """Return a webhook. Raises WebhookNotFound."""
    webhook = ports.repository.find(name)
    if webhook is None:
        raise WebhookNotFound
    return webhook


def put_webhook(
    name: str,
    url: str,
    kinds: Collection[EventType],
    note: Callable[[], object],
    *,
    is_on: bool,
    ports: EditPorts,
) -> tuple[Webhook, str | None]:
    """Create or edit a webhook; return the webhook, and its secret if new. An edit ends any pause.

    *note* is called before the first change. Raises InvalidRequest, VersionConflict.
    """
    ports.sender.check(url)
    seen = ports.repository.find(name)
    if seen is not None:
        edited = replace(
            seen,
            url=url,
            secrets=seen.secrets if url == seen.url else ports.sender.sealed_for(seen, url),
            kinds=frozenset(kinds),
            is_on=is_on,
            version=seen.version + 1,
            failure_count=0,
            paused_until_ms=0,
            slow_until_ms=0,
        )
        note()
        _write(edited, seen, ports)
        return edited, None
    if len(ports.repository.list_all()) >= WEBHOOKS_MAX:
        at_most = f"would exceed the limit of {WEBHOOKS_MAX} webhooks. Edit one instead"
        raise InvalidRequest.of("name", at_most)
    note()
    secret, sealed = ports.sender.new_secret(name, url)
    made = Webhook(name, url, frozenset(kinds), is_on, (sealed,), ports.clock.now_ms())
    _write(made, None, ports)
    return made, secret


def rotate_secret(name: str, note: Callable[[], object], *, ports: EditPorts) -> str:
    """Replace the signing secret and return the new one; the old one also signs for a day.

    Raises WebhookNotFound, VersionConflict.
    """
    seen = find_webhook(name, ports=ports)
    note()
    secret, sealed = ports.sender.new_secret(name, seen.url)
    edited = seen.with_new_secret(sealed, ports.clock.now_ms())
    _write(replace(edited, version=seen.version + 1), seen, ports)
    return secret


def test_webhook(name: str, *, ports: EditPorts) -> DeliveryAttempt:
    """Send a test event, even to a disabled webhook. Raises WebhookNotFound."""
    webhook = find_webhook(name, ports=ports)
    now_ms = ports.clock.now_ms()
    event = Event(EventType.TEST, f"{name}/{now_ms}", now_ms, {"webhook": name})
    return ports.sender.send(webhook, event, {})


def replay_dead(name: str, note: Callable[[], object], *, ports: EditPorts) -> tuple[int, bool]:
    """Make the sweep retry dead letters; return their number, and whether all were included.

    The event ids stay the same. Raises WebhookNotFound.
    """
    find_webhook(name, ports=ports)
    note()
    now_ms = ports.clock.now_ms()
    dead = ports.pending.list_dead(name, REPLAYED_MAX)

    def revive(letter: Delivery) -> None:
        ports.pending.put(
            replace(letter, first_at_ms=now_ms, due_at_ms=now_ms, attempt_count=0, died_at_ms=None)
        )

    ports.in_parallel(revive, dead)
    return len(dead), len(dead) < REPLAYED_MAX


def _write(webhook: Webhook, seen: Webhook | None, ports: EditPorts) -> None:
    if not ports.repository.put(webhook, seen):
        raise VersionConflict
