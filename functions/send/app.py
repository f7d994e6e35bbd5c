"""The door of a send: POST /packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.domain.errors import (
    Busy,
    CampaignEnded,
    CampaignNotFound,
    CampaignPaused,
    ChannelUnavailable,
    IdempotencyKeyMissing,
    IdempotencyKeyReused,
    InsufficientFunds,
    InvalidRequest,
    RateLimited,
    SplitImpossible,
    SwitchedOff,
    Unavailable,
)
from redpacket.edge import guards, views
from redpacket.edge.api import Api, HttpAnswer
from redpacket.edge.orders import send_order
from redpacket.edge.parameters import key_hash_of
from redpacket.edge.request import RequestOf
from redpacket.edge.settings import settings
from redpacket.edge.wiring import wiring

if TYPE_CHECKING:
    from redpacket.edge.answers.packets import SentPacket
    from redpacket.edge.schemas.sending import SendBody

handler = Api()


@handler.route(
    "POST /packets",
    parameters=(key_hash_of,),
    statuses=(201,),
    refusals=(
        IdempotencyKeyMissing,
        IdempotencyKeyReused,
        Busy,
        InvalidRequest,
        SplitImpossible,
        InsufficientFunds,
        CampaignNotFound,
        CampaignEnded,
        CampaignPaused,
        ChannelUnavailable,
        RateLimited,
        SwitchedOff,
        Unavailable,
    ),
)
def send_packet(request: RequestOf[SendBody]) -> HttpAnswer[SentPacket]:
    """Fund a packet, once per idempotency key."""
    guards.guard_send(request)
    packet = wiring.send_packet(send_order(request))
    ordered = wiring.order_payment(packet, request.user) if packet.payment_id else None
    return HttpAnswer(views.sent_view(packet, settings.share_base_url, ordered))
