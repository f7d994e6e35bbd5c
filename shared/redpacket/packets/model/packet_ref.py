"""References that name a packet without its id, because anyone with the id may claim a share.

A reference is the id, encrypted and authenticated with a key that is derived from a seed key for
one purpose. Until a newer seed key is added, an id keeps its reference, so that lists and exports
can be joined.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import shake_256

from redpacket.packets.model.seed_keys import SeedKeys
from redpacket.platform.errors import InvariantViolated

PACKET_REF = "[A-Za-z0-9_-]{64,68}"
"""Pattern of a reference: the key's version, a tag of 16 bytes, and an id."""

SEALED_CURSOR = "[A-Za-z0-9_-]{24,300}"
"""Pattern of a sealed cursor."""

_TAG_BYTES = 16


def seal(purpose: str, text: str, keys: SeedKeys) -> str:
    """Return *text* sealed for *purpose* with the newest key."""
    version = keys.seal(b"\0")
    key = keys.open(purpose, version)
    tag = hmac.digest(key, b"tag\n" + text.encode(), "sha256")[:_TAG_BYTES]
    sealed = version + tag + _masked(key, tag, text.encode())
    return urlsafe_b64encode(sealed).decode().rstrip("=")


def unseal(purpose: str, sealed: str, keys: SeedKeys) -> str | None:
    """Return the text in *sealed*, or None if none of *keys* sealed it for *purpose*."""
    try:
        content = urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        version, tag = content[:1], content[1 : 1 + _TAG_BYTES]
        key = keys.open(purpose, version)
    except (ValueError, IndexError, InvariantViolated):
        return None
    text = _masked(key, tag, content[1 + _TAG_BYTES :])
    is_ours = hmac.compare_digest(tag, hmac.digest(key, b"tag\n" + text, "sha256")[:_TAG_BYTES])
    return text.decode() if is_ours else None


def _masked(key: bytes, tag: bytes, text: bytes) -> bytes:
    mask = shake_256(hmac.digest(key, b"mask\n" + tag, "sha256")).digest(len(text))
    return bytes(each ^ other for each, other in zip(text, mask, strict=True))
