"""HTTP handler for webhooks: operators add receivers and choose their events."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from redpacket.approvals.api.approval_gate import note_replay, note_rotation, note_webhook
from redpacket.containers import containers
from redpacket.events.api.schemas import WebhookBody
from redpacket.events.api.views import attempt_view, details_view, webhook_name_of, webhook_view
from redpacket.events.errors import WebhookNotFound
from redpacket.events.model.events import EventType
from redpacket.events.use_cases import edit_webhook
from redpacket.operations.api.scopes import ADMINS
from redpacket.platform.errors import VersionConflict
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import body_of
from redpacket.platform.http.request import HttpRequest, RequestOf

if TYPE_CHECKING:
    from redpacket.events.api.answers import (
        Replay,
        Secret,
        TriedDelivery,
        Webhook,
        WebhookDetails,
        Webhooks,
    )

handler = Api()


@handler.route("GET /admin/webhooks", scopes=ADMINS)
def list_webhooks(request: HttpRequest) -> HttpAnswer[Webhooks]:  # noqa: ARG001 - a route takes a request
    """List webhooks with their events and last deliveries."""
    return HttpAnswer(
        {
            "items": [
                webhook_view(webhook) for webhook in containers.events.webhook_repository.list_all()
            ]
        }
    )


@handler.route(
    "GET /admin/webhooks/{name}",
    parameters=(webhook_name_of,),
    scopes=ADMINS,
    refusals=(WebhookNotFound,),
)
def read_webhook(request: HttpRequest) -> HttpAnswer[WebhookDetails]:
    """Show a webhook, its number of waiting deliveries, and its dead letters."""
    return HttpAnswer(
        details_view(
            *edit_webhook.watch_webhook(
                webhook_name_of(request), ports=containers.events.webhook_ports
            )
        )
    )


@handler.route(
    "PUT /admin/webhooks/{name}",
    parameters=(webhook_name_of,),
    scopes=ADMINS,
    statuses=(200, 201),
    refusals=(WebhookNotFound, VersionConflict),
)
def put_webhook(request: RequestOf[WebhookBody]) -> HttpAnswer[Webhook]:
    """Create or edit a webhook; its secret is shown only when it is created."""
    name = webhook_name_of(request)
    body = body_of(WebhookBody, request)
    changes = {"url": body.url, "events": sorted(body.events), "is_on": body.is_on}
    webhook, secret = edit_webhook.put_webhook(
        name,
        body.url,
        [EventType(event) for event in body.events],
        partial(note_webhook, request, name, changes),
        is_on=body.is_on,
        ports=containers.events.webhook_ports,
    )
    return HttpAnswer(webhook_view(webhook, secret), status=201 if secret else 200)


@handler.route(
    "POST /admin/webhooks/{name}/secret",
    parameters=(webhook_name_of,),
    scopes=ADMINS,
    statuses=(201,),
    refusals=(WebhookNotFound, VersionConflict),
)
def rotate_secret(request: HttpRequest) -> HttpAnswer[Secret]:
    """Create a new secret, which is shown only once; the previous secret also signs for one day."""
    name = webhook_name_of(request)
    note, ports = partial(note_rotation, request, name), containers.events.webhook_ports
    return HttpAnswer({"secret": edit_webhook.rotate_secret(name, note, ports=ports)})


@handler.route(
    "POST /admin/webhooks/{name}/test",
    parameters=(webhook_name_of,),
    scopes=ADMINS,
    refusals=(WebhookNotFound,),
)
def test_webhook(request: HttpRequest) -> HttpAnswer[TriedDelivery]:
    """Send a `redpacket.webhook.test` event now, and return the receiver's answer."""
    ports = containers.events.webhook_ports
    return HttpAnswer(
        attempt_view(edit_webhook.test_webhook(webhook_name_of(request), ports=ports))
    )


@handler.route(
    "POST /admin/webhooks/{name}/replay",
    parameters=(webhook_name_of,),
    scopes=ADMINS,
    refusals=(WebhookNotFound,),
)
def replay_dead(request: HttpRequest) -> HttpAnswer[Replay]:
    """Retry dead letters for another day; repeat the call until `is_complete` is true."""
    name = webhook_name_of(request)
    note, ports = partial(note_replay, request, name), containers.events.webhook_ports
    count, is_complete = edit_webhook.replay_dead(name, note, ports=ports)
    return HttpAnswer({"replayed_count": count, "is_complete": is_complete})
