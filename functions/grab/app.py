"""The door of the crowd: grab (抢) a packet, and open (拆) one that takes two steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.domain.errors import (
    CampaignPaused,
    GrabTokenInvalid,
    InvalidRequest,
    NotInAudience,
    NotInvited,
    PacketEmptied,
    PacketExpired,
    PacketNotFound,
    PacketNotStarted,
    PassphraseMismatch,
    QuotaExhausted,
    RateLimited,
    SwitchedOff,
    Unavailable,
)
from redpacket.edge import guards, views
from redpacket.edge.api import Api, HttpAnswer
from redpacket.edge.packet_ids import packet_id_of
from redpacket.edge.request import RequestOf, sharer_of
from redpacket.edge.wiring import wiring

if TYPE_CHECKING:
    from redpacket.edge.answers.packets import Claim, Grabbed
    from redpacket.edge.schemas.claims import GrabBody, OpenBody

_CLAIMING = (
    CampaignPaused,
    PacketNotFound,
    PacketNotStarted,
    PacketEmptied,
    PacketExpired,
    NotInAudience,
    QuotaExhausted,
    RateLimited,
    InvalidRequest,
    SwitchedOff,
    Unavailable,
)

handler = Api()


@handler.route(
    "POST /packets/{packet_id}/grab",
    parameters=(packet_id_of,),
    refusals=(*_CLAIMING, NotInvited, PassphraseMismatch),
)
def grab_packet(request: RequestOf[GrabBody]) -> HttpAnswer[Grabbed]:
    """Claim one share for the caller, or admit them to open one."""
    packet_id = packet_id_of(request)
    guards.guard_grab()
    user, said, via = request.user, None, None
    if request.json():
        # Most grabs have no body, and then the schemas are not worth their import.
        from redpacket.edge.schemas.bodies import body_of
        from redpacket.edge.schemas.claims import GrabBody

        body = body_of(GrabBody, request)
        said, via = body.passphrase, sharer_of(body.via, user)
    return HttpAnswer(views.grab_view(wiring.grab_packet(packet_id, user, said, via)))


@handler.route(
    "POST /packets/{packet_id}/open",
    parameters=(packet_id_of,),
    refusals=(*_CLAIMING, GrabTokenInvalid),
)
def open_share(request: RequestOf[OpenBody]) -> HttpAnswer[Claim]:
    """Claim one share for a caller who was admitted."""
    packet_id = packet_id_of(request)
    guards.guard_grab()
    from redpacket.edge.schemas.bodies import body_of
    from redpacket.edge.schemas.claims import OpenBody

    body = body_of(OpenBody, request)
    user = request.user
    claim = wiring.open_packet(packet_id, user, body.grab_token, sharer_of(body.via, user))
    return HttpAnswer(views.claim_view(claim))
