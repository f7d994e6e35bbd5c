"""Serve the page as `make deploy ONLY=page` configures it for an issuer of another origin.

python -m tests.browser.deployed_page PORT EMULATOR_PORT API_ID ISSUER
"""

import sys

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from local import places
from local.front import Proxy
from local.page import Page
from local.ports import HOST
from local.publish import configuration


def main() -> None:
    """Serve until told to stop."""
    port, emulator_port, api_id, issuer = sys.argv[1:]
    config = configuration({}, {"JwtIssuer": issuer, "PageClientId": "page"}, "eu-central-1")
    proxy = Proxy(int(emulator_port), f"/_aws/execute-api/{api_id}/$default")
    page = _with_policy(Page(places.PAGE, proxy, config), issuer)
    uvicorn.run(
        page,
        host=HOST,
        port=int(port),
        log_level="critical",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )


def _with_policy(page: ASGIApp, issuer: str) -> ASGIApp:
    """Return *page* with the policy of template.yaml: the issuer may be connected to."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        async def report(message: Message) -> None:
            if message["type"] == "http.response.start":
                here, there = b"connect-src 'self'", f"connect-src 'self' {issuer}".encode()
                headers = [(name, text.replace(here, there)) for name, text in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        await page(scope, receive, report)

    return application


if __name__ == "__main__":
    main()
