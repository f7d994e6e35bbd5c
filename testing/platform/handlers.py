"""In-memory HTTP client that calls the Lambda handlers without a server."""

import base64
import json
import re
import runpy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote

import httpx

from local.packet_ids import PUBLISHED_KEYS
from local.places import ROOT
from local.template import read_template
from local.user_ids import PUBLISHED_KEY
from redpacket.containers import containers
from redpacket.operations.use_cases.cached_switches import CachedSwitches
from redpacket.packets.api.packet_ids import packet_ids
from redpacket.platform.http.api import Api
from redpacket.platform.http.request import user_ids
from redpacket.platform.settings import settings
from testing.fakes import FakeSwitchStore
from testing.in_memory_system import VARIABLES, InMemorySystem

APPROVAL_FEN = read_template()["Parameters"]["ApprovalFen"]["Default"]
"""Default sums that operators may move without approval."""

_VARIABLES = {
    **VARIABLES,
    # Use the default on AWS. Local stacks raise the limits, so that commands need no approval.
    "APPROVAL_FEN": APPROVAL_FEN,
    "PACKET_ID_KEYS": PUBLISHED_KEYS,
    "USER_ID_KEY": PUBLISHED_KEY,
    "SHARE_BASE_URL": "https://share.example",
    "SHARE_FEN_MAX": "20000",
    "AVATAR_HOSTS": "images.example,a.example",
    "COVER_HOSTS": "images.example",
}


@cache
def handlers() -> dict[str, Any]:
    """Return the handlers of all functions, keyed by folder name."""
    return {
        path.parent.name: runpy.run_path(str(path))["handler"]
        for path in sorted((ROOT / "functions").glob("*/app.py"))
    }


@cache
def _routes() -> list[tuple[str, re.Pattern[str], Api]]:
    return [
        (key, re.compile(_pattern_of(key)), handler)
        for handler in handlers().values()
        if isinstance(handler, Api)
        for key in handler.operations
    ]


def _pattern_of(key: str) -> str:
    greedy = re.sub(r"{(\w+)\+}", r"(?P<\1>.+)", key)
    return re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", greedy)


class Context:
    """Context of an invocation that has most of its time left."""

    @staticmethod
    def get_remaining_time_in_millis() -> int:
        return 50_000


@contextmanager
def handlers_of(system: InMemorySystem, **variables: str) -> Iterator[None]:
    """Run all handlers of this process on *system*; *variables* replace the defaults."""
    store = FakeSwitchStore()
    switches = CachedSwitches(store=store, copy=None, clock=system.clock, logger=system.logger)
    process = system.process(
        settings=settings,
        switches=switches,
        stored_switches=switches,
        switch_store=store,
    )
    with patch.object(settings, "variables", _VARIABLES | variables):
        # Imports of handlers may have built containers.
        vars(containers).clear()
        vars(containers).update(vars(process.containers))
        try:
            yield
        finally:
            vars(containers).clear()
            packet_ids.cache_clear()
            user_ids.cache_clear()


class HandlerTransport(httpx.BaseTransport):
    """Transport that calls each request's handler, as API Gateway does for a token with
    *claims*.
    """

    def __init__(self, claims: Mapping[str, str]) -> None:
        self._claims = claims

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        raw_path, _, query = request.url.raw_path.decode().partition("?")
        called = f"{request.method} {raw_path}"
        fitting = (
            (key, handler, matched)
            for key, pattern, handler in _routes()
            if (matched := pattern.fullmatch(called))
        )
        key, handler, matched = next(fitting)
        event: dict[str, Any] = {
            "routeKey": key,
            "pathParameters": {name: unquote(text) for name, text in matched.groupdict().items()},
            "queryStringParameters": _query(query),
            "headers": dict(request.headers),
            "requestContext": {"requestId": "r", "authorizer": {"jwt": {"claims": self._claims}}},
            **_body(request.read()),
        }
        answer = handler(json.loads(json.dumps(event)), Context())
        content = answer["body"].encode()
        if answer.get("isBase64Encoded"):
            content = base64.b64decode(content)
        return httpx.Response(answer["statusCode"], headers=answer["headers"], content=content)


def _query(text: str) -> dict[str, str]:
    """Return the parameters as API Gateway passes them: it joins repeated ones with commas."""
    query: dict[str, str] = {}
    for part in filter(None, text.split("&")):
        name, _, value = (unquote(word.replace("+", " ")) for word in part.partition("="))
        query[name] = f"{query[name]},{value}" if name in query else value
    return query


def _body(content: bytes) -> dict[str, Any]:
    if not content:
        return {}
    try:
        return {"body": content.decode()}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(content).decode(), "isBase64Encoded": True}
