"""Packet element in third-party pages: plain, React, Vue, and a mini-program's web view."""

import gzip
import json
import mimetypes
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Route, expect

import redpacket
from local import places
from local.stack import Stack
from tests.browser.conftest import DESK, BrowserUser, MakePerson, Operator
from tests.conftest import EMBEDS

EXAMPLES = places.LOCAL / "examples"
NODE_BIN = places.LOCAL / "venv" / "node" / "bin"
ELEMENT_KB_MAX = 24
REFUSED = "http://localhost:5174"
SIGN_IN = re.compile("登录后领取|Sign in")
OPEN = re.compile("拆开红包|Open the red packet")

Visit = Callable[..., BrowserUser]


@pytest.fixture(scope="module")
def examples(stack: Stack) -> Path:
    """Build the example pages for the stack's API."""
    command = [str(NODE_BIN / "npm"), "run", "--silent", "examples"]
    path = f"{NODE_BIN}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        command,
        cwd=places.ROOT / "web",
        check=True,
        capture_output=True,
        env=os.environ | {"PATH": path, "VITE_PACKETS": stack.api},
    )
    return EXAMPLES


@pytest.fixture
def visit(a_person: MakePerson, operator: Operator, examples: Path) -> Visit:
    """Return a function that opens a host's page as a guest. The fixture serves the page."""

    def serve(route: Route) -> None:
        path = urlsplit(route.request.url).path.removeprefix("/")
        if path == "dev/tokens":
            sub = json.loads(route.request.post_data or "{}")["sub"]
            route.fulfill(json={"token": operator.token(sub)})
            return
        kind = mimetypes.guess_type(path)[0] or "text/plain"
        route.fulfill(body=(examples / path).read_bytes(), content_type=kind)

    def visit(page: str, packet_id: str, *, user: str = "", origin: str = EMBEDS) -> BrowserUser:
        guest = a_person(None, None)
        # A stubbed response has no address, so Chromium would ask for permission to reach this
        # machine.
        guest.context.grant_permissions(["local-network-access"])
        guest.page.route(f"{origin}/**", serve)
        guest.page.goto(f"{origin}/{page}.html?packet={packet_id}&user={user}")
        return guest

    return visit


@pytest.mark.parametrize("page", ["plain", "react", "vue", "web-view"])
def test_a_packet_opens_in_a_page_of_another_origin(
    visit: Visit, operator: Operator, page: str
) -> None:
    packet_id = operator.send(greeting="开业大吉", count=1)

    guest = visit(page, packet_id, user=f"guest-{page}")
    expect(guest.page.get_by_text("开业大吉")).to_be_visible()
    guest.page.get_by_role("button", name=SIGN_IN).click()
    coin = guest.page.get_by_role("button", name=OPEN)
    expect(coin).to_have_text("Open" if page == "plain" else "開")
    assert guest.audit() == []
    guest.shoot(f"element-{page}-closed")
    coin.click()

    expect(guest.page.locator("#message")).to_have_text(re.compile(r"claimed \d+ fen"))
    proof = guest.page.get_by_role("link", name=re.compile("验证公平|Check that it is fair"))
    expect(proof).to_have_attribute("href", f"{guest.api}/packets/{packet_id}/proof")
    assert guest.audit() == []
    guest.shoot(f"element-{page}")


def test_elements_in_two_languages_store_nothing_in_the_hosts_page(
    visit: Visit, operator: Operator
) -> None:
    guest = visit("plain", operator.send(count=1), user="polyglot")
    guest.page.get_by_role("button", name=SIGN_IN).click()
    coins = guest.page.get_by_role("button", name=OPEN)
    expect(coins).to_have_text(["Open"])

    guest.page.evaluate(
        """() => {
          const first = document.querySelector("red-packet");
          const other = first.cloneNode();
          other.language = "zh-CN";
          other.token = first.token;
          first.after(other);
        }"""
    )
    expect(coins).to_have_text(["Open", "開"])
    coins.first.click()
    expect(guest.page.locator("#message")).to_have_text(re.compile(r"claimed \d+ fen"))

    assert urlsplit(guest.page.url).netloc == urlsplit(EMBEDS).netloc
    kept = guest.page.evaluate("[{...localStorage}, {...sessionStorage}]")
    assert kept == [{}, {}]


def test_an_error_for_a_refused_origin_names_the_setting(visit: Visit, operator: Operator) -> None:
    packet_id = operator.send()

    guest = visit("plain", packet_id, origin=REFUSED)

    expect(guest.page.get_by_role("strong")).to_have_text("This page may not show red packets yet")

    # Our own message names the EMBED setting; Chromium's message does not.
    own = [text for text in guest.errors if text.startswith("red-packet: ")]
    guest.errors.clear()
    assert f"make up EMBED={REFUSED}" in own[0]


def test_the_host_page_receives_the_code_of_a_refusal(visit: Visit, operator: Operator) -> None:
    packet_id = operator.send(total_fen=100, count=1)
    guest = visit("plain", packet_id, user="late")
    guest.page.get_by_role("button", name=SIGN_IN).click()
    expect(guest.page.get_by_role("button", name=OPEN)).to_be_visible()

    operator.grab("early", packet_id)
    guest.page.get_by_role("button", name=OPEN).click()

    expect(guest.page.locator("#message")).to_have_text("refused packet_emptied")


def test_the_element_accepts_a_token_only_from_the_configured_origin(
    visit: Visit, operator: Operator
) -> None:
    packet_id = operator.send()
    guest = visit("plain", packet_id)
    token = operator.token("by-message")
    report = "([token, origin]) => window.dispatchEvent(new MessageEvent('message', "
    report += "{origin, data: {type: 'red-packet:token', token}}))"
    guest.page.evaluate(
        "document.querySelector('red-packet').setAttribute('token-origin', 'https://host.example')"
    )
    shown = guest.page.get_by_role("button", name=OPEN)

    guest.page.evaluate(report, [token, "https://thief.example"])
    guest.page.wait_for_timeout(300)
    expect(shown).to_have_count(0)
    guest.page.evaluate(report, [token, "https://host.example"])

    expect(shown).to_be_visible()
    guest.page.evaluate("window.flow = document.querySelector('red-packet').flow")
    renewed = operator.token("by-message") + "="  # The new token is for the same user.
    guest.page.evaluate(report, [renewed, "https://host.example"])
    guest.page.wait_for_timeout(300)
    kept = "document.querySelector('red-packet').token.endsWith('=') && "
    kept += "window.flow === document.querySelector('red-packet').flow"
    assert guest.page.evaluate(kept), "a renewed token interrupts nothing"


def test_a_packet_has_the_width_of_its_size_attribute(visit: Visit, operator: Operator) -> None:
    guest = visit("plain", operator.send(greeting="平安喜乐万事如意"), user="sized")
    guest.page.get_by_role("button", name=SIGN_IN).click()
    coin = guest.page.get_by_role("button", name=OPEN)
    expect(coin).to_be_visible()
    packet = guest.page.locator("red-packet")
    guest.page.set_viewport_size(DESK)
    for size, width in (("", 360), ("small", 288), ("full", 700)):
        packet.evaluate(
            "(element, size) => { element.setAttribute('size', size);"
            " element.parentElement.style.cssText = 'width: 700px; max-width: none'; }",
            size,
        )
        box, button = packet.bounding_box(), coin.bounding_box()
        assert box
        assert button
        assert box["width"] == width
        assert box["y"] < button["y"] < button["y"] + button["height"] < box["y"] + box["height"]
        guest.shoot(f"element-size-{size or 'default'}", full=False)


def test_the_element_is_one_small_file_served_under_its_version(stack: Stack) -> None:
    content = (places.PAGE / "red-packet.js").read_bytes()
    by_version = httpx.get(f"{stack.api}/red-packet@{redpacket.__version__}.js", trust_env=False)
    assert by_version.content == content
    assert by_version.headers["access-control-allow-origin"] == "*"

    assert len(gzip.compress(content, 9)) <= ELEMENT_KB_MAX * 1024
    assert re.findall(rb"""(?:from|import\()\s*["'][./]""", content) == []
