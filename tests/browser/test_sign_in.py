"""Sign-in at a real OpenID provider: code flow with PKCE, and the template's authorizer."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Page, Request, Response, expect

from local import places
from local.ports import HOST, Ports, is_open
from local.stack import Stack
from tests.browser.conftest import BrowserUser, MakePerson, Operator
from tests.browser.test_classic_packet import coin, state

NODE = places.LOCAL / "venv" / "node" / "bin" / "node"
PROVIDER = places.ROOT / "web" / "test" / "provider.js"
BRIEF_S = 12


@dataclass(frozen=True)
class Provider:
    """Running provider that the API trusts, and a page configured for the provider."""

    url: str
    page_url: str

    def welcome(self, person: BrowserUser, path: str) -> None:
        """Open *path* for *person* on the page that is configured for this provider."""
        person.api = self.page_url
        person.go(path)


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    """Run *command*, which listens on *port*."""
    quiet = subprocess.DEVNULL
    env = os.environ | {"PYTHONPATH": str(places.ROOT / "shared")}
    with subprocess.Popen(command, cwd=places.ROOT, env=env, stdout=quiet, stderr=quiet) as process:
        try:
            while not is_open(port):
                assert process.poll() is None, f"{command[1:3]} did not start"
                time.sleep(0.05)
            yield
        finally:
            process.terminate()


@contextmanager
def _provider(stack: Stack) -> Iterator[Provider]:
    """Start a provider, and configure it as the authorizer's issuer while the block runs."""
    port, page_port = Ports.free().front, Ports.free().front
    url, page_url = f"http://{HOST}:{port}", f"http://{HOST}:{page_port}"
    provider = [str(NODE), str(PROVIDER), str(port), page_url]
    page = [sys.executable, "-m", "tests.browser.deployed_page", str(page_port)]
    page += [str(stack.ports.emulator), stack.outputs["ApiId"], url]
    gateway, api_id = stack.aws("apigatewayv2"), stack.outputs["ApiId"]
    (authorizer,) = [
        each for each in gateway.get_authorizers(ApiId=api_id)["Items"] if each["Name"] == "users"
    ]
    place = {"ApiId": api_id, "AuthorizerId": authorizer["AuthorizerId"]}
    before = authorizer["JwtConfiguration"]
    with _running(provider, port), _running(page, page_port):
        gateway.update_authorizer(**place, JwtConfiguration={**before, "Issuer": url})
        try:
            yield Provider(url, page_url)
        finally:
            gateway.update_authorizer(**place, JwtConfiguration=before)


@pytest.fixture(scope="module")
def packet_id(operator: Operator) -> str:
    """Send a packet, and fund a sender, while the development issuer is still trusted."""
    operator.fund("brief", 1_000)
    return operator.send(total_fen=1_000, count=10)


@pytest.fixture(scope="module")
def provider(stack: Stack, packet_id: str) -> Iterator[Provider]:  # noqa: ARG001 - first the packet
    with _provider(stack) as running:
        yield running


def _log_in(page: Page, name: str) -> None:
    """Sign in at the provider, which accepts any password."""
    page.locator("[name=login]").fill(name)
    page.locator("[name=password]").fill("secret")
    page.get_by_role("button", name="Sign-in").click()


def _agree(page: Page) -> None:
    page.get_by_role("button", name="Continue").click()


def test_a_packet_opens_after_a_sign_in_at_the_provider(
    a_person: MakePerson, provider: Provider, packet_id: str
) -> None:
    ann = a_person(None, None)
    requests: list[Request] = []
    ann.page.on("request", lambda request: requests.extend([request]))
    provider.welcome(ann, f"/packets/{packet_id}?from=chat#top")
    state(ann.page, "signed_out").to_be_visible()

    ann.page.get_by_role("button", name="登录后领取").click()
    _log_in(ann.page, "ann")
    _agree(ann.page)

    # The browser is back at the link, signed in as the provider's user. The URL contains no
    # authorization code.
    state(ann.page, "ready").to_be_visible()
    assert ann.page.url == f"{ann.api}/packets/{packet_id}?from=chat#top"
    expect(ann.page.get_by_role("button", name="ann Lin")).to_be_visible()
    coin(ann.page).click()
    state(ann.page, "opened").to_be_visible()

    started = next(each for each in requests if "/auth?" in each.url)
    question = {name: values[0] for name, values in parse_qs(urlsplit(started.url).query).items()}
    assert question["response_type"] == "code"
    assert question["code_challenge_method"] == "S256"
    (exchange,) = [
        each for each in requests if each.url.endswith("/token") and each.method == "POST"
    ]
    grant = parse_qs(exchange.post_data or "")
    assert grant["code_verifier"][0] not in started.url
    kept = ann.page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert "eyJ" not in kept  # No token is stored.

    # A reload deletes the token; the provider remembers the user and shows no form.
    ann.page.reload()
    ann.page.get_by_role("button", name="登录后领取").click()
    state(ann.page, "opened").to_be_visible()
    assert json.loads(kept)[0].get("redpacket.sign-in") is None


def test_denied_consent_is_reported_and_can_be_given_later(
    a_person: MakePerson, provider: Provider
) -> None:
    ben = a_person(None, None)
    provider.welcome(ben, "/send")

    ben.page.get_by_role("button", name="登录", exact=True).click()
    _log_in(ben.page, "ben")
    ben.page.get_by_role("link", name="Cancel").click()

    expect(ben.page.get_by_text("你取消了登录")).to_be_visible()
    assert ben.page.url == f"{ben.api}/send"
    ben.shoot("sign-in-denied")
    assert ben.audit() == []
    ben.page.get_by_role("button", name="登录", exact=True).click()
    # The provider has a session for the user, and asks only for consent.
    _agree(ben.page)
    expect(ben.page.get_by_role("heading", name="发红包")).to_be_visible()
    expect(ben.page.get_by_text("你取消了登录")).to_have_count(0)


def test_going_back_from_and_to_the_provider_breaks_nothing(
    a_person: MakePerson, provider: Provider, packet_id: str
) -> None:
    cat = a_person(None, None)
    provider.welcome(cat, f"/packets/{packet_id}")

    # Going back before the sign-in shows the packet, and the sign-in can start again.
    cat.page.get_by_role("button", name="登录后领取").click()
    expect(cat.page.locator("[name=login]")).to_be_visible()
    cat.page.go_back()
    cat.page.get_by_role("button", name="登录后领取").click()
    _log_in(cat.page, "cat")
    _agree(cat.page)
    state(cat.page, "ready").to_be_visible()

    # Going back after the sign-in shows the provider's form. Going forward shows the packet, signed
    # in or with the sign-in button.
    cat.page.go_back()
    cat.page.go_forward()
    signed_in = cat.page.get_by_role("button", name="cat Lin")
    again = cat.page.get_by_role("button", name="登录后领取")
    expect(signed_in.or_(again)).to_be_visible()
    if again.is_visible():
        again.click()
    state(cat.page, "ready").to_be_visible()


def test_an_answer_to_another_sign_in_request_is_refused(
    a_person: MakePerson, provider: Provider
) -> None:
    dan = a_person(None, None)
    provider.welcome(dan, "/send")
    dan.page.get_by_role("button", name="登录", exact=True).click()
    expect(dan.page.locator("[name=login]")).to_be_visible()

    dan.go("/signed-in?code=somebody-elses&state=forged")

    expect(dan.page.get_by_text("登录没有成功，请再试一次")).to_be_visible()
    expect(dan.page.get_by_role("button", name="登录", exact=True)).to_be_visible()


def test_an_expired_session_is_reported_and_continues_on_the_same_page(
    a_person: MakePerson, provider: Provider
) -> None:
    eve = a_person(None, None)
    provider.welcome(eve, "/")
    eve.page.get_by_role("button", name="登录", exact=True).click()
    _log_in(eve.page, "brief")
    _agree(eve.page)
    expired = eve.page.get_by_text("登录已过期，请重新登录")
    tab = eve.page.get_by_role("tab", name="零钱明细")
    expect(tab.or_(expired)).to_be_visible()
    eve.page.wait_for_timeout(BRIEF_S * 1000)
    if tab.is_visible():
        tab.click()

    expect(expired).to_be_visible()
    eve.shoot("sign-in-expired")
    # The provider remembers the user.
    eve.page.get_by_role("button", name="登录", exact=True).click()
    expect(eve.page.get_by_role("button", name="brief Lin")).to_be_visible()


@pytest.mark.device("session-ends", "send")
def test_a_session_that_ends_before_a_send_sends_once_after_the_next_sign_in(
    a_person: MakePerson, provider: Provider
) -> None:
    fay = a_person(None, None)
    provider.welcome(fay, "/send")
    fay.page.get_by_role("button", name="登录", exact=True).click()
    _log_in(fay.page, "brief")
    _agree(fay.page)
    fay.page.locator("[name=amount]").fill("8.00")
    fay.page.locator("[name=count]").fill("2")
    answers: list[int] = []

    def note(answer: Response) -> None:
        if answer.request.method == "POST" and answer.url.endswith("/packets"):
            answers.append(answer.status)

    fay.page.on("response", note)
    fay.page.wait_for_timeout(BRIEF_S * 1000)

    fay.agree()
    expect(fay.page.get_by_text("登录已过期，请重新登录")).to_be_visible()
    fay.page.get_by_role("button", name="登录", exact=True).click()

    # The provider remembers the user, and the page repeats the send.
    fay.page.wait_for_url("**/share")
    fay.shoot("device-session-ends-send")
    assert answers == [httpx.codes.UNAUTHORIZED, httpx.codes.CREATED]
    fay.page.locator("a.brand").click()
    expect(fay.page.locator(".balance")).to_have_text("¥2.00")
