"""The grab token, which admits a user from grab (抢) to open (拆).

The packet's seed signs the token, so the token needs no storage and survives a cache flush. It is
useless once the packet has ended.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64

from redpacket.packets.errors import GrabTokenInvalid

LIFE_MS = 60_000
"""Milliseconds that an admission lasts. After this time, the user must grab again."""

_TIME_BYTES = 6
_TAG_BYTES = 15


def grab_token(seed: bytes, packet_id: str, user_id: str, expires_at_ms: int) -> str:
    """Return a user's grab token for a packet."""
    expiry = expires_at_ms.to_bytes(_TIME_BYTES)
    return urlsafe_b64encode(expiry + _tag(seed, packet_id, user_id, expiry)).decode()


def check_grab_token(token: str, seed: bytes, packet_id: str, user_id: str, now_ms: int) -> None:
    """Raise GrabTokenInvalid unless *token* is this user's unexpired token for this packet."""
    try:
        data = urlsafe_b64decode(token)
    except (NotBase64, ValueError):
        data = b""
    expiry, tag = data[:_TIME_BYTES], data[_TIME_BYTES:]
    if not hmac.compare_digest(tag, _tag(seed, packet_id, user_id, expiry)):
        raise GrabTokenInvalid
    if now_ms >= int.from_bytes(expiry):
        raise GrabTokenInvalid


def _tag(seed: bytes, packet_id: str, user_id: str, expiry: bytes) -> bytes:
    # Ids contain no line breaks, so every message is unambiguous.
    message = f"grab\n{packet_id}\n{user_id}\n".encode() + expiry
    return hmac.digest(seed, message, "sha256")[:_TAG_BYTES]
