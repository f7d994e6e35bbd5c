"""Request body for a webhook."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import StringConstraints

from redpacket.events.model.webhooks import URL_LENGTH_MAX
from redpacket.platform.http.bodies import StrictBody, about, example

EventName = Literal[
    "redpacket.packet.sent",
    "redpacket.packet.claimed",
    "redpacket.packet.emptied",
    "redpacket.packet.closed",
    "redpacket.claim.settled",
    "redpacket.draw.won",
    "redpacket.withdrawal.paid",
    "redpacket.withdrawal.failed",
    "redpacket.withdrawal.cancelled",
    "redpacket.payment.paid",
    "redpacket.payment.refunded",
]


class WebhookBody(StrictBody):
    """PUT /admin/webhooks/{name}."""

    model_config = example(
        {"url": "https://shop.example/events", "events": ["redpacket.packet.claimed"]}
    )

    url: Annotated[
        str,
        StringConstraints(pattern=r"^https?://[!-~]+$", max_length=URL_LENGTH_MAX),
        about(
            "Address for events: https, a global address, no redirects. http and private addresses "
            "require a deployment that allows them, like a local stack."
        ),
    ]
    events: Annotated[
        list[EventName], about("Event types to deliver.", min_length=1, max_length=20)
    ]
    is_on: Annotated[
        bool,
        about("While false, no new events are accepted, and pending deliveries are not sent."),
    ] = True
