"""Exchange of a WeChat authorization code for an openid."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from redpacket.payments.model.provider import ExternalAccount
from redpacket.payments.providers.wechat.client import WeChatMerchant
from redpacket.payments.sealed_accounts import Accounts
from redpacket.platform.errors import Unavailable
from redpacket.platform.ssrf_safe_http import HttpAnswer, HttpClient

WECHAT_API = "https://api.weixin.qq.com"
USER_INFO = "/sns/userinfo"
_NAMED_SCOPE = "snsapi_userinfo"
_OK = 200
_NICKNAME_LENGTH_MAX = 64
# WeChat's errors for invalid, expired, missing, and used codes.
_WRONG_CODES = frozenset({40029, 42003, 41008, 40163})


class CodeKind(StrEnum):
    """Source of authorization codes; the value is the path that accepts them."""

    OFFICIAL_ACCOUNT = "/sns/oauth2/access_token"
    MINI_PROGRAM = "/sns/jscode2session"


class WeChatLogin:
    """WeChat implementation of Logins; *http_client* returns a client for a path."""

    def __init__(
        self,
        merchant: WeChatMerchant,
        accounts: Accounts,
        http_client: Callable[[str], HttpClient],
        kind: CodeKind,
    ) -> None:
        self._merchant = merchant
        self._accounts = accounts
        self._http_client = http_client(kind.value)
        self._user_info = http_client(USER_INFO)
        self._code_name = "code" if kind is CodeKind.OFFICIAL_ACCOUNT else "js_code"

    def find_account(self, code: str, owner_of: Callable[[str], str]) -> ExternalAccount | None:
        answer = self._http_client.get(
            urlencode(
                {
                    "appid": self._merchant.app_id,
                    "secret": self._merchant.app_secret,
                    self._code_name: code,
                    "grant_type": "authorization_code",
                }
            )
        )
        told = read_answer(answer)
        if told.get("errcode") in _WRONG_CODES:
            return None
        openid = told.get("openid")
        if not isinstance(openid, str) or not openid:
            raise Unavailable("WeChat returned no openid for a code")
        account = self._accounts.seal(openid, owner_of(self._accounts.hash_of(openid)))
        return self._named(account, told) if told.get("scope") == _NAMED_SCOPE else account

    def _named(self, account: ExternalAccount, told: dict[str, Any]) -> ExternalAccount:
        """Return *account* with the name and picture that the user shares, if WeChat answers."""
        question = {"access_token": told.get("access_token"), "openid": told["openid"]}
        try:
            user = read_answer(self._user_info.get(urlencode(question | {"lang": "zh_CN"})))
        except Unavailable:
            return account
        nickname, picture_url = user.get("nickname"), user.get("headimgurl")
        if not isinstance(nickname, str) or not isinstance(picture_url, str):
            return account
        return replace(
            account,
            nickname=nickname[:_NICKNAME_LENGTH_MAX],
            # Older answers contain an http URL of the same file.
            picture_url=picture_url.replace("http://", "https://", 1),
        )


def read_answer(answer: HttpAnswer) -> dict[str, Any]:
    """Return an answer's JSON object, which may describe an error. Raises Unavailable."""
    told: Any = None
    if answer.status == _OK:
        try:
            told = json.loads(answer.body)
        except ValueError:
            told = None
    if not isinstance(told, dict):
        raise Unavailable("WeChat returned an unreadable answer")
    return told
