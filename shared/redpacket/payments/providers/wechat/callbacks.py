"""Verification and parsing of WeChat Pay's callbacks."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256

from redpacket.payments.errors import SignatureInvalid
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind, is_fresh
from redpacket.payments.providers.wechat.keys import (
    key_id_of,
    read_api_v3_keys,
    read_public_keys,
)

_SIGNATURE_TYPE = "WECHATPAY2-SHA256-RSA2048"
_KINDS = {
    "TRANSACTION": (ProviderEventKind.PAYMENT, "out_trade_no", "transaction_id"),
    "REFUND": (ProviderEventKind.REFUND, "out_refund_no", "refund_id"),
    "MCHTRANSFER.BILL": (ProviderEventKind.TRANSFER, "out_bill_no", "transfer_bill_no"),
    "MCHTRANSFER.AUTHORIZATION": (
        *(ProviderEventKind.AUTHORIZATION, "out_authorization_no", "authorization_id"),
    ),
}
"""Event kind, and the fields with our number and WeChat's, keyed by event type prefix."""


@dataclass(frozen=True, slots=True)
class CallbackKeys:
    """Merchant's keys that can verify and decrypt callbacks, but cannot sign requests.

    All except *mch_id* may have several values during a rotation: ids and APIv3 keys separated by
    spaces, and concatenated PEM texts of public keys and certificates.
    """

    mch_id: str
    public_key_id: str
    public_key: str = field(repr=False)
    api_v3_key: str = field(repr=False)


class WeChatCallbacks:
    """WeChat Pay implementation of CallbackVerifier; unlike wechatpayv3, it needs no private key.

    Raises ValueError for keys that are unreadable or do not match their ids.
    """

    def __init__(self, keys: CallbackKeys) -> None:
        self._mch_id = keys.mch_id
        self._public_keys = read_public_keys(keys.public_key, keys.public_key_id)
        self._api_v3_keys = read_api_v3_keys(keys.api_v3_key)

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> ProviderEvent:
        public_key = self._public_keys.get(key_id_of(headers.get("wechatpay-serial", "")))
        if not public_key:
            raise SignatureInvalid("the callback names an unconfigured key")
        if not is_fresh(headers.get("wechatpay-timestamp", ""), now_ms):
            raise SignatureInvalid("the callback's time is off by more than five minutes")
        return self._notice(self._opened(headers, body, public_key))

    def _opened(
        self, headers: Mapping[str, str], body: bytes, public_key: RSAPublicKey
    ) -> dict[str, Any]:
        """Return a verified callback with its resource decrypted."""
        lines = [headers.get(f"wechatpay-{name}", "").encode() for name in ("timestamp", "nonce")]
        try:
            if headers["wechatpay-signature-type"] != _SIGNATURE_TYPE:
                raise SignatureInvalid("the callback has an unsupported signature type")
            signature = b64decode(headers["wechatpay-signature"])
            public_key.verify(signature, b"\n".join([*lines, body, b""]), PKCS1v15(), SHA256())
            event: dict[str, Any] = json.loads(body)
            return {**event, "resource": json.loads(self._decrypted(event["resource"]))}
        except (InvalidSignature, InvalidTag, ValueError, LookupError, TypeError) as error:
            raise SignatureInvalid("the callback's signature is not the gateway's") from error
        except (AttributeError, RecursionError) as error:
            raise SignatureInvalid("the callback is malformed") from error

    def _decrypted(self, sealed: Mapping[str, str]) -> bytes:
        nonce, text = sealed["nonce"].encode(), b64decode(sealed["ciphertext"])
        for key in self._api_v3_keys:
            with suppress(InvalidTag):
                return AESGCM(key).decrypt(nonce, text, sealed.get("associated_data", "").encode())
        raise InvalidTag

    def _notice(self, event: Mapping[str, object]) -> ProviderEvent:
        kind = str(event.get("event_type", "")).rpartition(".")[0]
        resource, notice_id = event.get("resource"), event.get("id")
        if kind not in _KINDS or not isinstance(resource, dict) or not isinstance(notice_id, str):
            raise SignatureInvalid("the callback has an unknown type")
        notice_kind, number_name, outside_name = _KINDS[kind]
        number = resource.get(number_name)
        # Other WeChat Pay clients accept both names.
        mch_id = resource.get("mchid", resource.get("mch_id"))
        if mch_id != self._mch_id or not number:
            raise SignatureInvalid("the callback is for another merchant")
        return ProviderEvent(
            notice_kind, notice_id, str(number), str(resource.get(outside_name, ""))
        )
