"""Front of a local stack: one address for development tokens (under /dev), the page, and the API.

The front replaces API Gateway's address and the AWS issuer. It forwards API requests without
decoding their paths or parsing their bodies, so that invalid requests reach the API as sent.
"""

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpcore
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from local import places
from local.issuer import Issuer
from local.page import CONFIG, Page, limits, with_issuer
from local.ports import HOST
from local.serving import serve
from redpacket.platform.text import find_invisible

# Headers that a proxy must not forward (RFC 9110 §7.6.1), because they concern a single connection
# or the proxy sets them.
HOP_BY_HOP = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate"),
        *(b"proxy-authorization", b"te", b"trailer", b"transfer-encoding", b"upgrade", b"host"),
    }
)
# Maximum seconds that API Gateway waits for an integration.
ANSWER_TIMEOUT_S = 30.0
# The emulator closes idle connections after 75 s; the proxy must close them before that.
IDLE_TIMEOUT_S = 30.0
# If all processes of a function are busy, the emulator starts another one, which took 0.6 s in a
# test; 30 concurrent users waited 16 s for their responses. Queueing requests here for a few warm
# processes is faster, and resembles reserved concurrency.
IN_FLIGHT_MAX = 2 * (os.cpu_count() or 1)
TEXT_LENGTH_MAX = 256


class Proxy:
    """ASGI application that forwards every request to *port*, and returns the response.

    With *is_gateway*, the proxy adds the headers that API Gateway adds. Otherwise the client's host
    header stays, because a signature may cover it.
    """

    def __init__(
        self, port: int, prefix: str, in_flight_max: int = IN_FLIGHT_MAX, *, is_gateway: bool = True
    ) -> None:
        self._port = port
        self._prefix = prefix.encode()
        self._is_gateway = is_gateway
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=in_flight_max, keepalive_expiry=IDLE_TIMEOUT_S
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        assert scope["type"] == "http"
        body = await read_body(receive)
        try:
            answer = await self._pool.request(
                scope["method"],
                httpcore.URL(scheme=b"http", host=HOST.encode(), port=self._port, target=b"/"),
                headers=self._headers(scope, body),
                content=body,
                extensions={
                    "target": self._target(scope),
                    "timeout": {"connect": 5.0, "read": ANSWER_TIMEOUT_S},
                },
            )
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
            await _problem(503, "unavailable", "Unavailable", {"Retry-After": "1"})(
                scope, receive, send
            )
            return
        headers = [h for h in answer.headers if h[0].lower() not in HOP_BY_HOP]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.content})

    def _target(self, scope: Scope) -> bytes:
        query = scope["query_string"]
        return b"".join((self._prefix, scope["raw_path"], b"?" if query else b"", query))

    def _headers(self, scope: Scope, body: bytes) -> list[tuple[bytes, bytes]]:
        headers = [h for h in scope["headers"] if h[0] not in HOP_BY_HOP | {b"content-length"}]
        if body or scope["method"] not in {"GET", "HEAD", "OPTIONS"}:
            headers.append((b"content-length", b"%d" % len(body)))
        if not self._is_gateway:
            return [*(h for h in scope["headers"] if h[0] == b"host"), *headers]
        return [
            (b"host", b"%s:%d" % (HOST.encode(), self._port)),
            *headers,
            # API Gateway adds these three headers; the emulator does not.
            (b"x-forwarded-for", scope["client"][0].encode() if scope["client"] else b"unknown"),
            (b"x-forwarded-port", b"%d" % scope["server"][1]),
            (b"x-forwarded-proto", b"http"),
        ]


async def read_body(receive: Receive) -> bytes:
    """Read the whole body of a request."""
    chunks = []
    more = True
    while more:
        message = await receive()
        chunks.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(chunks)


def application(issuer: Issuer, proxy: ASGIApp) -> Starlette:
    """Return the front: the issuer's three routes, and *proxy* for all other routes."""

    async def tokens(request: Request) -> JSONResponse:
        wanted = _token_request(await request.body())
        if isinstance(wanted, str):
            return _problem(422, "invalid_request", "Invalid request", detail=wanted)
        return JSONResponse(asdict(issuer.token(**wanted)))

    async def configuration(_: Request) -> JSONResponse:
        return JSONResponse(issuer.configuration())

    async def jwks(_: Request) -> JSONResponse:
        return JSONResponse(issuer.jwks())

    async def http_problem(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        return _problem(error.status_code, "invalid_request", error.detail)

    app = Starlette(
        routes=[
            Route("/dev/tokens", tokens, methods=["POST"]),
            Route("/dev/.well-known/openid-configuration", configuration),
            Route("/dev/jwks.json", jwks),
        ],
        exception_handlers={HTTPException: http_problem},
    )
    app.router.redirect_slashes = False
    app.router.default = proxy
    return app


def _token_request(body: bytes) -> dict[str, Any] | str:
    """Return the arguments for a token, or an error message if *body* is invalid."""
    try:
        wanted = json.loads(body)
    except ValueError:
        return "the body is not JSON"
    if not isinstance(wanted, dict) or not wanted.get("sub"):
        return 'the body must be an object with a "sub"'
    for name, value in wanted.items():
        if name not in {"sub", "nickname", "scope"}:
            return f"unknown field {name!r}"
        if value is None and name != "sub":
            continue
        if not isinstance(value, str) or len(value) > TEXT_LENGTH_MAX or find_invisible(value):
            return f"{name!r} must be visible text of at most {TEXT_LENGTH_MAX} characters"
    return wanted


def _problem(
    status: int, code: str, title: str, headers: dict[str, str] | None = None, detail: str = ""
) -> JSONResponse:
    body = {
        "type": f"/problems/{code.replace('_', '-')}",
        "title": title,
        "status": status,
        "detail": detail or title,
        "code": code,
    }
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def main() -> None:
    """Serve the front until the process is stopped."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--bind", required=True)
    arguments.add_argument("--emulator-port", type=int, required=True)
    arguments.add_argument("--api-id", required=True)
    arguments.add_argument("--key", type=Path, required=True)
    arguments.add_argument("--config", type=json.loads, required=True, help="of this stack")
    given = arguments.parse_args()
    issuer = Issuer(given.key, issuer_url(given.port))
    proxy = Proxy(given.emulator_port, f"/_aws/execute-api/{given.api_id}/$default")
    config = CONFIG | given.config | {"limits": limits({})}
    page: ASGIApp = Page(places.PAGE, proxy, config)
    if own := config["auth"].get("issuer"):
        page = with_issuer(page, own)
    serve(application(issuer, page), given.port, host=given.bind, is_proxy=True)


def issuer_url(port: int) -> str:
    """Return the issuer URL in tokens from the front on *port*."""
    return f"http://{HOST}:{port}/dev"


if __name__ == "__main__":
    main()
