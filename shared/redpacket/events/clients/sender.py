"""Signed webhook requests: CloudEvents in JSON with Standard Webhooks headers."""

from __future__ import annotations

import json
import secrets
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from standardwebhooks import Webhook as Signer

from redpacket.events.model.events import Event, cloud_event
from redpacket.events.model.webhooks import DeliveryAttempt, SealedSecret, Webhook
from redpacket.payments.model.provider import ExternalAccount
from redpacket.payments.sealed_accounts import AccountKeys, Accounts
from redpacket.platform.errors import InvalidRequest, Unavailable
from redpacket.platform.ssrf_safe_http import HttpClient

_SECRET_BYTES = 32
_SECRET_PREFIX = "whsec_"  # noqa: S105 - how Standard Webhooks marks a secret
CONTENT_TYPE = "application/cloudevents+json; charset=utf-8"


class WebhookSender:
    """HTTP implementation of Sender; each secret is encrypted for its webhook's name and URL."""

    def __init__(
        self,
        keys: Callable[[], AccountKeys],
        http_client: Callable[[str], HttpClient],
        *,
        source: str,
        now_ms: Callable[[], int],
    ) -> None:
        self._keys = keys
        self._http_client = http_client
        self._source = source
        self._now_ms = now_ms

    def check(self, url: str) -> None:
        try:
            self._http_client(url)
        except ValueError as error:
            raise InvalidRequest.of("url", str(error)) from error

    def new_secret(self, name: str, url: str) -> tuple[str, SealedSecret]:
        secret = f"{_SECRET_PREFIX}{b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()}"
        sealed = self._accounts(name).seal(secret, url)
        return secret, SealedSecret(sealed.sealed, sealed.name_hash)

    def sealed_for(self, webhook: Webhook, url: str) -> tuple[SealedSecret, ...]:
        accounts = self._accounts(webhook.name)
        return tuple(
            replace(each, sealed=accounts.seal_text(accounts.open(_account(each, webhook)), url))
            for each in webhook.secrets
        )

    def send(self, webhook: Webhook, event: Event, host_ids: Mapping[str, str]) -> DeliveryAttempt:
        body = json.dumps(cloud_event(event, self._source, host_ids), ensure_ascii=False)
        headers = self._headers(webhook, event.event_id, body)
        began_at = time.monotonic()
        status = 0
        try:
            status = self._http_client(webhook.url).post(body.encode(), headers).status
        except (Unavailable, ValueError):
            # No answer, or an address that the deployment no longer allows.
            status = 0
        duration_ms = int((time.monotonic() - began_at) * 1_000)
        return DeliveryAttempt(event.event_id, event.kind, self._now_ms(), status, duration_ms)

    def _headers(self, webhook: Webhook, event_id: str, body: str) -> dict[str, str]:
        now_ms = self._now_ms()
        now = datetime.fromtimestamp(now_ms // 1_000, UTC)
        accounts = self._accounts(webhook.name)
        signatures = (
            Signer(accounts.open(_account(secret, webhook))).sign(event_id, now, body)
            for secret in webhook.signing(now_ms)
        )
        return {
            "Content-Type": CONTENT_TYPE,
            "User-Agent": "redpacket-webhooks",
            "webhook-id": event_id,
            "webhook-timestamp": str(now_ms // 1_000),
            "webhook-signature": " ".join(signatures),
        }

    def _accounts(self, name: str) -> Accounts:
        return Accounts(self._keys(), f"webhook/{name}")


def _account(secret: SealedSecret, webhook: Webhook) -> ExternalAccount:
    """Return a webhook's secret; a secret from an earlier release is not bound to a URL."""
    account = ExternalAccount(secret.sealed, secret.hash)
    return replace(account, owner=webhook.url) if account.has_owner else account
