"""Calls of WeChat Pay's API v3, by the library wechatpayv3 in its public-key mode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from wechatpayv3 import WeChatPay, WeChatPayType
from wechatpayv3.type import RequestType

from redpacket.domain.errors import Unavailable

WECHAT_PAY = "https://api.mch.weixin.qq.com"
_OK, _REFUSED, _BROKEN = 200, 400, 500
# A connection is there in milliseconds, or not at all.
_CONNECT_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class WeChatMerchant:
    """What WeChat gives a merchant: names, and the keys of the secret that holds them."""

    mch_id: str
    app_id: str
    cert_serial: str
    public_key_id: str
    public_key: str = field(repr=False)
    private_key: str = field(repr=False)
    api_v3_key: str = field(repr=False)
    app_secret: str = field(repr=False)

    @classmethod
    def of(cls, secret: str) -> Self:
        """Read the JSON of the secret, an object of these fields."""
        return cls(**json.loads(secret))


@dataclass(frozen=True, slots=True)
class Answer:
    """What the gateway answered; of a refusal only its code, for nothing proves who wrote it."""

    status: int
    body: Mapping[str, Any] = field(repr=False)

    @property
    def is_ok(self) -> bool:
        """Say whether the gateway did what it was asked; it has signed that."""
        return self.status < _REFUSED

    @property
    def code(self) -> str:
        """The gateway's name of a refusal, "" where it gave none."""
        code = self.body.get("code", "")
        # What a log may carry: no code of the gateway is longer, or has other letters.
        is_code = isinstance(code, str) and code.isascii() and code.replace("_", "").isalnum()
        return code[:64] if not self.is_ok and is_code else ""


class WeChatClient:
    """Signs requests, checks the signatures of answers, and keeps silent about both.

    It is given no logger: the library would write bodies, openids among them.
    """

    def __init__(
        self, merchant: WeChatMerchant, *, gateway_url: str = WECHAT_PAY, call_ms_max: int
    ) -> None:
        self.merchant = merchant
        self._url = gateway_url
        self._pay = WeChatPay(
            WeChatPayType.NATIVE,
            mchid=merchant.mch_id,
            private_key=merchant.private_key,
            cert_serial_no=merchant.cert_serial,
            appid=merchant.app_id,
            apiv3_key=merchant.api_v3_key,
            public_key=merchant.public_key,
            public_key_id=merchant.public_key_id,
            timeout=(
                call_ms_max * _CONNECT_SHARE / 1_000,
                call_ms_max * (1 - _CONNECT_SHARE) / 1_000,
            ),
        )
        _point_at(self._pay, gateway_url)

    def get(self, path: str) -> Answer:
        """Ask the gateway; Unavailable where its answer is unknown."""
        return self._read(*self._request(path, RequestType.GET, None))

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        """Tell the gateway to do something; Unavailable where it is unknown whether it did."""
        return self._read(*self._request(path, RequestType.POST, body))

    def download(self, url: str) -> bytes:
        """Return a file that the gateway named; it carries no signature, so compare its hash."""
        if not url.startswith(f"{self._url}/"):
            raise Unavailable("the gateway names a file of another host")
        status, content = self._request(
            url.removeprefix(self._url), RequestType.GET, None, is_signed=False
        )
        if status != _OK:
            raise Unavailable("the gateway does not hand out the file that it named")
        return content.encode() if isinstance(content, str) else content

    def sign(self, *lines: str) -> str:
        """Return the signature that the payer's client shows WeChat."""
        signature: str = self._pay.sign(list(lines))
        return signature

    def open_callback(self, headers: Mapping[str, str], body: bytes) -> Mapping[str, Any] | None:
        """Return a callback's event with its resource decrypted; None where anything is wrong."""
        try:
            event = self._pay.callback(dict(headers), body)
        except Exception:  # noqa: BLE001 - a library that reads what anybody sends
            return None
        return event if isinstance(event, dict) else None

    def _request(
        self,
        path: str,
        method: RequestType,
        body: Mapping[str, Any] | None,
        *,
        is_signed: bool = True,
    ) -> tuple[int, str | bytes]:
        answered: tuple[int, str | bytes] | None = None
        # All kinds of errors, whose words may tell a body or an address with a secret in it.
        with suppress(Exception):
            answered = self._pay._core.request(  # noqa: SLF001 - what its maintainer advises
                path, method=method, data=body, skip_verify=not is_signed
            )
        if answered is None:
            # Raised here, where no other error's words hang on to it.
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
        return Answer(status, body)


def _point_at(pay: WeChatPay, gateway_url: str) -> None:
    """Let the library call *gateway_url*; it has no setting for that."""
    core = pay._core  # noqa: SLF001 - the one place that knows
    if not hasattr(core, "_gate_way"):
        # Else a test's requests would go to the real gateway.
        raise RuntimeError("wechatpayv3 keeps the gateway's address under another name")
    core._gate_way = gateway_url  # noqa: SLF001
