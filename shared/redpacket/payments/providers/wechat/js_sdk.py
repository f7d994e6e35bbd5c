"""Signatures that let the page use WeChat's JS-SDK, for sharing and speech recognition."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from redpacket.payments.ports import JsSignature
from redpacket.payments.providers.wechat.client import WeChatMerchant
from redpacket.payments.providers.wechat.login import read_answer
from redpacket.platform.errors import InvalidRequest, Unavailable
from redpacket.platform.ssrf_safe_http import HttpAnswer, HttpClient

# This call leaves tokens of other processes valid, unlike /cgi-bin/token.
TOKEN_PATH = "/cgi-bin/stable_token"  # noqa: S105 - a path
TICKET_PATH = "/cgi-bin/ticket/getticket"
_MARGIN_S = 300


def signature_of(ticket: str, nonce: str, timestamp_s: int, url: str) -> str:
    """Return WeChat's signature for *url*; the signed values are not escaped."""
    text = f"jsapi_ticket={ticket}&noncestr={nonce}&timestamp={timestamp_s}&url={url}"
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


class JsSdk:
    """Signer of addresses on *page_url*'s origin; caches the ticket until it is about to expire."""

    def __init__(
        self,
        merchant: WeChatMerchant,
        page_url: str,
        http_client: Callable[[str], HttpClient],
        now_ms: Callable[[], int],
    ) -> None:
        self._merchant = merchant
        self._origin = "{0.scheme}://{0.netloc}/".format(urlsplit(page_url))
        self._tokens, self._tickets = http_client(TOKEN_PATH), http_client(TICKET_PATH)
        self._now_ms = now_ms
        self._ticket, self._good_until_s = "", 0

    def sign(self, url: str) -> JsSignature:
        """Sign an address without its fragment. Raises InvalidRequest, Unavailable."""
        if not url.startswith(self._origin):
            raise InvalidRequest.of("url", "must be an address of this deployment's page")
        now_s = self._now_ms() // 1000
        if now_s >= self._good_until_s:
            self._ticket, life_s = self._read_ticket()
            self._good_until_s = now_s + life_s - _MARGIN_S
        nonce = secrets.token_hex(8)
        signature = signature_of(self._ticket, nonce, now_s, url.partition("#")[0])
        return {
            "app_id": self._merchant.app_id,
            "timestamp": now_s,
            "nonce": nonce,
            "signature": signature,
        }

    def _read_ticket(self) -> tuple[str, int]:
        app = {"appid": self._merchant.app_id, "secret": self._merchant.app_secret}
        body = json.dumps(app | {"grant_type": "client_credential"}).encode()
        answer = self._tokens.post(body, {"Content-Type": "application/json"})
        token, _ = _lent(answer, "access_token")
        query = urlencode({"access_token": token, "type": "jsapi"})
        return _lent(self._tickets.get(query), "ticket")


def _lent(answer: HttpAnswer, name: str) -> tuple[str, int]:
    """Return a token or ticket, and its lifetime in seconds. Raises Unavailable."""
    told = read_answer(answer)
    lent, life_s, code = told.get(name), told.get("expires_in"), told.get("errcode")
    if not isinstance(lent, str) or not lent or not isinstance(life_s, int):
        raise Unavailable(
            f"WeChat returned no {name}: {code if isinstance(code, int) else 'no code'}"
        )
    return lent, life_s
