"""Signed calls to the host's wallet, with Standard Webhooks in both directions."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Self

from standardwebhooks import Webhook
from standardwebhooks.webhooks import WebhookVerificationError

from redpacket.platform.errors import Unavailable
from redpacket.platform.ssrf_safe_http import HttpClient

_OK = 200


@dataclass(frozen=True, slots=True)
class HostKeys:
    """Separate secrets for each direction, so that our signatures never pass as the host's.

    During a rotation, each field may contain several secrets separated by spaces.
    """

    call_secret: str = field(repr=False)
    result_secret: str = field(repr=False)

    @classmethod
    def of(cls, secret: str) -> Self:
        """Parse the secret's JSON: `{"call_secret": "whsec_...", "result_secret": ...}`."""
        return cls(**json.loads(secret))


class HostResults:
    """Verifier of messages from the host's wallet."""

    def __init__(self, result_secret: str) -> None:
        self._results = [Webhook(secret) for secret in result_secret.split()]

    def verified(self, headers: Mapping[str, str], body: bytes) -> Mapping[str, Any] | None:
        """Return the message if the wallet signed it within the last five minutes, else None."""
        for results in self._results:
            with suppress(WebhookVerificationError, ValueError):
                told = results.verify(body, dict(headers))
                return told if isinstance(told, dict) else None
        return None


class HostClient(HostResults):
    """Client that signs calls and accepts only answers signed for the same call."""

    def __init__(self, keys: HostKeys, http_client: HttpClient) -> None:
        super().__init__(keys.result_secret)
        self._calls = [Webhook(secret) for secret in keys.call_secret.split()]
        self._http_client = http_client

    def call(self, kind: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the `data` of the wallet's answer. Raises Unavailable if the outcome is unknown.

        The signed body contains the call's type, and the answer contains the call's id, so neither
        can be replayed for another call.
        """
        message_id, now = f"call_{secrets.token_hex(16)}", datetime.now(UTC)
        body = json.dumps({"type": kind, "data": data}, ensure_ascii=False)
        signatures = [calls.sign(message_id, now, body) for calls in self._calls]
        answer = self._http_client.post(
            body.encode(),
            {
                "Content-Type": "application/json",
                "webhook-id": message_id,
                "webhook-timestamp": str(int(now.timestamp())),
                "webhook-signature": " ".join(signatures),
            },
        )
        if answer.status != _OK or answer.headers.get("webhook-id") != message_id:
            raise Unavailable(f"the host's wallet answered {answer.status}")
        told = self.verified(answer.headers, answer.body)
        if told is None or told.get("type") != f"{kind}.answer":
            raise Unavailable("the host's wallet returned an unsigned or wrong answer")
        answered = told.get("data")
        if not isinstance(answered, dict):
            raise Unavailable("the host's wallet returned an answer without data")
        return answered
