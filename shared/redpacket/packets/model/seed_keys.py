"""Keys that seal seeds, so that rows, caches, backups and logs don't reveal unclaimed amounts.

The effective seed is an HMAC-SHA256 of a purpose and the sealed seed, which starts with the key's
version. Keep each key as long as a seed that it sealed is in use.
"""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from redpacket.packets.split import SEED_BYTES, Terms
from redpacket.platform.errors import InvariantViolated

VERSION_MAX = 255
"""Largest key version, which is stored in one byte."""

_MAC_BYTES = 8

_TERMS_KEPT = 256
"""Number of cached terms, about 1 KB each."""


class SeedKeys:
    """The deployment's seed keys by version; the newest key seals."""

    def __init__(self, keys: Mapping[int, str]) -> None:
        if not keys or not all(1 <= version <= VERSION_MAX for version in keys):
            raise ValueError(f"seed keys need versions from 1 to {VERSION_MAX}")
        self._keys = {version: key.encode() for version, key in keys.items()}
        # Cache terms, because many users grab few packets and each claim reads the terms twice.
        self._read_terms = lru_cache(maxsize=_TERMS_KEPT)(self._open_text)

    @classmethod
    def parse(cls, text: str) -> SeedKeys:
        """Parse `{"1":"key",...}`. Raises ValueError."""
        return cls({int(version): str(key) for version, key in json.loads(text).items()})

    def seal(self, salt: bytes) -> bytes:
        """Return a sealed seed: *salt* with the newest key's version as its first byte."""
        return bytes([max(self._keys)]) + salt[1:]

    def open(self, purpose: str, sealed: bytes) -> bytes:
        """Return the effective seed (32 bytes) for *purpose*. Raises InvariantViolated."""
        key = self._keys.get(sealed[0])
        if key is None:
            raise InvariantViolated(f"no seed key has version {sealed[0]}")
        return hmac.digest(key, purpose.encode() + b"\n" + sealed, "sha256")

    def sign(self, text: str) -> str:
        """Return the newest key's MAC for a text that is stored in the cache."""
        return _mac(self._keys[max(self._keys)], text)

    def has_signed(self, text: str, mac: str) -> bool:
        """Return whether any key, old or new, made *mac* for *text*."""
        macs = [_mac(key, text) for key in self._keys.values()]
        return any(hmac.compare_digest(made.encode(), mac.encode()) for made in macs)

    def seal_terms(self, packet_id: str, terms: Terms) -> Terms:
        """Return a new packet's *terms* with the seed sealed."""
        sealed = self.seal(terms.seed)
        return self.open_terms(packet_id, replace(terms, seed=b"", sealed=sealed))

    def open_terms(self, packet_id: str, terms: Terms) -> Terms:
        """Return *terms* with the effective seed, or unchanged if the key is unknown.

        Terms with an unknown key yield no amounts, but the packet does not block other reads.
        """
        if terms.seed or terms.sealed[0] not in self._keys:
            return terms
        return replace(terms, seed=self.open(f"packet {packet_id}", terms.sealed)[:SEED_BYTES])

    def read_terms(self, packet_id: str, text: str) -> Terms:
        """Parse the stored form of terms."""
        return self._read_terms(packet_id, text)

    def _open_text(self, packet_id: str, text: str) -> Terms:
        return self.open_terms(packet_id, Terms.parse(text))


def _mac(key: bytes, text: str) -> str:
    # No seed has this purpose, so no MAC equals a seed.
    tag = hmac.digest(key, b"cached\n" + text.encode(), "sha256")[:_MAC_BYTES]
    return urlsafe_b64encode(tag).decode().rstrip("=")
