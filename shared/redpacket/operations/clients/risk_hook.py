"""Signed call to the host's risk control, limited to 150 ms."""

from __future__ import annotations

import hmac
import json
import secrets
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLate

from redpacket.platform.errors import Unavailable
from redpacket.platform.ssrf_safe_http import HttpClient

CALL_MS_MAX = 150
_SECRET_PREFIX = "whsec_"  # noqa: S105 - how Standard Webhooks marks a secret
_OK = 200


class RiskHook:
    """HTTP implementation of RiskHook that signs like Standard Webhooks, without that library."""

    def __init__(
        self, http_client: HttpClient, secret: str, now_s: Callable[[], float] = time.time
    ) -> None:
        self._http_client = http_client
        self._key = b64decode(secret.removeprefix(_SECRET_PREFIX))
        self._now_s = now_s
        # The thread allows a timeout for slow name resolution, which socket timeouts do not cover.
        self._thread = ThreadPoolExecutor(1)

    def ask(self, host_id: str) -> bool | None:
        answer = self._thread.submit(self._ask, host_id)
        try:
            return answer.result(CALL_MS_MAX / 1000)
        except TooLate:
            return None

    def _ask(self, host_id: str) -> bool | None:
        body = json.dumps({"type": "redpacket.risk.asked", "data": {"user": host_id}}).encode()
        try:
            answer = self._http_client.post(body, self._headers(body))
        except Unavailable:
            return None
        if answer.status != _OK:
            return None
        try:
            told = json.loads(answer.body)["verdict"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return {"allow": True, "deny": False}.get(told) if isinstance(told, str) else None

    def _headers(self, body: bytes) -> dict[str, str]:
        message_id, at_s = f"risk_{secrets.token_hex(16)}", int(self._now_s())
        signed = f"{message_id}.{at_s}.".encode() + body
        signature = b64encode(hmac.digest(self._key, signed, "sha256")).decode()
        return {
            "Content-Type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(at_s),
            "webhook-signature": f"v1,{signature}",
        }
