"""Connectors whose HTTP responses a test chooses, and calls like those of the platforms."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from local.chat.lark import signed
from redpacket.chat.model import Card, Member
from redpacket.chat.ports import ConnectorEnvironment
from redpacket.platform.errors import Unavailable
from redpacket.platform.ssrf_safe_http import HttpAnswer

NOW_MS = 1_800_000_000_000
TELEGRAM = {"telegram_token": "1:abc", "telegram_secret": "s3cret", "telegram_name": "PacketBot"}
LARK = {
    "lark_app_id": "cli_1",
    "lark_app_secret": "app-secret",
    "lark_encrypt_key": "test key",
    "lark_token": "v-token",
}
CARD = Card("packet-1", "Ann & <Bob>", ("2 of 5", "8.88 < 10"), "Open", "https://p.example", None)
ANN = Member("telegram:7", "Ann", "en")


@dataclass
class Platform:
    """Platform that answers calls with *answers* in turn, and repeats the last one."""

    answers: list[Any] = field(default_factory=list)
    calls: list[tuple[str, str, Any, Mapping[str, str]]] = field(default_factory=list)

    def client(self, url: str) -> Any:
        return _Client(self, url)

    def environment(
        self, secret: Mapping[str, str], now_ms: Callable[[], int] = lambda: NOW_MS
    ) -> ConnectorEnvironment:
        return ConnectorEnvironment(secret, self.client, now_ms)

    def answer(
        self,
        method: str,
        url: str,
        body: Any,
        headers: Mapping[str, str],
    ) -> HttpAnswer:
        self.calls.append((method, url, body, headers))
        given = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if given is None:
            raise Unavailable("no answer")
        status, told, *more = given
        return HttpAnswer(status, more[0] if more else {}, json.dumps(told).encode())


@dataclass(frozen=True)
class _Client:
    platform: Platform
    url: str

    def post(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        return self.platform.answer("POST", self.url, json.loads(body), headers)

    def patch(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        return self.platform.answer("PATCH", self.url, json.loads(body), headers)

    def get(self, query: str, headers: Mapping[str, str]) -> HttpAnswer:
        return self.platform.answer("GET", f"{self.url}?{query}", None, headers)


def lark_call(
    event_type: str, event: Mapping[str, Any], *, at_ms: int = NOW_MS, **header: Any
) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of an event that Lark encrypts and signs."""
    head = {
        "event_id": "ev-1",
        "event_type": event_type,
        "token": LARK["lark_token"],
        "tenant_key": "T1",
        "app_id": LARK["lark_app_id"],
        **header,
    }
    return lark_signed({"schema": "2.0", "header": head, "event": event}, at_ms)


def lark_signed(call: Mapping[str, Any], at_ms: int = NOW_MS) -> tuple[dict[str, str], bytes]:
    """Return the signature headers and the encrypted body of *call*."""
    return signed(call, LARK["lark_encrypt_key"], at_ms // 1_000)
