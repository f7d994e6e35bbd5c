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


def hash_of_key(key: str) -> str:
    """Return the hash of an idempotency key."""
    return hashlib.sha256(key.encode()).hexdigest()
