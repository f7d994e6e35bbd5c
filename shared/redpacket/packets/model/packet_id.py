"""Packet ids with a keyed tag, so that a made-up id is rejected before any read.

<22 random characters> <key version> <8 characters of a tag> [ "~" <parts> ]

The tag covers the rest of the id. It guards no money: its key only lets an attacker look for
packets that don't exist (docs/adr/0015-packet-ids-with-a-tag.md).
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping

from redpacket.packets.errors import PacketNotFound

RANDOM_BYTES = 16
"""128 random bits, so that the id of a packet can't be guessed, with the key or without it."""

RANDOM_LENGTH = 22
TAGGED_LENGTH = 31
"""With the key's version and the tag; what follows is how many parts the packet is cut into."""

CUT = "~"

_TAG_BYTES = 6
"""One guess in 2^48 is right, and finds no packet."""

_KEY_LENGTH_MIN = 32

# "~" and how many parts the packet is cut into follow, so that every key is a function of the id.
# Checked before an id enters a key: a brace would move a Redis slot.
PACKET_ID = re.compile(r"[A-Za-z0-9_-]{31}(~([2-9]|[1-5][0-9]|6[0-4]))?")

_VERSION = re.compile("[A-Za-z0-9]")
_VERSIONS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class PacketIds:
    """Signs ids with the first of its keys and accepts those that any of them has signed."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = keys
        self._version = next(iter(keys))

    @classmethod
    def parse(cls, text: str) -> PacketIds:
        """Read `[version:]key[,version:key]`; empty pieces are passed over. Raises ValueError.

        A first key without a version has the one after the highest of the others.
        """
        keys: dict[str, bytes] = {}
        first, *others = [*filter(None, text.split(",")), ""]
        if first and ":" not in first:
            highest = max((_VERSIONS.find(one[:1]) for one in others if one), default=-1)
            first = f"{_VERSIONS[highest + 1 : highest + 2]}:{first}"
        for piece in filter(None, [first, *others]):
            version, _, key = piece.partition(":")
            # Messages must not tell what stands in place of a key: it may be a key.
            if not _VERSION.fullmatch(version) or version in keys:
                raise ValueError(
                    "each packet id key needs a version of its own, one letter or digit"
                )
            if len(key) < _KEY_LENGTH_MIN or not key.isascii():
                raise ValueError(f"packet id keys have at least {_KEY_LENGTH_MIN} ASCII characters")
            keys[version] = key.encode()
        if not keys:
            raise ValueError("there is no packet id key")
        return cls(keys)

    def sign(self, random_text: str, parts: int = 1) -> str:
        """Return the id of a packet that is cut into *parts*."""
        cut = f"{CUT}{parts}" if parts > 1 else ""
        head = random_text + self._version
        return head + _tag(self._keys[self._version], head + cut) + cut

    def check(self, packet_id: str) -> str:
        """Return *packet_id*, or raise PacketNotFound where none of the keys has signed it."""
        if not self.has_signed(packet_id):
            raise PacketNotFound("no such packet")
        return packet_id

    def has_signed(self, packet_id: str) -> bool:
        """Tell whether an id can be that of a packet."""
        if not PACKET_ID.fullmatch(packet_id):
            return False
        head, tag = packet_id[: RANDOM_LENGTH + 1], packet_id[RANDOM_LENGTH + 1 : TAGGED_LENGTH]
        text = head + packet_id[TAGGED_LENGTH:]
        # All keys: the version of a key may change when the list of earlier ones does.
        return any(hmac.compare_digest(tag, _tag(key, text)) for key in self._keys.values())


def _tag(key: bytes, text: str) -> str:
    return urlsafe_b64encode(hmac.digest(key, text.encode(), "sha256")[:_TAG_BYTES]).decode()
