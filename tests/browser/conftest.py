"""Fixtures: users in Chromium, and an API client that prepares data on the deployed local stack."""

import os
import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Literal

import httpx
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from local import places
from local.client import NO_TLS
from local.deploy import STACK_NAME
from local.stack import Stack
from redpacket.platform.telemetry import OUTCOME_COUNT

SHOTS = places.LOCAL / "screenshots"
AXE = places.ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
PACKAGES = ("chromium", "fonts-noto-cjk", "fonts-noto-color-emoji")
PHONE: ViewportSize = {"width": 390, "height": 844}
# WCAG 2.5.5: minimum size of a touch target.
FINGER_PX = 44
# WCAG 1.4.10: content must fit a width of 320 px.
NARROW: ViewportSize = {"width": 320, "height": 640}
DESK: ViewportSize = {"width": 1280, "height": 800}
VIEWS: dict[str, tuple[tuple[str, ViewportSize, Literal["light", "dark"]], ...]] = {
    "zh-CN": (("phone", NARROW, "light"), ("desk", DESK, "dark")),
    "en": (("phone", NARROW, "dark"), ("desk", DESK, "light")),
}
"""Views to check, keyed by language. The views cover all pairs of languages, screens and color
schemes.
"""

OUTCOMES = {"packet_emptied": 4_321, "rate_limited": 12, "visited": 8_000, "tried": 6_000}
"""Outcome counts that the tests write to CloudWatch. Here, the stack's own counts stay in logs."""

# On a busy machine, cold functions may return 503 several times before they succeed.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


def chromium() -> str | None:
    """Return the path of this machine's Chromium."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def _install() -> None:
    """Install Debian's Chromium with Chinese and emoji fonts, if this process runs as root."""
    if os.geteuid() or not shutil.which("apt-get"):
        return
    for command in (
        ["apt-get", "update", "-qq"],
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES],
    ):
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Yield Chromium; if it or the built page is missing, skip the tests, or fail them in CI."""
    if chromium() is None:
        _install()
    path = chromium()
    if path is None or not places.PAGE.exists():
        reason = "Chromium is missing" if path is None else "the page isn't built: make page"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(f"NO BROWSER TESTS: {reason}")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


class BrowserUser:
    """User with a phone, and the page that the phone shows."""

    def __init__(self, page: Page, context: BrowserContext, api: str, name: str) -> None:
        self.page = page
        self.context = context
        self.api = api
        self.name = name
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._note)

    def _note(self, message: Any) -> None:
        # A refusal is a valid answer, but Chromium logs it as an error.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def go(self, path: str) -> None:
        self.page.goto(self.api + path)

    def agree(self, way: str = "塞钱进红包") -> None:
        """Tap the button whose name starts with *way*, and confirm on the sheet that opens."""
        self.page.get_by_role("button", name=re.compile(f"^{way}")).click()
        self.page.get_by_role("dialog").get_by_role("button", name="确认").click()

    def shoot(self, name: str, *, full: bool = True, is_moving: bool = False) -> None:
        """Save a screenshot in .local/screenshots."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(
            path=SHOTS / f"{name}.png",
            full_page=full,
            animations="allow" if is_moving else "disabled",
        )

    def audit(self, *, is_strict: bool = False) -> list[str]:
        """Return axe's serious and critical findings, or all findings if *is_strict*."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        results = self.page.evaluate("axe.run({resultTypes: ['violations']})")
        return [
            f"{violation['id']}: {node['target']}"
            for violation in results["violations"]
            if is_strict or violation["impact"] in {"serious", "critical"}
            for node in violation["nodes"]
        ]

    def audit_views(self, name: str, *, is_strict: bool = False) -> None:
        """Assert that axe and size checks find nothing in any of VIEWS, and save screenshots."""
        before = self.page.viewport_size or PHONE
        spoken = self.page.locator("html").get_attribute("lang") or "zh-CN"
        measured: dict[str, Any] = {}
        for language, views in VIEWS.items():
            self.speak(language)
            for size, viewport, scheme in views:
                self.page.set_viewport_size(viewport)
                self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
                view = f"{name}-{language[:2]}-{size}-{scheme}"
                found = self.audit(is_strict=is_strict) + self.small_buttons()
                measured[view] = (found, self.overflow_px())
                self.shoot(view)
        self.page.set_viewport_size(before)
        self.speak(spoken)
        assert {view: told for view, told in measured.items() if told != ([], 0)} == {}

    def speak(self, language: str) -> None:
        """Choose *language*, even if the wall covers the language menu."""
        self.page.locator(".tongue").select_option(language, force=True)

    def small_buttons(self) -> list[str]:
        """Return the main buttons that are too low for a finger, with their heights."""
        texts: list[str] = self.page.locator(".primary, .secondary").evaluate_all(
            "(all, least) => all.map(each => [each.textContent.trim(), each.offsetHeight])"
            ".filter(([, height]) => height && height < least).map(String)",
            FINGER_PX,
        )
        return texts

    def overflow_px(self) -> int:
        """Return how much wider the page is than the screen, in pixels."""
        width: int = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        return width


MakePerson = Callable[..., BrowserUser]


class Operator:
    """Client for the API behind the page, with which tests prepare their data."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._clients: dict[str, httpx.Client] = {}

    def token(self, sub: str) -> str:
        """Return a token for the user *sub*."""
        return self._stack.token(sub)

    def as_user(self, sub: str, **claims: Any) -> httpx.Client:
        """Return an API client for the user *sub*."""
        if sub not in self._clients:
            token = self._stack.token(sub, **claims)
            headers = {"Authorization": f"Bearer {token}"}
            self._clients[sub] = httpx.Client(
                base_url=self._stack.api,
                headers=headers,
                timeout=30,
                trust_env=False,
                verify=NO_TLS,
            )
        return self._clients[sub]

    @property
    def http(self) -> httpx.Client:
        """Return an API client with an operator's scope."""
        return self.as_user("operator", nickname="Operator", scope="hongbao/admin")

    def fund(self, sub: str, amount_fen: int = 100_000) -> None:
        """Deposit money as the treasurer, because operators cannot credit themselves."""
        treasurer = self.as_user("treasurer", scope="hongbao/admin")
        self._post(treasurer, "/admin/deposits", {"user": sub, "amount_fen": amount_fen})

    def send(self, client: httpx.Client | None = None, **body: Any) -> str:
        """Send a packet, by default as the user "sender", and return its id."""
        if client is None:
            self.fund("sender")
            client = self.as_user("sender", nickname="妈妈")
        wanted = {"kind": "lucky", "total_fen": 1000, "count": 5, "greeting": "平安喜乐", **body}
        return str(self._post(client, "/packets", wanted)["packet_id"])

    def _post(self, client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post *body*, and retry while the answer is 503; the same key prevents a second effect."""
        key = {"Idempotency-Key": uuid.uuid4().hex}
        answer = client.post(path, json=body, headers=key)
        for _ in range(10):
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            time.sleep(1)
            answer = client.post(path, json=body, headers=key)
        assert answer.is_success, answer.text
        content: dict[str, Any] = answer.json()
        return content

    def grab(self, sub: str, packet_id: str, nickname: str | None = None) -> dict[str, Any]:
        """Grab a share as *sub*, and return the answer."""
        claims = {"nickname": nickname} if nickname else {}
        answer = self.as_user(sub, **claims).post(f"/packets/{packet_id}/grab", json={})
        content: dict[str, Any] = answer.json()
        return content

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()


@pytest.fixture(scope="session")
def operator(stack: Stack) -> Iterator[Operator]:
    made = Operator(stack)
    yield made
    made.close()


@pytest.fixture(scope="session")
def _outcomes(stack: Stack) -> None:
    """Write the outcome counts before a console is opened, because functions cache them for a
    minute.
    """
    for outcome, count in OUTCOMES.items():
        dimensions = [{"Name": "outcome", "Value": outcome}]
        metric = {"MetricName": OUTCOME_COUNT, "Value": count, "Dimensions": dimensions}
        stack.aws("cloudwatch").put_metric_data(Namespace=STACK_NAME, MetricData=[metric])


@pytest.fixture
def a_person(browser: Browser, stack: Stack, _outcomes: None) -> Iterator[MakePerson]:
    """Yield a factory of users with phones; the test fails if one of their pages logs an error."""
    made: list[BrowserUser] = []

    def make(name: str | None = "Bob", path: str | None = "/", **options: Any) -> BrowserUser:
        context = browser.new_context(
            **{"viewport": PHONE, "locale": "zh-CN", "reduced_motion": "reduce"} | options
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        if name:
            user = {"sub": name.lower(), "nickname": name}
            if scope := {"Operator": "hongbao/admin", "Auditor": "hongbao/audit"}.get(name):
                user["scope"] = scope
            page.add_init_script(
                "sessionStorage.getItem('redpacket.dev-user') ?? "
                f"sessionStorage.setItem('redpacket.dev-user', JSON.stringify({user!r}))"
            )
        person = BrowserUser(page, context, stack.api, name or "")
        made.append(person)
        if path is not None:
            person.go(path)
        return person

    yield make
    errors = [error for person in made for error in person.errors]
    for person in made:
        try:
            person.context.close()
        except Error:
            continue
    assert errors == []
