"""The packet ids of this deployment: checked at the door, before anything is read."""

from __future__ import annotations

import secrets
from functools import cache

from redpacket.domain.packet_id import PACKET_ID, RANDOM_BYTES, PacketIds
from redpacket.edge.parameters import required
from redpacket.edge.settings import settings


@cache
def packet_ids() -> PacketIds:
    """Return what signs and checks ids. Raises SettingMissing or ValueError without its keys."""
    return PacketIds.parse(settings.packet_id_keys)


def new_packet_id(parts: int) -> str:
    """Return the id of a new packet that is cut into *parts*.

    None begins with "-": command lines would take it for an option.
    """
    while (random_text := secrets.token_urlsafe(RANDOM_BYTES)).startswith("-"):
        pass
    return packet_ids().sign(random_text, parts)


@required("path", "packet_id", type="string", pattern=f"^{PACKET_ID.pattern}$")
def packet_id_of(text: str) -> str:
    """The packet, as the answer to its send names it."""
    return packet_ids().check(text)
