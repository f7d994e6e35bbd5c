"""The packet in other people's pages: plain, React and Vue."""

import gzip
import mimetypes
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Route, expect

from local import places
from tests.browser.conftest import MakePerson, Operator, Person

EXAMPLES = places.LOCAL / "examples"
NODE_BIN = places.LOCAL / "venv" / "node" / "bin"
ELEMENT_KB_MAX = 20


@pytest.fixture(scope="module")
def examples() -> Path:
    """Build the example pages, as their own bundlers would."""
    command = [str(NODE_BIN / "npm"), "run", "--silent", "examples"]
    path = f"{NODE_BIN}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        command,
        cwd=places.ROOT / "web",
        check=True,
        capture_output=True,
        env=os.environ | {"PATH": path},
    )
    return EXAMPLES


def _host(person: Person, examples: Path) -> None:
    """Serve the example pages beside the API, as a host's own server would."""

    def serve(route: Route) -> None:
        path = urlsplit(route.request.url).path.removeprefix("/examples/")
        kind = mimetypes.guess_type(path)[0] or "text/plain"
        route.fulfill(body=(examples / path).read_bytes(), content_type=kind)

    person.page.route("**/examples/**", serve)


@pytest.mark.parametrize("framework", ["plain", "react", "vue"])
def test_a_packet_opens_in_a_page_of_another_kind(
    a_person: MakePerson, operator: Operator, examples: Path, framework: str
) -> None:
    packet_id = operator.send(greeting="开业大吉")
    guest = a_person(None, None)
    _host(guest, examples)

    guest.go(f"/examples/{framework}.html?packet={packet_id}&user=guest-{framework}")
    expect(guest.page.get_by_text("开业大吉")).to_be_visible()
    guest.page.get_by_role("button", name="登录后领取").click()
    guest.page.get_by_role("button", name="拆开红包").click()

    expect(guest.page.locator("#told")).to_have_text(re.compile(r"claimed \d+ fen"))
    assert guest.audit() == []
    guest.shoot(f"element-{framework}")


def test_a_host_gets_the_code_of_a_refusal(
    a_person: MakePerson, operator: Operator, examples: Path
) -> None:
    packet_id = operator.send(total_fen=100, count=1)
    guest = a_person(None, None)
    _host(guest, examples)
    guest.go(f"/examples/plain.html?packet={packet_id}&user=late")
    guest.page.get_by_role("button", name="登录后领取").click()
    expect(guest.page.get_by_role("button", name="拆开红包")).to_be_visible()

    operator.grab("early", packet_id)
    guest.page.get_by_role("button", name="拆开红包").click()

    expect(guest.page.locator("#told")).to_have_text("refused packet_emptied")


def test_a_token_comes_by_message_from_the_named_origin_only(
    a_person: MakePerson, operator: Operator, examples: Path
) -> None:
    packet_id = operator.send()
    guest = a_person(None, None)
    _host(guest, examples)
    guest.go(f"/examples/plain.html?packet={packet_id}")
    token = operator.token("by-message")
    tell = "([token, origin]) => window.dispatchEvent(new MessageEvent('message', "
    tell += "{origin, data: {type: 'red-packet:token', token}}))"
    guest.page.evaluate(
        "document.querySelector('red-packet').setAttribute('token-origin', 'https://host.example')"
    )
    shown = guest.page.get_by_role("button", name="拆开红包")

    guest.page.evaluate(tell, [token, "https://thief.example"])
    guest.page.wait_for_timeout(300)
    expect(shown).to_have_count(0)
    guest.page.evaluate(tell, [token, "https://host.example"])

    expect(shown).to_be_visible()
    guest.page.evaluate("window.flow = document.querySelector('red-packet').flow")
    renewed = operator.token("by-message") + "="  # of the same user
    guest.page.evaluate(tell, [renewed, "https://host.example"])
    guest.page.wait_for_timeout(300)
    kept = "document.querySelector('red-packet').token.endsWith('=') && "
    kept += "window.flow === document.querySelector('red-packet').flow"
    assert guest.page.evaluate(kept), "a renewed token interrupts nothing"


def test_the_element_is_one_small_file() -> None:
    content = (places.PAGE / "red-packet.js").read_bytes()

    assert len(gzip.compress(content, 9)) <= ELEMENT_KB_MAX * 1024
    assert re.findall(rb"""(?:from|import\()\s*["'][./]""", content) == []
