"""Standard Webhooks, by its specification: `v1,` and the HMAC-SHA256 of id, timestamp and body."""

import hmac
import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from local.gateway.clock import MS_PER_S, wall_ms
from local.gateway.errors import Refused
from local.gateway.keys import write_secret

AGE_S_MAX = 300
PREFIX = "whsec_"


@dataclass(frozen=True, slots=True)
class WalletSecrets:
    """One secret for each direction: what one side signs is never taken for the other's word."""

    call_secret: str
    result_secret: str

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Return the secrets in *folder*, as `wallet.json`; made when they are missing."""
        file = folder / "wallet.json"
        if not file.exists():
            made = cls(*(PREFIX + b64encode(secrets.token_bytes(32)).decode() for _ in range(2)))
            write_secret(file, json.dumps(asdict(made)))
        return cls(**json.loads(file.read_text()))


def signed_headers(
    secret: str, message_id: str, body: bytes, at_s: int | None = None
) -> dict[str, str]:
    """Return the headers that prove who wrote *body*."""
    timestamp = str(wall_ms() // MS_PER_S if at_s is None else at_s)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": _signature(secret, message_id, timestamp, body),
    }


def check(secret: str, headers: Mapping[str, str], body: bytes) -> str:
    """Return the id of a message; refuse one that is not signed within the last five minutes."""
    message_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not timestamp.isdecimal() or abs(wall_ms() // MS_PER_S - int(timestamp)) > AGE_S_MAX:
        raise Refused(401, "unsigned", "the timestamp is more than five minutes off")
    wanted = _signature(secret, message_id, timestamp, body)
    given = headers.get("webhook-signature", "").split(" ")
    if not message_id or not any(hmac.compare_digest(wanted, one) for one in given):
        raise Refused(401, "unsigned", "the signature does not fit")
    return message_id


def _signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    key = b64decode(secret.removeprefix(PREFIX))
    told = f"{message_id}.{timestamp}.".encode() + body
    return f"v1,{b64encode(hmac.digest(key, told, 'sha256')).decode()}"
