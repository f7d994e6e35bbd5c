"""Uploaded pictures. Packets keep their covers, and an erasure removes a user's pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from redpacket.packets.model.packet import Packet
from redpacket.packets.model.picture import owner_prefix, picture_id_of
from redpacket.packets.ports import Pictures


def keep_cover(packet: Packet, pictures: Pictures) -> None:
    """Keep a packet's cover if its sender uploaded it. Raises Unavailable."""
    for picture_id in _own([picture_id_of(packet.cover_url)], packet.sender.user_id, pictures):
        pictures.keep(picture_id)


def blank_pictures(user_id: str, sent: Sequence[Packet], pictures: Pictures) -> None:
    """Remove all pictures that a user uploaded. Raises Unavailable; a retry continues.

    Ids from earlier releases lack the owner's prefix, so find those pictures in *sent* packets.
    """
    covers = {picture_id_of(packet.cover_url) for packet in sent}
    for picture_id in _own(
        covers.union(pictures.list_ids(owner_prefix(user_id))), user_id, pictures
    ):
        pictures.blank(picture_id)


def _own(picture_ids: Iterable[str | None], user_id: str, pictures: Pictures) -> Iterator[str]:
    # A cover URL on another host (CoverHosts) may contain the id of another user's picture.
    for picture_id in picture_ids:
        if picture_id and pictures.owner_of(picture_id) == user_id:
            yield picture_id
