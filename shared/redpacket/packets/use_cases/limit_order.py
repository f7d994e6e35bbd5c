"""Defaults and deployment limits for sends."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import replace

from redpacket.packets.model.packet import PACKET_COUNT_MAX, Kind
from redpacket.packets.model.picture import picture_id_of
from redpacket.packets.split import Split, default_share_fen_max
from redpacket.packets.split.terms import COUNT_MAX
from redpacket.packets.use_cases.send_packet import SendOrder
from redpacket.platform.image_url import absolute_url


def default_split(kind: Kind) -> Split:
    """Return the default split for a kind."""
    return Split.EQUAL if kind is Kind.EQUAL else Split.DOUBLE_MEAN


def limit_order(
    order: SendOrder,
    cap_fen: int,
    cover_hosts: Container[str],
    page_url: str,
    owner_of: Callable[[str], str | None],
) -> SendOrder:
    """Return *order* with its refused fields, and the default maximum share in place of 0.

    A cover's path becomes a URL. *owner_of* returns the user who uploaded a picture. Refusals are
    not raised here, so that a retry gets the first answer even after limits were lowered.
    """
    limits = (
        ("count", order.count, COUNT_MAX if order.campaign else PACKET_COUNT_MAX),
        ("share_fen_max", order.share_fen_max, cap_fen),
    )
    refused = [(name, f"is above {limit}") for name, value, limit in limits if value > limit]
    cover_url, own_picture_id = order.cover_url, None

    def owns(path: str) -> bool:
        nonlocal own_picture_id
        picture_id = picture_id_of(path)
        if picture_id and owner_of(picture_id) == order.sender.user_id:
            own_picture_id = picture_id
        return own_picture_id is not None

    try:
        cover_url = cover_url and absolute_url(cover_url, cover_hosts, page_url, owns)
    except ValueError as error:
        refused.append(("cover_url", str(error)))
    if order.payment_id and order.campaign:
        refused.append(("pay_with", "is not allowed with campaign_id: the campaign's budget pays"))
    share_fen_max = order.share_fen_max or default_share_fen_max(
        order.split,
        total_fen=order.total_fen,
        count=order.count,
        unit_fen=order.unit_fen,
        cap_fen=cap_fen,
    )
    return replace(
        order,
        share_fen_max=share_fen_max,
        cover_url=cover_url,
        own_picture_id=own_picture_id,
        refused_fields=tuple(refused),
    )
