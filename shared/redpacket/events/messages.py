"""Text form of events in messages and rows, with our user ids, never host ids."""

from __future__ import annotations

import json
from typing import Any

from redpacket.events.model.events import Event, EventType
from redpacket.events.model.webhooks import NAME, Delivery
from redpacket.platform.errors import InvalidRequest


def event_text(event: Event) -> str:
    """Return an event as JSON."""
    told: dict[str, Any] = {
        "kind": event.kind,
        "subject": event.subject,
        "at_ms": event.at_ms,
        "data": dict(event.data),
        "users": dict(event.users),
    }
    if event.sequence is not None:
        told["sequence"] = event.sequence
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def event_of(text: str) -> Event:
    """Parse the result of `event_text`. Raises ValueError, KeyError or TypeError."""
    told = json.loads(text)
    return Event(
        EventType(told["kind"]),
        str(told["subject"]),
        int(told["at_ms"]),
        dict(told["data"]),
        {str(name): str(user_id) for name, user_id in told["users"].items()},
        told.get("sequence"),
    )


def delivery_message(delivery: Delivery) -> str:
    """Return the queue message of a delivery."""
    return json.dumps(
        {
            "webhook": delivery.webhook,
            "first_at_ms": delivery.first_at_ms,
            "event": event_text(delivery.event),
        },
        ensure_ascii=False,
    )


def read_delivery(body: str) -> Delivery:
    """Parse a queue message. Raises InvalidRequest if it is malformed."""
    try:
        message = json.loads(body)
        name, first_at_ms = str(message["webhook"]), int(message["first_at_ms"])
        event = event_of(message["event"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidRequest.of("message", "is not a delivery") from error
    if not NAME.fullmatch(name):
        raise InvalidRequest.of("message", "has no valid webhook name")
    return Delivery(name, event, first_at_ms)
