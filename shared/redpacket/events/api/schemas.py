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
            "URL that receives the events: https, a public address, no redirects. Only deployments "
            "that allow it, such as a local stack, accept http and private addresses."
        ),
    ]
    events: Annotated[
        list[EventName], about("Event types to deliver.", min_length=1, max_length=20)
    ]
    is_on: Annotated[
        bool,
        about("While false, no new events are accepted, and pending deliveries are not sent."),
    ] = True
