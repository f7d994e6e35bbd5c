"""Client for WeChat Pay's API v3, based on wechatpayv3 in public-key mode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from wechatpayv3 import WeChatPay, WeChatPayType
from wechatpayv3.type import RequestType

from redpacket.payments.providers.wechat.keys import read_api_v3_keys, read_public_keys
from redpacket.platform.errors import AddressRefused, Unavailable
from redpacket.platform.time_budget import time_budget

WECHAT_PAY = "https://api.mch.weixin.qq.com"
_OK, _REFUSED, _BROKEN = 200, 400, 500
_CONNECT_SHARE = 0.3
_NOT_FROM_HERE = "此IP地址不允许"


@dataclass(frozen=True, slots=True)
class WeChatMerchant:
    """Settings and keys of a WeChat merchant, from a secret.

    Calls use the first of several public keys and APIv3 keys; callbacks may use any.
    """

    mch_id: str
    app_id: str
    cert_serial: str
    public_key_id: str
    public_key: str = field(repr=False)
    private_key: str = field(repr=False)
    api_v3_key: str = field(repr=False)
    app_secret: str = field(repr=False)
    code_kind: str = "official_account"
    """Source of authorization codes: official_account or mini_program."""
    remark: str = "红包提现"
    """Text that WeChat shows to users with each payment and transfer."""

    @classmethod
    def of(cls, secret: str) -> Self:
        """Parse the secret's JSON object."""
        return cls(**json.loads(secret))


@dataclass(frozen=True, slots=True)
class Answer:
    """Gateway's answer; a refusal is unsigned, so use only its code."""

    status: int
    body: Mapping[str, Any] = field(repr=False)

    @property
    def is_ok(self) -> bool:
        """Return whether the provider accepted the request; such answers are signed."""
        return self.status < _REFUSED

    @property
    def code(self) -> str:
        """Provider's refusal code, or ""."""
        code = self.body.get("code", "")
        # Codes may be logged, so limit their characters and length.
        is_code = isinstance(code, str) and code.isascii() and code.replace("_", "").isalnum()
        return code[:64] if not self.is_ok and is_code else ""


class WeChatClient:
    """Signing client, without a logger because the library would log openids."""

    def __init__(
        self, merchant: WeChatMerchant, *, gateway_url: str = WECHAT_PAY, call_ms_max: int
    ) -> None:
        self.merchant = merchant
        self._url = gateway_url
        public_keys = read_public_keys(merchant.public_key, merchant.public_key_id)
        public_key_id, public_key = next(iter(public_keys.items()))
        self._pay = WeChatPay(
            WeChatPayType.NATIVE,
            mchid=merchant.mch_id,
            private_key=merchant.private_key,
            cert_serial_no=merchant.cert_serial.upper(),
            appid=merchant.app_id,
            apiv3_key=read_api_v3_keys(merchant.api_v3_key)[0].decode(),
            public_key=public_key.public_bytes(
                Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
            ).decode(),
            public_key_id=public_key_id,
        )
        self._call_s_max = call_ms_max / 1_000
        _point_at(self._pay, gateway_url)

    def get(self, path: str) -> Answer:
        """Query the provider. Raises Unavailable if the answer is unknown."""
        return self._read(*self._request(path, RequestType.GET, None))

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        """Send a command to the provider. Raises Unavailable if its outcome is unknown."""
        return self._read(*self._request(path, RequestType.POST, body))

    def download(self, url: str) -> bytes:
        """Return the unsigned file at a URL from the provider; the caller must verify its hash."""
        if not url.startswith(f"{self._url}/"):
            raise Unavailable("the gateway returned a file URL on another host")
        status, content = self._request(
            url.removeprefix(self._url), RequestType.GET, None, is_signed=False
        )
        if status != _OK:
            raise Unavailable("the gateway rejected the download of its own file URL")
        return content.encode() if isinstance(content, str) else content

    def sign(self, *lines: str) -> str:
        """Return the signature that the payer's client passes to WeChat."""
        signature: str = self._pay.sign(list(lines))
        return signature

    def _request(
        self,
        path: str,
        method: RequestType,
        body: Mapping[str, Any] | None,
        *,
        is_signed: bool = True,
    ) -> tuple[int, str | bytes]:
        answered: tuple[int, str | bytes] | None = None
        # Drop the error, whose text may contain a body or a URL with a secret.
        with suppress(Exception):
            core = self._pay._core  # noqa: SLF001 - as its maintainer advises
            call_s = time_budget.timeout_s(self._call_s_max)
            core._timeout = call_s * _CONNECT_SHARE, call_s * (1 - _CONNECT_SHARE)  # noqa: SLF001
            answered = core.request(path, method=method, data=body, skip_verify=not is_signed)
        if answered is None:
            # Raise outside the `with` block, so that the dropped error is not attached.
            raise Unavailable("the gateway's answer is unknown")
        return answered

    def _read(self, status: int, content: str | bytes) -> Answer:
        body: Any = None
        if content:
            try:
                body = json.loads(content)
            except ValueError:
                body = None
        elif status < _REFUSED:
            body = {}
        if status >= _BROKEN or not isinstance(body, dict) or not status >= _OK:
            raise Unavailable(f"the gateway answered {status}")
        answer = Answer(status, body)
        # WeChat also returns this code for invalid orders, so check the message.
        if answer.code == "INVALID_REQUEST" and _NOT_FROM_HERE in str(body.get("message")):
            raise AddressRefused("WeChat Pay rejects calls from our IP address")
        return answer


def _point_at(pay: WeChatPay, gateway_url: str) -> None:
    core = pay._core  # noqa: SLF001
    if not hasattr(core, "_gate_way"):
        # Otherwise tests would call the real provider.
        raise RuntimeError("wechatpayv3 has no _gate_way attribute any more: check its version")
    core._gate_way = gateway_url  # noqa: SLF001
