"""Calls to Lark's API with a cached app token."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from redpacket.chat.connectors.parsing import json_object, part, text
from redpacket.chat.errors import ChatBusy, ChatGone
from redpacket.chat.ports import ConnectorEnvironment
from redpacket.platform.errors import RedPacketError, Unavailable
from redpacket.platform.ssrf_safe_http import HttpAnswer

_FEISHU = "open.feishu.cn"
_RENEW_MS = 10 * 60_000
"""Milliseconds before a token's expiry at which a new token is fetched."""

_OK, _TOO_MANY = "0", 429
_LIMITED = {"99991400", "230020"}
_BAD_REQUEST = 400
_SENDING = "230049"
_DONE = frozenset({"230011", "230031", "230110"})
"""Error codes for a recalled message, a message too old to edit, and a deleted message."""

_TOKEN_INVALID = {"99991661", "99991663", "99991668"}
_NAMES_MAX = 10_000


class LarkApi:
    """API client for one Lark or Feishu app."""

    def __init__(self, environment: ConnectorEnvironment) -> None:
        secret = environment.secret
        host = secret.get("lark_host") or _FEISHU
        self.is_feishu = host == _FEISHU
        self._url = f"{secret.get('lark_url') or f'https://{host}'}/open-apis"
        self._app = {"app_id": secret["lark_app_id"], "app_secret": secret["lark_app_secret"]}
        self._http, self._now_ms = environment.http, environment.now_ms
        self._token, self._token_ends_at_ms = "", 0
        self._names: dict[str, str] = {}

    def send(
        self, id_kind: str, to: str, message_type: str, content: Mapping[str, Any], key: str
    ) -> str:
        """Send a message and return its id; for an hour, Lark drops repeats with the same *key*."""
        body = {"receive_id": to, "msg_type": message_type, "content": _json(content)}
        url = f"{self._url}/im/v1/messages?receive_id_type={id_kind}"
        headers = self._headers()
        answer = self._http(url).post(
            _json(body | ({"uuid": key} if key else {})).encode(), headers
        )
        return text(self._data(answer), "message_id")

    def edit(self, message_id: str, content: Mapping[str, Any]) -> None:
        """Replace a card; ignore a message that was deleted or is too old to edit."""
        body = _json({"content": _json(content)}).encode()
        headers = self._headers()
        answer = self._http(f"{self._url}/im/v1/messages/{message_id}").patch(body, headers)
        self._data(answer, _DONE)

    def name_of(self, open_id: str) -> str:
        """Return a user's name, which events lack, or "" if Lark does not return one."""
        if open_id in self._names:
            return self._names[open_id]
        url = f"{self._url}/contact/v3/users/{open_id}"
        try:
            data = self._data(self._http(url).get("user_id_type=open_id", self._headers()))
        except RedPacketError:
            return ""
        if len(self._names) >= _NAMES_MAX:
            self._names.clear()
        return self._names.setdefault(open_id, text(part(data, "user"), "name"))

    def _headers(self) -> Mapping[str, str]:
        if self._now_ms() > self._token_ends_at_ms - _RENEW_MS:
            url = f"{self._url}/auth/v3/tenant_access_token/internal"
            told = _told(self._http(url).post(_json(self._app).encode(), _JSON))
            self._token = text(told, "tenant_access_token")
            self._token_ends_at_ms = self._now_ms() + int(text(told, "expire")) * 1_000
        return {**_JSON, "Authorization": f"Bearer {self._token}"}

    def _data(self, answer: HttpAnswer, done: frozenset[str] = frozenset()) -> Mapping[str, Any]:
        try:
            return part(_told(answer, done), "data")
        except _TokenInvalid:
            self._token_ends_at_ms = 0
            raise


_JSON = {"Content-Type": "application/json; charset=utf-8"}


class _TokenInvalid(Unavailable):
    """The app token is no longer valid. The next call fetches a new one."""


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False)


def _told(answer: HttpAnswer, done: frozenset[str] = frozenset()) -> Mapping[str, Any]:
    try:
        told = json_object(answer.body)
    except RedPacketError:
        raise Unavailable(f"Lark answered {answer.status} without JSON") from None
    code = text(told, "code")
    if code == _OK or code in done:
        return told
    if code in _LIMITED or answer.status == _TOO_MANY:
        wait = answer.headers.get("x-ogw-ratelimit-reset", "")
        raise ChatBusy(retry_after_s=int(wait) if wait.isdecimal() else 1)
    if code in _TOKEN_INVALID:
        raise _TokenInvalid("Lark rejected the app token")
    if answer.status == _BAD_REQUEST and code != _SENDING:
        raise ChatGone(f"Lark refused the call with code {code}")
    raise Unavailable(f"Lark answered {answer.status} with code {code}")
