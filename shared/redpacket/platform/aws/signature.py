"""AWS Signature Version 4 for POST requests without a query and for presigned GET URLs."""

from __future__ import annotations

import hashlib
import hmac
from typing import NamedTuple
from urllib.parse import quote

_ALGORITHM = "AWS4-HMAC-SHA256"


class Keys(NamedTuple):
    """AWS credentials; *token* is empty if they are permanent."""

    access_key: str
    secret_key: str
    token: str


def signed(
    headers: dict[str, str], body: bytes, path: str, at: str, place: tuple[str, str], keys: Keys
) -> dict[str, str]:
    """Return *headers* with a signature; *at* is "YYYYMMDDTHHMMSSZ", *place* (region, service)."""
    sent = {**headers, "X-Amz-Date": at}
    if keys.token:
        sent["X-Amz-Security-Token"] = keys.token
    lines = sorted((name.lower(), value.strip()) for name, value in sent.items())
    names = ";".join(name for name, _ in lines)
    canonical = "\n".join(
        ("POST", path, "", *(f"{name}:{value}" for name, value in lines), "", names, _hash(body))
    )
    credential = _credential(at, place)
    sent["Authorization"] = (
        f"{_ALGORITHM} Credential={keys.access_key}/{credential}, "
        f"SignedHeaders={names}, Signature={_signature(canonical, at, credential, keys)}"
    )
    return sent


def presigned(
    host: str, query: dict[str, str], life_s: int, at: str, place: tuple[str, str], keys: Keys
) -> str:
    """Return a URL without a scheme for GET requests to the root of *host*, valid for *life_s*."""
    credential = _credential(at, place)
    parameters = {
        **query,
        "X-Amz-Algorithm": _ALGORITHM,
        "X-Amz-Credential": f"{keys.access_key}/{credential}",
        "X-Amz-Date": at,
        "X-Amz-Expires": str(life_s),
        "X-Amz-SignedHeaders": "host",
    }
    if keys.token:
        parameters["X-Amz-Security-Token"] = keys.token
    text = "&".join(
        f"{name}={quote(value, safe='-_.~')}" for name, value in sorted(parameters.items())
    )
    canonical = "\n".join(("GET", "/", text, f"host:{host}", "", "host", _hash(b"")))
    return f"{host}/?{text}&X-Amz-Signature={_signature(canonical, at, credential, keys)}"


def _credential(at: str, place: tuple[str, str]) -> str:
    return "/".join((at[:8], *place, "aws4_request"))


def _signature(canonical: str, at: str, credential: str, keys: Keys) -> str:
    key = f"AWS4{keys.secret_key}".encode()
    for part in credential.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    text = "\n".join((_ALGORITHM, at, credential, _hash(canonical.encode())))
    return hmac.digest(key, text.encode(), "sha256").hex()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
