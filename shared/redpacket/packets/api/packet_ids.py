"""Ids of packets, payments and pictures, and parameters that check packet and picture ids."""

from __future__ import annotations

import re
import secrets
from functools import cache

from redpacket.packets.errors import PictureNotFound
from redpacket.packets.model import picture
from redpacket.packets.model.packet_id import PACKET_ID, RANDOM_BYTES, PacketIds
from redpacket.platform.errors import invalid_cursor
from redpacket.platform.http.parameters import optional, required
from redpacket.platform.settings import settings

PAYMENT_ID = re.compile(r"[0-9a-f]{32}")
_PAYMENT_ID_BYTES = 16

# Id of the last loaded packet, followed by "." and a shard if more of its shards must be loaded.
PREHEAT_CURSOR = re.compile(rf"{PACKET_ID.pattern}(\.[0-9]{{1,2}})?")


@cache
def packet_ids() -> PacketIds:
    """Return the signer of ids. Raises SettingMissing or ValueError for missing or bad keys."""
    return PacketIds.parse(settings.packet_id_keys)


def new_packet_id(shards: int) -> str:
    """Return a new packet id that does not start with "-", the prefix of command-line options."""
    while (random_text := secrets.token_urlsafe(RANDOM_BYTES)).startswith("-"):
        pass
    return packet_ids().sign(random_text, shards)


@required("path", "packet_id", type="string", pattern=f"^{PACKET_ID.pattern}$")
def packet_id_of(text: str) -> str:
    """Packet id from the response to the send."""
    return packet_ids().check(text)


def new_payment_id() -> str:
    """Return a random payment number of 128 bits, in a form that providers accept."""
    return secrets.token_hex(_PAYMENT_ID_BYTES)


def new_picture_id(owner_id: str | None) -> str:
    """Return a new picture id; the ids of an owner's pictures share a prefix."""
    random_text = secrets.token_urlsafe(RANDOM_BYTES)
    prefix = picture.owner_prefix(owner_id) if owner_id else ""
    return prefix + random_text[len(prefix) :]


@required("path", "picture_id", type="string", pattern=f"^{picture.PICTURE_ID.pattern}$")
def picture_id_of(text: str) -> str:
    """Picture id: the last part of the picture's URL."""
    if not picture.PICTURE_ID.fullmatch(text):
        raise PictureNotFound
    return text


@optional("query", "cursor", missing=None, type="string", pattern=f"^{PREHEAT_CURSOR.pattern}$")
def preheat_cursor_of(text: str) -> str:
    """`next` from the previous preheat, which ran out of time."""
    if not PREHEAT_CURSOR.fullmatch(text):
        raise invalid_cursor()
    packet_ids().check(text.partition(".")[0])
    return text
