"""Responses for webhooks and notices, and the path parameter of webhook routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from redpacket.events.errors import WebhookNotFound
from redpacket.events.model.webhooks import NAME, Delivery, DeliveryAttempt, Webhook
from redpacket.platform.http.parameters import required
from redpacket.users.model import NoticeKind, UserNotice

if TYPE_CHECKING:
    from redpacket.events.api import answers
    from redpacket.events.api.answers import TriedDelivery, WebhookDetails


@required("path", "name", type="string", pattern=f"^{NAME.pattern}$")
def webhook_name_of(text: str) -> str:
    """Slug that the operator chooses."""
    if not NAME.fullmatch(text):
        raise WebhookNotFound
    return text


def attempt_view(made: DeliveryAttempt) -> TriedDelivery:
    """Return the result of a delivery attempt."""
    return {
        "event_id": made.event_id,
        "type": made.kind,
        "at_ms": made.at_ms,
        "ok": made.is_ok,
        "status": made.status,
        "duration_ms": made.duration_ms,
    }


def webhook_view(webhook: Webhook, secret: str | None = None) -> answers.Webhook:
    """Return a webhook, with its secret only if the secret is new."""
    shown: answers.Webhook = {
        "name": webhook.name,
        "url": webhook.url,
        "events": [kind.value for kind in sorted(webhook.kinds)],  # type: ignore[misc]
        "is_on": webhook.is_on,
        "created_at_ms": webhook.created_at_ms,
        "version": webhook.version,
        "failure_count": webhook.failure_count,
        "paused_until_ms": webhook.paused_until_ms or None,
        "last_success": attempt_view(webhook.last_success) if webhook.last_success else None,
        "last_failure": attempt_view(webhook.last_failure) if webhook.last_failure else None,
    }
    if secret:
        shown["secret"] = secret
    return shown


def details_view(
    webhook: Webhook, counts: tuple[int, int], dead: Sequence[Delivery]
) -> WebhookDetails:
    """Return a webhook with delivery counts and the oldest dead letters."""
    waiting_count, dead_count = counts
    return {
        **webhook_view(webhook),
        "waiting_count": waiting_count,
        "dead_count": dead_count,
        "dead_letters": [
            {
                "event_id": delivery.event.event_id,
                "type": delivery.event.kind,
                "subject": delivery.event.subject,
                "attempt_count": delivery.attempt_count,
                "last_status": delivery.last_status or 0,
                "died_at_ms": delivery.died_at_ms or 0,
            }
            for delivery in dead
        ],
    }


def notice_view(notice: UserNotice) -> answers.UserNotice:
    """Return a notice with its subject."""
    shown: answers.UserNotice = {"kind": notice.kind, "at_ms": notice.at_ms}
    match notice.kind:
        case NoticeKind.PRIZE_SENT:
            shown["campaign_id"] = notice.subject
        case NoticeKind.WITHDRAWAL_PAID | NoticeKind.WITHDRAWAL_FAILED:
            shown["withdrawal_id"] = notice.subject
        case _:
            shown["packet_id"] = notice.subject
    if notice.amount_fen is not None:
        shown["amount_fen"] = notice.amount_fen
    if notice.emoji:
        shown["text"] = notice.emoji
    return shown
