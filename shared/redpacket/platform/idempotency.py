"""Idempotent requests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """Idempotent request, with hashes of its key and body."""

    user_id: str
    key_hash: str
    body_hash: str

    def id_of(self, route: str, digits: int = 32) -> str:
        """Return an id of *digits* hexadecimal digits, the same for every retry on *route*.

        Providers recognize a retried payment by this id, even if a restore lost the request's rows.
        """
        named = f"{route}\n{self.user_id}\n{self.key_hash}".encode()
        return hashlib.sha256(named).hexdigest()[:digits]


def hash_of_key(key: str) -> str:
    """Return the hash of an idempotency key."""
    return hashlib.sha256(key.encode()).hexdigest()
