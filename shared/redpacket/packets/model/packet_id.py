"""Packet ids with a keyed tag, which lets functions reject a forged id before any read.

Form: <22 random characters> <key version> <8 characters of a tag> [ "~" <shards> ]

The tag covers the rest of the id. It protects no money: a leaked key only lets an attacker cause
reads of nonexistent packets (docs/adr/0019-user-ids-are-keyed-hashes.md).
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping

from redpacket.packets.errors import PacketNotFound

RANDOM_BYTES = 16
"""Number of random bytes; 128 bits can't be guessed even with the key."""

RANDOM_LENGTH = 22
TAGGED_LENGTH = 31
"""Length of the random part, key version and tag; an optional number of shards follows."""

CUT = "~"

_TAG_BYTES = 6
"""Bytes of a tag. One forged tag in 2^48 passes, and even then the id finds no packet."""

_KEY_LENGTH_MIN = 32

# The id includes the number of shards, so that the id alone determines every key.
# Check an id before building a key, because a brace would change the Redis slot.
PACKET_ID = re.compile(r"[A-Za-z0-9_-]{31}(~([2-9]|[1-5][0-9]|6[0-4]))?")

_VERSION = re.compile("[A-Za-z0-9]")
_VERSIONS = "123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class PacketIds:
    """Signer of packet ids: the first key signs, and every key verifies."""

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = keys
        self._version = next(iter(keys))

    @classmethod
    def parse(cls, text: str) -> PacketIds:
        """Parse `[version:]key[,version:key]`, skipping empty items. Raises ValueError.

        A first key without a version gets the next version after the other keys' highest version.
        """
        keys: dict[str, bytes] = {}
        first, *others = [*filter(None, text.split(",")), ""]
        if first and ":" not in first:
            highest = max((_VERSIONS.find(other[:1]) for other in others if other), default=-1)
            first = f"{_VERSIONS[highest + 1 : highest + 2]}:{first}"
        for piece in filter(None, [first, *others]):
            version, _, key = piece.partition(":")
            # Don't quote the input in messages: it may be a key.
            if not _VERSION.fullmatch(version) or version in keys:
                raise ValueError("each packet id key needs a unique version of one letter or digit")
            if len(key) < _KEY_LENGTH_MIN or not key.isascii():
                raise ValueError(f"packet id keys need at least {_KEY_LENGTH_MIN} ASCII characters")
            keys[version] = key.encode()
        if not keys:
            raise ValueError("at least one packet id key is required")
        return cls(keys)

    def sign(self, random_text: str, shards: int = 1) -> str:
        """Return the signed id of a packet with this number of *shards*."""
        cut = f"{CUT}{shards}" if shards > 1 else ""
        head = random_text + self._version
        return head + _tag(self._keys[self._version], head + cut) + cut

    def check(self, packet_id: str) -> str:
        """Return *packet_id*, or raise PacketNotFound if no key has signed it."""
        if not self.has_signed(packet_id):
            raise PacketNotFound
        return packet_id

    def has_signed(self, packet_id: str) -> bool:
        """Return whether any key has signed the id."""
        if not PACKET_ID.fullmatch(packet_id):
            return False
        head, tag = packet_id[: RANDOM_LENGTH + 1], packet_id[RANDOM_LENGTH + 1 : TAGGED_LENGTH]
        text = head + packet_id[TAGGED_LENGTH:]
        # Try all keys, because a key without an explicit version may get another version later.
        return any(hmac.compare_digest(tag, _tag(key, text)) for key in self._keys.values())


def _tag(key: bytes, text: str) -> str:
    return urlsafe_b64encode(hmac.digest(key, text.encode(), "sha256")[:_TAG_BYTES]).decode()
