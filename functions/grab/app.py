"""HTTP handler for grabbing (抢) a packet, opening (拆) a two-step packet, and thanking senders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignPaused, NotInAudience
from redpacket.containers import containers
from redpacket.operations.api import guards
from redpacket.packets.api.claim_views import claim_view, grab_view, thanked_view
from redpacket.packets.api.packet_ids import packet_id_of
from redpacket.packets.errors import (
    AlreadyThanked,
    ClaimRefused,
    GrabTokenInvalid,
    NotInvited,
    PacketNotFound,
    PassphraseMismatch,
)
from redpacket.packets.use_cases.claim_share import grab_packet as grab
from redpacket.packets.use_cases.claim_share import open_packet
from redpacket.platform.errors import RateLimited, SwitchedOff
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import RequestOf, sharer_of
from redpacket.platform.snapstart import before_snapshot

if TYPE_CHECKING:
    from redpacket.packets.api.answers import Claim, Grabbed, Thanked
    from redpacket.packets.api.claim_schemas import GrabBody, OpenBody, ThanksBody

_CLAIMING = (ClaimRefused, PacketNotFound, CampaignPaused, NotInAudience, RateLimited, SwitchedOff)

handler = Api()


@handler.route(
    "POST /packets/{packet_id}/grab",
    parameters=(packet_id_of,),
    refusals=(*_CLAIMING, NotInvited, PassphraseMismatch),
)
def grab_packet(request: RequestOf[GrabBody]) -> HttpAnswer[Grabbed]:
    """Claim one share for the caller, or admit the caller to open one."""
    packet_id = packet_id_of(request)
    guards.guard_grab()
    user, passphrase, via = request.user, None, None
    if request.json():
        # Most grabs have no body, so they skip the slow import of the schemas.
        from redpacket.packets.api.claim_schemas import GrabBody
        from redpacket.platform.http.bodies import body_of

        body = body_of(GrabBody, request)
        passphrase, via = body.passphrase, sharer_of(body.via, user)
    ports = containers.packets.claim_ports
    return HttpAnswer(grab_view(grab(packet_id, user, passphrase, via, ports=ports)))


@handler.route(
    "POST /packets/{packet_id}/open",
    parameters=(packet_id_of,),
    refusals=(*_CLAIMING, GrabTokenInvalid),
)
def open_share(request: RequestOf[OpenBody]) -> HttpAnswer[Claim]:
    """Claim one share for a caller who was admitted."""
    packet_id = packet_id_of(request)
    guards.guard_grab()
    from redpacket.packets.api.claim_schemas import OpenBody
    from redpacket.platform.http.bodies import body_of

    body = body_of(OpenBody, request)
    user, ports = request.user, containers.packets.claim_ports
    via = sharer_of(body.via, user)
    return HttpAnswer(claim_view(open_packet(packet_id, user, body.grab_token, via, ports=ports)))


before_snapshot(
    "platform",
    "operations",
    "campaigns",
    "packets",
    build=lambda: containers.packets.claim_ports,
)


@handler.route(
    "POST /packets/{packet_id}/thanks",
    parameters=(packet_id_of,),
    refusals=(PacketNotFound, AlreadyThanked, RateLimited),
)
def thank_sender(request: RequestOf[ThanksBody]) -> HttpAnswer[Thanked]:
    """Thank the sender for the caller's share; repeating the same thanks changes nothing."""
    packet_id = packet_id_of(request)
    guards.guard_read(request)
    from redpacket.packets.api.claim_schemas import ThanksBody
    from redpacket.packets.use_cases.thank_sender import ThanksPorts
    from redpacket.packets.use_cases.thank_sender import thank_sender as thank
    from redpacket.platform.http.bodies import body_of
    from redpacket.users.confusables import skeleton_of

    user, thanks, packets = request.user, body_of(ThanksBody, request).given, containers.packets
    ports = ThanksPorts(packets.repository, packets.pages.thanks)
    put_notice, clock = containers.users.notices.put, containers.platform.clock
    share_no = thank(packet_id, user, thanks, skeleton_of, put_notice, clock, ports=ports)
    return HttpAnswer(thanked_view(packet_id, share_no, thanks))
