"""Signed calls to the embedding app's own wallet: Standard Webhooks, both ways."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from redpacket.adapters.payments.outgoing import Outgoing
from redpacket.domain.errors import Unavailable

_OK = 200
_MS_PER_S = 1_000
AGE_MS_MAX = 5 * 60 * _MS_PER_S
_TIMESTAMP_DIGITS_MAX = 12


@dataclass(frozen=True, slots=True)
class HostKeys:
    """The secrets of both directions, so that nothing we sign comes back as the host's word."""

    call_secret: str = field(repr=False)
    result_secret: str = field(repr=False)

    @classmethod
    def of(cls, secret: str) -> Self:
        """Read the JSON of the secret: `{"call_secret": "whsec_...", "result_secret": ...}`."""
        return cls(**json.loads(secret))


class HostClient:
    """Signs calls, and believes only answers that are signed for the very same call."""

    def __init__(self, keys: HostKeys, outgoing: Outgoing) -> None:
        self._calls = Webhook(keys.call_secret)
        self._results = Webhook(keys.result_secret)
        self._outgoing = outgoing

    def call(self, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the `data` of the wallet's answer; Unavailable where it is unknown.

        The type stands in the signed body, so that a call can't be replayed as another kind, and
        the answer carries the call's id, so that it can't be another call's.
        """
        message_id, now = f"call_{secrets.token_hex(16)}", datetime.now(UTC)
        body = json.dumps({"type": kind, "data": data}, ensure_ascii=False)
        answer = self._outgoing.post(
            body.encode(),
            {
                "Content-Type": "application/json",
                "webhook-id": message_id,
                "webhook-timestamp": str(int(now.timestamp())),
                "webhook-signature": self._calls.sign(message_id, now, body),
            },
        )
        if answer.status != _OK or answer.headers.get("webhook-id") != message_id:
            raise Unavailable(f"the host's wallet answered {answer.status}")
        told = self.verified(answer.headers, answer.body)
        if told is None or told.get("type") != f"{kind}.answer":
            raise Unavailable("the host's wallet gave an answer that it did not sign")
        answered = told.get("data")
        if not isinstance(answered, dict):
            raise Unavailable("the host's wallet gave an answer without data")
        return answered

    def verified(self, headers: Mapping[str, str], body: bytes) -> Mapping[str, Any] | None:
        """Return what the wallet has signed within the last five minutes; None: it has not."""
        try:
            told = self._results.verify(body, dict(headers))
        except (WebhookVerificationError, ValueError):
            return None
        return told if isinstance(told, dict) else None


def is_fresh(headers: Mapping[str, str], now_ms: int) -> bool:
    """Say whether a message is at most five minutes from *now_ms*."""
    timestamp = headers.get("webhook-timestamp", "")
    if not timestamp.isascii() or not timestamp.isdecimal():
        return False
    if len(timestamp) > _TIMESTAMP_DIGITS_MAX:
        return False
    return abs(now_ms - int(timestamp) * _MS_PER_S) <= AGE_MS_MAX
