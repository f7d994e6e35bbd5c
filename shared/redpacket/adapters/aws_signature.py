"""AWS' Signature Version 4, for a POST without a query."""

from __future__ import annotations

import hashlib
import hmac
from typing import NamedTuple

_ALGORITHM = "AWS4-HMAC-SHA256"


class Keys(NamedTuple):
    """What a request is signed with; *token* is empty for keys that don't expire."""

    access_key: str
    secret_key: str
    token: str


def signed(
    headers: dict[str, str], body: bytes, path: str, at: str, place: tuple[str, str], keys: Keys
) -> dict[str, str]:
    """Return the *headers* and the signature's own.

    *at* is like "20261231T235959Z", *place* is a region and a service in it.
    """
    sent = {**headers, "X-Amz-Date": at}
    if keys.token:
        sent["X-Amz-Security-Token"] = keys.token
    lines = sorted((name.lower(), value.strip()) for name, value in sent.items())
    names = ";".join(name for name, _ in lines)
    canonical = "\n".join(
        ("POST", path, "", *(f"{name}:{value}" for name, value in lines), "", names, _hash(body))
    )
    parts = (at[:8], *place, "aws4_request")
    key = f"AWS4{keys.secret_key}".encode()
    for part in parts:
        key = hmac.digest(key, part.encode(), "sha256")
    credential = "/".join(parts)
    text = "\n".join((_ALGORITHM, at, credential, _hash(canonical.encode())))
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    sent["Authorization"] = (
        f"{_ALGORITHM} Credential={keys.access_key}/{credential}, "
        f"SignedHeaders={names}, Signature={signature}"
    )
    return sent


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
