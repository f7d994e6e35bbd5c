"""The packet ids of this deployment: checked at the door, before anything is read."""

from __future__ import annotations

import secrets
from functools import cache

from redpacket.domain.errors import InvalidRequest
from redpacket.domain.packet_id import RANDOM_BYTES, PacketIds
from redpacket.edge import settings
from redpacket.edge.api import HttpRequest


@cache
def packet_ids() -> PacketIds:
    """Return what signs and checks ids. Raises SettingMissing or ValueError without its keys."""
    return PacketIds.parse(settings.packet_id_keys())


def new_packet_id(parts: int) -> str:
    """Return the id of a new packet that is cut into *parts*."""
    return packet_ids().sign(secrets.token_urlsafe(RANDOM_BYTES), parts)


def packet_id_of(request: HttpRequest) -> str:
    """Return the packet that the path names. Raises PacketNotFound of a made-up id."""
    return packet_ids().check(request.path.get("packet_id", ""))


def preheat_cursor_of(request: HttpRequest) -> str | None:
    """Return where a preheat goes on. Raises InvalidRequest, PacketNotFound."""
    from redpacket.flows.campaigns.preheat_campaign import CURSOR

    cursor = request.query.get("cursor")
    if cursor is None:
        return None
    if not CURSOR.fullmatch(cursor):
        raise InvalidRequest([{"field": "cursor", "message": "is not a valid cursor of this list"}])
    packet_ids().check(cursor.partition(".")[0])
    return cursor
