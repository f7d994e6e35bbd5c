"""Local front: the page's files and paths, and the API both at the root and under /api."""

from pathlib import Path

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from local.page import SECURITY_HEADERS, Page
from testing.builders import a_packet_id

HTML = {"accept": "text/html,*/*", "sec-fetch-mode": "navigate"}
INDEX = "<!doctype html>" + "x" * 200


async def _api(scope: Scope, receive: Receive, send: Send) -> None:
    told = f"API {Request(scope).url.path} {scope['raw_path'].decode()}"
    await PlainTextResponse(told)(scope, receive, send)


class Visitor:
    """Client that calls an ASGI application as if over HTTP."""

    def __init__(self, front: ASGIApp) -> None:
        self._transport = httpx.ASGITransport(front)

    def get(self, path: str, headers: dict[str, str] | None = None) -> httpx.Response:
        return self.ask("GET", path, headers)

    def ask(self, method: str, path: str, headers: dict[str, str] | None) -> httpx.Response:
        async def fetch() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://x") as client:
                return await client.request(method, path, headers=headers)

        # Use a separate thread, because Playwright runs an event loop in the tests' thread.
        with start_blocking_portal() as portal:
            return portal.call(fetch)


@pytest.fixture
def front(tmp_path: Path) -> Visitor:
    page = tmp_path / "dist"
    (page / "assets").mkdir(parents=True)
    (page / "index.html").write_text(INDEX)
    (page / "operator.html").write_text(f"{INDEX}console")
    (page / "assets" / "index-abc.js").write_text("1")
    for name in ("red-packet.js", "red-packet@1.2.3.js", "config.json"):
        (page / name).write_text("2")
    (tmp_path / "secret").write_text("no")
    return Visitor(Page(page, _api))


def _is_page(answer: httpx.Response) -> bool:
    return answer.text.startswith("<!doctype html>")


def test_a_visit_gets_the_page_at_every_path(front: Visitor) -> None:
    for path in ("/", "/send", "/packets/abc", "/campaigns/spring"):
        answer = front.get(path, headers=HTML)
        assert _is_page(answer)
        assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("shards", [1, 3])
def test_a_crawler_is_redirected_to_the_preview_of_a_packet_without_a_loop(
    front: Visitor, shards: int
) -> None:
    path = f"/packets/{a_packet_id(shards)}"
    crawler = {"accept": "text/html"}

    led = front.get(f"{path}?via=x", crawler)

    assert (led.status_code, led.headers["location"]) == (302, f"/api{path}/preview")
    assert _is_page(front.get(f"{path}?page", crawler))
    assert _is_page(front.get(f"{path}/share", crawler))
    assert not _is_page(front.get(path, {**crawler, "authorization": "Bearer x"}))


def test_a_visit_of_operators_gets_their_console(front: Visitor) -> None:
    for path in ("/operator", "/operator/campaigns/spring/winners"):
        answer = front.get(path, headers=HTML)
        assert answer.text.endswith("console")
        assert SECURITY_HEADERS.items() <= answer.headers.items()
        assert answer.headers["cache-control"] == "no-cache"
    assert front.get("/operators", headers=HTML).text == INDEX


def test_a_client_of_the_api_gets_the_api_at_the_same_path(front: Visitor) -> None:
    token = {"authorization": "Bearer x"}

    assert front.get("/packets/abc").text == "API /packets/abc /packets/abc"
    assert front.get("/packets/abc", headers=HTML | token).text.startswith("API")
    assert front.ask("POST", "/packets", HTML).text == "API /packets /packets"


def test_the_api_is_under_its_prefix_and_its_path_is_not_decoded(front: Visitor) -> None:
    answer = front.get("/api/packets/a%2Fb", headers=HTML)

    assert answer.text == "API /packets/a/b /packets/a%2Fb"


def test_every_file_carries_the_security_headers_and_assets_are_cached(front: Visitor) -> None:
    asset = front.get("/assets/index-abc.js")

    assert SECURITY_HEADERS.items() <= asset.headers.items()
    assert "immutable" in asset.headers["cache-control"]
    for name in ("red-packet.js", "red-packet@1.2.3.js"):
        assert front.get(f"/{name}").headers["access-control-allow-origin"] == "*"


def test_nothing_outside_the_page_is_served(front: Visitor) -> None:
    for path in ("/../secret", "/%2e%2e/secret", "/assets/..%2f..%2fsecret", "/assets/%00"):
        assert front.get(path).text.startswith("API")


def test_the_configuration_names_the_development_issuer(front: Visitor) -> None:
    told = front.get("/config.json").json()

    assert told["api"] == "/api"
    assert told["auth"] == {"kind": "dev", "tokens_url": "/dev/tokens"}
    for host in told["cover_hosts"]:
        assert f" https://{host}" in SECURITY_HEADERS["content-security-policy"]


def test_files_are_compressed_for_clients_that_accept_it(front: Visitor) -> None:
    packed = front.get("/", headers={"accept-encoding": "gzip"})
    plain = front.get("/", headers={"accept-encoding": "identity"})

    assert packed.headers["content-encoding"] == "gzip"
    assert packed.text == plain.text == INDEX
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"])


def test_without_a_built_page_all_paths_belong_to_the_api(tmp_path: Path) -> None:
    front = Visitor(Page(tmp_path / "none", _api))

    assert front.get("/send", HTML).text.startswith("API")
