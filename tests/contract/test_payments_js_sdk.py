"""Signatures for WeChat's JS-SDK, with the token and the ticket that they need."""

from typing import Any

import httpx
import pytest

from local.client import NO_TLS
from redpacket.payments.ports import JsSignature
from redpacket.payments.providers.wechat.js_sdk import (
    TICKET_PATH,
    TOKEN_PATH,
    signature_of,
)
from redpacket.platform.errors import InvalidRequest, Unavailable
from testing.payments.gateways import WeChatSide

PAGE = "https://page.example/packets/1?via=a"
TWO_HOURS_MS = 7_200_000


def _lend_token(side: WeChatSide, **changes: Any) -> dict[str, Any]:
    merchant = side.merchant
    credentials = {"appid": merchant.app_id, "secret": merchant.app_secret}
    credentials |= {"grant_type": "client_credential", **changes}
    return _lent(
        httpx.post(side.fake.url + TOKEN_PATH, json=credentials, trust_env=False, verify=NO_TLS)
    )


def _lend_ticket(side: WeChatSide, token: str, type_: str = "jsapi") -> dict[str, Any]:
    query = {"access_token": token, "type": type_}
    url = side.fake.url + TICKET_PATH
    return _lent(httpx.get(url, params=query, trust_env=False, verify=NO_TLS))


def _lent(answer: httpx.Response) -> dict[str, Any]:
    told: dict[str, Any] = answer.json()
    return told


def _is_signed(side: WeChatSide, signed: JsSignature, url: str) -> bool:
    """Check *signed* as WeChat's client does, with the current ticket."""
    ticket = _lend_ticket(side, _lend_token(side)["access_token"])["ticket"]
    return signed["signature"] == signature_of(ticket, signed["nonce"], signed["timestamp"], url)


def test_the_signature_equals_the_one_in_the_documentation_of_wechat() -> None:
    ticket = (
        "sM4AOVdWfPE4DxkXGEs8VMCPGGVi4C3VM0P37wVUCFvkVAy_90u5h9nbSlYy3-Sl-HhTdfl2fzFy1AOcHKP7qg"
    )
    url = "http://mp.weixin.qq.com?params=value"

    signature = signature_of(ticket, "Wm3WZYTPz0wzccnW", 1414587457, url)

    assert signature == "0f9de62fce790f9a083d5c99e95740ceb90c27ed"


def test_an_address_of_the_page_is_signed_without_its_fragment(wechat: WeChatSide) -> None:
    sdk = wechat.js_sdk()

    signed, other = sdk.sign(f"{PAGE}#part"), sdk.sign(PAGE)

    assert signed["app_id"] == wechat.merchant.app_id
    assert abs(signed["timestamp"] - wechat.now_ms() // 1000) <= 1
    assert signed["nonce"] != other["nonce"]
    assert _is_signed(wechat, signed, PAGE)
    assert _is_signed(wechat, other, PAGE)


@pytest.mark.parametrize(
    "url",
    [
        *("", "https://page.example", "http://page.example/", "https://page.example.evil/"),
        *("https://page.example:444/", "https://evil/https://page.example/"),
    ],
)
def test_an_address_elsewhere_is_not_signed(wechat: WeChatSide, url: str) -> None:
    with pytest.raises(InvalidRequest):
        wechat.js_sdk().sign(url)


def test_a_ticket_is_used_until_five_minutes_before_its_end(wechat: WeChatSide) -> None:
    sdk = wechat.js_sdk()
    first = sdk.sign(PAGE)
    assert _is_signed(wechat, first, PAGE)

    wechat.advance(TWO_HOURS_MS - 310_000)
    wechat.fake.do("mode", mode="fails")
    kept = sdk.sign(PAGE)
    wechat.advance(11_000)
    with pytest.raises(Unavailable):
        sdk.sign(PAGE)
    wechat.fake.do("mode", mode="ok")

    assert _is_signed(wechat, sdk.sign(PAGE), PAGE)
    assert not _is_signed(wechat, kept, PAGE)


@pytest.mark.parametrize("mode", ["fails", "throttles"])
def test_nothing_is_signed_without_a_ticket(wechat: WeChatSide, mode: str) -> None:
    wechat.fake.do("mode", mode=mode)

    with pytest.raises(Unavailable, match=r"-1|45011"):
        wechat.js_sdk().sign(PAGE)


def test_nothing_is_signed_with_a_wrong_secret(wechat: WeChatSide) -> None:
    with pytest.raises(Unavailable, match="40125"):
        wechat.js_sdk("wrong").sign(PAGE)


def test_the_simulator_is_as_strict_as_wechat(wechat: WeChatSide) -> None:
    lent = _lend_token(wechat)
    token = lent["access_token"]

    assert _lend_token(wechat)["access_token"] == token
    assert _lend_token(wechat, secret="wrong")["errcode"] == 40125
    assert _lend_token(wechat, appid="wrong")["errcode"] == 40013
    assert _lend_ticket(wechat, token)["ticket"] == _lend_ticket(wechat, token)["ticket"]
    assert _lend_ticket(wechat, "another")["errcode"] == 40001
    assert _lend_ticket(wechat, token, "wx_card")["errcode"] == 40097
    wechat.advance(lent["expires_in"] * 1000 + 1000)
    assert _lend_ticket(wechat, token)["errcode"] == 42001
    assert _lend_token(wechat)["access_token"] != token
