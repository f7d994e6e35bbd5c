"""HTTP handler that sends packets, ends them early, and stores pictures for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redpacket.campaigns.api.parameters import campaign_id_of
from redpacket.campaigns.errors import CampaignEnded, CampaignNotFound, CampaignPaused
from redpacket.containers import containers
from redpacket.ledger.errors import ChannelUnavailable, InsufficientFunds
from redpacket.operations.api import guards
from redpacket.operations.api.scopes import ADMINS, OPERATORS, operator_of
from redpacket.packets.api import views
from redpacket.packets.api.orders import send_order, spend_of
from redpacket.packets.api.packet_ids import new_picture_id, packet_id_of
from redpacket.packets.api.packet_refs import named_packet_of
from redpacket.packets.api.send_schemas import PICTURE_BODY_BYTES_MAX, EndBody, PictureBody
from redpacket.packets.errors import PacketNotFound, SendRefused
from redpacket.packets.model.picture import PICTURES_PATH
from redpacket.packets.use_cases import send_packet as sends
from redpacket.packets.use_cases.order_payment import order_payment
from redpacket.platform.errors import KEYED, InvalidRequest, RateLimited, SwitchedOff
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.bodies import body_of
from redpacket.platform.http.parameters import key_hash_of
from redpacket.platform.http.request import HttpRequest, RequestOf
from redpacket.platform.settings import settings
from redpacket.platform.snapstart import before_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from redpacket.packets.api.answers import EndedPacket, PlannedRain, SentPacket, UploadedPicture
    from redpacket.packets.api.rains import RainBody
    from redpacket.packets.api.send_schemas import SendBody
    from redpacket.packets.model.packet import Packet
    from redpacket.platform.user import User

handler = Api()

_REFUSALS = (
    *KEYED,
    SendRefused,
    InsufficientFunds,
    CampaignNotFound,
    CampaignEnded,
    CampaignPaused,
    ChannelUnavailable,
    RateLimited,
    SwitchedOff,
)


@handler.route("POST /packets", parameters=(key_hash_of,), statuses=(201,), refusals=_REFUSALS)
def send_packet(request: RequestOf[SendBody]) -> HttpAnswer[SentPacket]:
    """Fund a packet, once per idempotency key."""
    guards.guard_send(request)
    order, ports = send_order(request), containers.packets.send_ports
    packet = sends.send_packet(order, spend=spend_of(request, order), ports=ports)
    ordered = _order_payment(packet, request.user) if packet.payment_id else None
    return HttpAnswer(views.sent_view(packet, settings.share_base_url, ordered))


def _order_payment(packet: Packet, sender: User) -> Mapping[str, Any] | None:
    logger = containers.platform.logger
    return order_payment(packet, sender, payments=containers.packets.payments, logger=logger)


@handler.route(
    "POST /admin/packets",
    parameters=(key_hash_of,),
    statuses=(201,),
    scopes=OPERATORS,
    refusals=_REFUSALS,
)
def send_campaign_packet(request: RequestOf[SendBody]) -> HttpAnswer[SentPacket]:
    """Fund a campaign's packet, once per idempotency key, with an operator token.

    The amounts for `recipients`, or the largest possible share if there are none, count toward
    `ApprovalFen`. A send above that limit returns 403. With the scope `hongbao/treasury`, packets
    with at least 10 shares and no recipients may exceed it.
    """
    if not request.json().get("campaign_id"):
        raise InvalidRequest.of("campaign_id", "is required. Name the campaign that pays")
    return send_packet(request)


@handler.route(
    "POST /admin/campaigns/{campaign_id}/rains",
    parameters=(campaign_id_of, key_hash_of),
    statuses=(201,),
    scopes=OPERATORS,
    refusals=_REFUSALS,
)
def plan_rain(request: RequestOf[RainBody]) -> HttpAnswer[PlannedRain]:
    """Fund a rain's packets; each round opens for all users in the same second.

    Packets count toward limits as in `POST /admin/packets`. A retry resumes an interrupted call.
    """
    guards.guard_send(request)
    # Import lazily: only campaigns have rains.
    from redpacket.packets.api.rains import planned_rain

    return HttpAnswer({"rains": views.rain_views(planned_rain(request).rounds)})


@handler.route(
    "POST /packets/{packet_id}/end",
    parameters=(packet_id_of,),
    statuses=(202,),
    refusals=(PacketNotFound, RateLimited),
)
def end_packet(request: HttpRequest) -> HttpAnswer[EndedPacket]:
    """End the caller's packet now: claimed shares stay, and the rest is refunded within a minute.

    An unpaid packet is canceled; a payment that still arrives is added to the caller's balance.
    """
    packet_id = packet_id_of(request)
    guards.guard_read(request)
    # Import lazily: most senders never end a packet.
    from redpacket.packets.use_cases.end_packet import end_own_packet

    return _ended(end_own_packet, packet_id, request.user.user_id)


@handler.route(
    "POST /admin/packets/{packet_id}/end",
    parameters=(named_packet_of,),
    statuses=(202,),
    scopes=OPERATORS,
    refusals=(PacketNotFound,),
)
def end_any_packet(request: RequestOf[EndBody]) -> HttpAnswer[EndedPacket]:
    """End a campaign's packet now; a user's packet needs the scope hongbao/admin."""
    packet_id, reason = named_packet_of(request), body_of(EndBody, request).reason
    from redpacket.packets.use_cases.end_packet import end_any_packet as end

    may_end_all = not request.scopes.isdisjoint(ADMINS)
    return _ended(end, packet_id, operator_of(request), reason, may_end_all=may_end_all)


def _ended(end: Callable[..., Packet], *given: object, **named: object) -> HttpAnswer[EndedPacket]:
    """End a packet. If a payment provider is configured, also close an unpaid packet's order."""
    ports, payments = containers.packets.send_ports, containers.packets.payments
    return HttpAnswer(views.ended_view(end(*given, ports=ports, payments=payments, **named)))


@handler.route(
    "POST /me/pictures",
    statuses=(201,),
    refusals=(RateLimited, SwitchedOff),
    body_bytes_max=PICTURE_BODY_BYTES_MAX,
)
def upload_picture(request: RequestOf[PictureBody]) -> HttpAnswer[UploadedPicture]:
    """Upload a packet cover or a profile picture; each upload counts toward the send limit."""
    guards.guard_send(request)
    return _store_picture(request)


@handler.route(
    "POST /admin/pictures",
    statuses=(201,),
    scopes=OPERATORS,
    body_bytes_max=PICTURE_BODY_BYTES_MAX,
)
def upload_prize_picture(request: RequestOf[PictureBody]) -> HttpAnswer[UploadedPicture]:
    """Upload a prize picture, which is kept until an operator removes it."""
    return _store_picture(request, is_prize=True)


def _store_picture(
    request: RequestOf[PictureBody], *, is_prize: bool = False
) -> HttpAnswer[UploadedPicture]:
    owner, body = request.user.user_id, body_of(PictureBody, request)
    # A prize's picture is not personal data, so erasing the operator does not delete it.
    new_id = new_picture_id(None if is_prize else owner)
    if is_prize:
        from redpacket.approvals.api import approval_gate  # only operators need it

        approval_gate.note_upload(request, new_id)
    containers.packets.pictures.put(new_id, body.given, owner, is_kept=is_prize or body.is_avatar)
    return HttpAnswer({"cover_url": PICTURES_PATH + new_id})


before_snapshot(
    "platform", "operations", "campaigns", "packets", build=lambda: containers.packets.send_ports
)
