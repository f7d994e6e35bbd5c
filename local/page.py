"""Page on the API's origin, as CloudFront serves it: files, paths, and the API under /api.

Unlike on CloudFront, the API is also at the root, so a path like /packets/{id} names both a page
and an API resource. A browser that navigates there (accepting HTML, without a token) gets the page.
"""

import gzip
import json
import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local.gateways.setups import setups
from local.template import read_template

API_PREFIX: Final = "/api"
CONFIG_PATH: Final = "/config.json"
INDEX: Final = "/index.html"
OPERATOR_PREFIX: Final = "/operator"
OPERATOR_INDEX: Final = "/operator.html"
DOCUMENTS: Final = (INDEX, OPERATOR_INDEX)
DEVELOPMENT_PREFIX: Final = "/dev/"

AVATAR_HOSTS: Final = (
    "thirdwx.qlogo.cn",
    "example.com",
    "example.org",
    "*.example.com",
    "*.example",
)
COVER_HOSTS: Final = ("*.example.com", "covers.example")
CONFIG: Final = {
    "api": API_PREFIX,
    "auth": {"kind": "dev", "tokens_url": "/dev/tokens"},
    "cover_hosts": COVER_HOSTS,
    "channels": tuple(setups()),
}
_PICTURES: Final = " ".join(f"https://{host}" for host in (*COVER_HOSTS, *AVATAR_HOSTS))
_SCRIPTS: Final = " ".join(script for each in setups().values() for script in each.scripts)
_POLICIES: Final = " ".join(policy for each in setups().values() for policy in each.policies)

SECURITY_HEADERS: Final = {
    # The policy in template.yaml also allows connections to the issuer's host.
    "content-security-policy": f"default-src 'none'; script-src 'self' {_SCRIPTS}; "
    f"style-src 'self'; img-src 'self' blob: data: {_PICTURES}; connect-src 'self'; "
    "manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-src 'self'; frame-ancestors 'self'; "
    f"require-trusted-types-for 'script'; trusted-types lit-html {_POLICIES}",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "permissions-policy": "camera=(), geolocation=(), payment=(), microphone=(self)",
    "cross-origin-opener-policy": "same-origin",
}
FOREVER: Final = "public, max-age=31536000, immutable"
ASK_AGAIN: Final = "no-cache"
_PACKET_TEST: Final = re.compile(r"/\^(\S+)\$/\.test\(path\) && !request\.headers\[")
# Modules for third-party pages: the custom element, its versioned copies, and its languages.
_ELEMENT: Final = re.compile(r"/red-packet(@[\d.]+|\.[\w-]+)?\.js")


@dataclass(frozen=True, slots=True)
class File:
    """File of the page with its headers, plain and compressed."""

    content: bytes
    packed: bytes
    headers: dict[str, str]

    @classmethod
    def of(cls, path: str, content: bytes) -> "File":
        """Return *content* in the form in which CloudFront serves it at *path*."""
        kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
        is_text = kind.startswith("text/") or kind == "application/json"
        headers = {
            **SECURITY_HEADERS,
            "content-type": f"{kind}; charset=utf-8" if is_text else kind,
            # Names under assets/ contain a hash of the content.
            "cache-control": FOREVER if path.startswith("/assets/") else ASK_AGAIN,
            "vary": "accept-encoding",
        }
        if path == CONFIG_PATH or _ELEMENT.fullmatch(path):
            headers["access-control-allow-origin"] = "*"
        return cls(content, gzip.compress(content, mtime=0), headers)

    def response(self, headers: Headers) -> Response:
        """Return the file in an encoding that the request *headers* accept."""
        if "gzip" not in headers.get("accept-encoding", ""):
            return Response(self.content, headers=self.headers)
        return Response(self.packed, headers=self.headers | {"content-encoding": "gzip"})


def _document(path: str) -> str:
    """Return the document for *path*: the operators' console or the users' page."""
    is_operators = path == OPERATOR_PREFIX or path.startswith(f"{OPERATOR_PREFIX}/")
    return OPERATOR_INDEX if is_operators else INDEX


@cache
def _packet_path() -> re.Pattern[str]:
    """Return the pattern for packet paths, from the CloudFront function in template.yaml."""
    code = read_template()["Resources"]["PagePaths"]["Properties"]["FunctionCode"][0]
    (form,) = _PACKET_TEST.findall(code)
    return re.compile(form)


def _is_crawler(scope: Scope) -> bool:
    """Return whether a chat app's crawler requests a packet.

    Unlike CloudFront's function, this rule also requires `text/html` in Accept and no token,
    because the API has the same paths on this server.
    """
    headers = Headers(scope=scope)
    return (
        _packet_path().fullmatch(scope["path"]) is not None
        and "text/html" in headers.get("accept", "")
        and not {"authorization", "sec-fetch-mode"} & set(headers)
        and scope["query_string"] != b"page"
    )


def with_issuer(page: ASGIApp, issuer: str) -> ASGIApp:
    """Return *page* with a policy that allows connections to *issuer*, as in template.yaml."""
    address = urlsplit(issuer)
    there = f"connect-src 'self' {address.scheme}://{address.netloc}".encode()

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        async def report(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (n, v.replace(b"connect-src 'self'", there)) for n, v in message["headers"]
                ]
                message = {**message, "headers": headers}
            await send(message)

        await page(scope, receive, report)

    return application


def limits(parameters: Mapping[str, str]) -> dict[str, int]:
    """Return the page's limits in fen; template.yaml has the defaults."""
    # Import lazily, because proxies that import this module run without the package `redpacket`.
    from redpacket.payments.model.withdrawals import WITHDRAWAL_FEN_MIN

    names = {
        "share_fen_max": "ShareFenMax",
        "withdrawal_fen_max": "WithdrawalFenMax",
        "withdrawal_fen_per_day": "WithdrawalFenPerDay",
    }
    told = {key: int(_parameter(name, parameters)) for key, name in names.items()}
    return told | {"withdrawal_fen_min": WITHDRAWAL_FEN_MIN}


def unit(parameters: Mapping[str, str]) -> dict[str, str | int]:
    """Return the page's unit of account; template.yaml has the default."""
    names = {"name": "UnitName", "symbol": "UnitSymbol", "decimals": "UnitDecimals"}
    told = {key: _parameter(name, parameters) for key, name in names.items()}
    return {**told, "decimals": int(told["decimals"])}


def _parameter(name: str, parameters: Mapping[str, str]) -> str:
    return str(parameters.get(name, read_template()["Parameters"][name]["Default"]))


class Page:
    """ASGI application that serves the page in *folder*, and forwards other requests to *api*.

    *config* is the content of /config.json. The application reads files on every request, so it
    serves a rebuilt page immediately.
    """

    def __init__(self, folder: Path, api: ASGIApp, config: Mapping[str, object] = CONFIG) -> None:
        self._folder = folder.resolve()
        self._config = config
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        path: str = scope["path"]
        if path.startswith(f"{API_PREFIX}/"):
            raw = scope["raw_path"].removeprefix(API_PREFIX.encode())
            scope = {**scope, "path": path.removeprefix(API_PREFIX), "raw_path": raw}
        elif _is_crawler(scope):
            preview = f"{API_PREFIX}{path}/preview"
            headers = {"cache-control": "no-store"}
            await RedirectResponse(preview, 302, headers)(scope, receive, send)
            return
        elif file := self._file(scope):
            await file.response(Headers(scope=scope))(scope, receive, send)
            return
        await self._api(scope, receive, send)

    def _file(self, scope: Scope) -> File | None:
        path: str = scope["path"]
        if scope["method"] not in {"GET", "HEAD"} or path.startswith(DEVELOPMENT_PREFIX):
            return None
        if path == CONFIG_PATH:
            return File.of(path, json.dumps(self._config).encode())
        headers = Headers(scope=scope)
        is_visit = "text/html" in headers.get("accept", "") and "authorization" not in headers
        return self._read(path) or (
            self._read(_document(path)) if is_visit or path == "/" else None
        )

    def _read(self, path: str) -> File | None:
        try:
            file = (self._folder / path.lstrip("/")).resolve()
            is_ours = file.is_relative_to(self._folder) and file.is_file()
        except (OSError, ValueError):  # The path is not a valid file name.
            return None
        return File.of(path, file.read_bytes()) if is_ours else None
