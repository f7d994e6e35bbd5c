"""What the gateway tells the merchant: events, sealed and signed."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa

from local.gateway.clock import MS_PER_S, rfc3339, wall_ms
from local.gateway.deliveries import Posted
from local.gateway.keys import GatewayKeys, make_private_key
from local.gateway.numbers import digest
from local.gateway.signatures import seal, signed_headers


@dataclass(frozen=True, slots=True)
class Event:
    """One notification of API v3; its body is the same at each attempt."""

    keys: GatewayKeys
    url: str
    subject: str
    body: bytes

    @classmethod
    def of(
        cls,
        keys: GatewayKeys,
        url: str,
        kind: str,
        original_type: str,
        subject: str,
        resource: dict[str, Any],
    ) -> "Event":
        """Return the event *kind* about what has the number *subject*."""
        told = json.dumps(resource, sort_keys=True)
        event = {
            "id": f"EV-{digest(kind, subject, told, digits=30)}",
            "create_time": rfc3339(wall_ms()),
            "resource_type": "encrypt-resource",
            "event_type": kind,
            "summary": kind,
            "resource": seal(resource, original_type, keys.merchant.api_v3_key),
        }
        return cls(keys, url, subject, json.dumps(event).encode())

    def signed(self, at_s: int) -> Posted:
        """Return it as it is sent, signed *at_s*."""
        return self._posted(
            signed_headers(self.keys.private_key, self.keys.merchant.public_key_id, self.body, at_s)
        )

    def forged(self) -> list[Posted]:
        """Return what somebody might send who lacks the keys."""
        now_s = wall_ms() // MS_PER_S
        true, own_id = self.signed(now_s), self.keys.merchant.public_key_id
        wrong_key = signed_headers(_others_key(), own_id, self.body, now_s)
        return [
            self._posted(wrong_key),
            # A true signature, of another body.
            Posted(self.body.replace(b'"EV-', b'"EV-9'), true.headers),
            # Serials that a library might go and fetch, or stumble over.
            self._posted(
                wrong_key | {"Wechatpay-Serial": "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"}
            ),
            self._posted(wrong_key | {"Wechatpay-Serial": "PUB_KEY_ID_" + "0" * 28}),
            self._posted(wrong_key | {"Wechatpay-Signature": "not base64"}),
            self._posted({}),
        ]

    def _posted(self, headers: dict[str, str]) -> Posted:
        return Posted(self.body, {**headers, "Content-Type": "application/json"})


@cache
def _others_key() -> rsa.RSAPrivateKey:
    return make_private_key()
