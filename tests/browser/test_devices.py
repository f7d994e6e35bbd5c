"""Main tasks on hostile devices: the API stores what users intended, and the page confirms it."""

import re
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from local.stack import Stack
from tests.browser.conftest import (
    PATIENCE_MS,
    PHONE,
    SHOTS,
    BrowserUser,
    MakePerson,
    Operator,
    chromium,
)
from tests.browser.devices import DEVICES, HOUR_MS, MINUTE_MS, Device
from tests.browser.test_campaigns import plan, put_prize
from tests.browser.test_classic_packet import balance_fen, coin, state

PRIZE = "明前龙井"
SHANGHAI_H = 8
LOOK_MS = 200
MOVING = """[document, document.querySelector("red-packet").shadowRoot].flatMap(
    (root) => root.getAnimations().filter(({ playState }) => playState === "running")
).map(({ animationName }) => animationName ?? "transition")"""
"""Script that returns the names of running animations."""
NOTE_THE_RETURN = """
sessionStorage.setItem("redpacket.dev-user", JSON.stringify({ sub: "slower", nickname: "慢慢" }));
addEventListener("pageshow", ({ persisted }) => (window.isBack = persisted));
"""
"""Script that signs in, and records whether the back-forward cache restored the page."""
ALL_JOBS = ("open", "send", "rain", "draw", "wallet", "create", "deposit", "approve")
SOME_JOBS = {
    "module-fails-once": ("send", "draw", "create"),
    "zh-TW": ("open",),
    "unknown-language": ("draw",),
    "large-fonts-320px": ("open", "send", "wallet"),
    "slow-phone": ("open", "send"),
    "reduced-motion": ("draw",),
    "right-to-left-name": ("open",),
    "joined-emoji-name": ("open", "send"),
}
"""Tasks per device, for the devices in MATRIX that run only some tasks."""
WITH_ALL_JOBS = (
    "storage-throws",
    "storage-null",
    "clock-2h-fast",
    "clock-10min-slow",
    "decimal-comma",
)
MATRIX = [(name, job) for name in WITH_ALL_JOBS for job in ALL_JOBS] + [
    (name, job) for name, jobs in SOME_JOBS.items() for job in jobs
]


@dataclass(frozen=True, slots=True)
class Games:
    """Campaigns that all devices use: a rain, and a lottery in which every user wins."""

    rain: str
    lottery: str


@pytest.fixture(scope="module")
def games(operator: Operator) -> Games:
    """Plan campaigns that a wrong clock would misjudge: both have begun and end within an hour."""
    operator.fund("operator")
    ago_ms = -5 * MINUTE_MS
    rules = {"title": "红包雨", "budget_fen": 10_000, "quota_per_user": 1}
    rain = plan(operator, starts_in_ms=ago_ms, **rules)
    operator.send(operator.http, campaign_id=rain, total_fen=10_000, count=100)
    lottery = plan(operator, starts_in_ms=ago_ms, miss_weight=0)
    put_prize(operator, lottery, "tea", title=PRIZE)
    return Games(rain, lottery)


class Phone:
    """User of a hostile device, with an API client that checks the results."""

    def __init__(
        self, device: Device, make: MakePerson, operator: Operator, stack: Stack, games: Games
    ) -> None:
        self.device = device
        self.operator = operator
        self.stack = stack
        self.games = games
        self.sub = f"{device.name.lower()}-{uuid.uuid4().hex[:6]}"
        self._make = make
        self.person: BrowserUser

    def pick_up(self, *, is_operator: bool = False) -> None:
        """Open the device's browser. If the device remembers its user, the user is signed in."""
        device = self.device
        self.person = self._make(None, None, **{"locale": "zh-CN", **device.options})
        page = self.person.page
        device.prepare(self.person.context, page)
        if device.script:
            page.add_init_script(device.script)
        if device.remembers:
            page.add_init_script(self._remembered(is_operator=is_operator))

    def _remembered(self, *, is_operator: bool = False) -> str:
        """Return a script that makes a tab look as if its user had signed in before."""
        user = {"sub": self.sub, "nickname": self.device.nickname}
        if is_operator:
            user = {"sub": "operator", "nickname": "Operator", "scope": "hongbao/admin"}
        return f"sessionStorage.setItem('redpacket.dev-user', JSON.stringify({user!r}))"

    def visit(self, path: str, seen: str, *, is_operator: bool = False) -> Locator:
        """Open the page at *path*, sign in if required, and return the first match of *seen*."""
        self.pick_up(is_operator=is_operator)
        page = self.person.page
        self.person.go(path)
        if not self.device.remembers:
            self._sign_in(is_operator=is_operator)
        shown = page.locator(seen).first
        # The page may first offer to reload itself or a module.
        ways_on = page.locator(".late a, .problem button").first
        for _ in range(2):
            expect(shown.or_(ways_on).first).to_be_visible()
            if ways_on.is_visible():
                ways_on.click()
        expect(shown).to_be_visible()
        expect(page.locator("html")).to_have_attribute("lang", self.device.language)
        return shown

    @property
    def nickname(self) -> str:
        """Name that friends see. Without storage, the user types a name at each sign-in."""
        return self.device.nickname if self.device.remembers else self.sub

    def _sign_in(self, *, is_operator: bool) -> None:
        page = self.person.page
        if is_operator:
            page.locator(".people .person").first.click()
            return
        door = page.locator("red-packet .plate, rp-rain .primary, rp-lottery .primary")
        name = page.locator("rp-sign-in [name=name]")
        expect(door.or_(name).first).to_be_visible()
        if door.first.is_visible():
            door.first.click()
        name.fill(self.sub)
        page.locator("rp-sign-in .secondary").click()

    def open_tab(self, path: str) -> Page:
        """Open a second tab of the same browser at *path*."""
        tab = self.person.context.new_page()
        tab.set_default_timeout(PATIENCE_MS)
        tab.add_init_script(self._remembered())
        tab.goto(self.person.api + path)
        return tab

    @property
    def http(self) -> httpx.Client:
        """Return an API client for the phone's user."""
        return self.operator.as_user(self.sub)

    def wait_until(self, is_true: Callable[[], bool]) -> None:
        """Wait for the settlement, without exceeding one user's rate limit."""
        for _ in range(PATIENCE_MS // LOOK_MS):
            if is_true():
                return
            self.person.page.wait_for_timeout(LOOK_MS)
        raise AssertionError("the settlement did not come")

    def typed(self, yuan: str) -> str:
        """Return an amount as typed on the device's keyboard."""
        if self.device.comma == ".":
            return yuan
        return yuan.translate(str.maketrans(".,", ",."))

    def agree(self, *said: str) -> None:
        """Confirm the dialog, which must contain all texts in *said*."""
        question = self.person.page.locator("dialog.ask")
        for text in said:
            expect(question).to_contain_text(text)
        question.locator(".primary").click()


@pytest.fixture
def phone(
    request: pytest.FixtureRequest,
    a_person: MakePerson,
    operator: Operator,
    stack: Stack,
    games: Games,
) -> Iterator[Phone]:
    """Yield the test's phone; then save a screenshot, and check that the page is not too wide."""
    device = DEVICES[request.param]
    made = Phone(device, a_person, operator, stack, games)
    yield made
    if hasattr(made, "person"):
        made.person.shoot(f"device-{request.node.callspec.id}", full=True)
        assert made.person.overflow_px() == 0


def _open(phone: Phone) -> None:
    packet_id = phone.operator.send(count=2, expires_in_s=HOUR_MS // 1000)

    phone.visit(f"/packets/{packet_id}", 'red-packet [data-state="ready"]')
    coin(phone.person.page).click()
    state(phone.person.page, "opened").to_be_visible()

    def mine() -> dict[str, Any]:
        claim: dict[str, Any] = phone.http.get(f"/packets/{packet_id}").json()["mine"]
        return claim

    fen = mine()["amount_fen"]
    amount = phone.person.page.locator("red-packet .amount")
    expect(amount).to_contain_text(_yuan(fen))
    expect(phone.person.page.locator("red-packet li .name")).to_contain_text(phone.nickname)
    phone.wait_until(lambda: balance_fen(phone.operator, phone.sub) == fen)
    # The settlement stores names.
    phone.wait_until(lambda: mine()["nickname"] == phone.nickname)


def _send(phone: Phone) -> None:
    phone.operator.fund(phone.sub, 10_000)
    page = phone.visit("/send", "form.send").page
    page.locator("[name=amount]").fill(phone.typed("2.50"))
    page.locator("[name=count]").fill("2")
    page.locator("[name=greeting]").fill("全家福👨‍👩‍👧‍👦")
    expect(page.locator(".send > .sum")).to_have_text("¥2.50")

    page.locator(".send > .primary").click()
    phone.agree("2.50")

    page.wait_for_url("**/share")
    packet_id = page.url.split("/")[-2]
    expect(page.locator(".ticket .greeting")).to_have_text("全家福👨‍👩‍👧‍👦")
    record = phone.http.get(f"/packets/{packet_id}").json()
    told = (record["status"], record["total_fen"], record["count"], record["greeting"])
    assert told == ("open", 250, 2, "全家福👨‍👩‍👧‍👦")
    assert balance_fen(phone.operator, phone.sub) == 9_750
    page.locator(".spread a").click()
    state(page, "watching").to_be_visible()


def _rain(phone: Phone) -> None:
    start = phone.visit(f"/campaigns/{phone.games.rain}", "rp-rain .primary")
    start.click()

    phone.person.page.locator(".rain-tap").click()

    result = phone.person.page.locator(".rain-result .total")
    expect(result).to_be_visible()
    phone.wait_until(lambda: balance_fen(phone.operator, phone.sub) > 0)
    expect(result).to_contain_text(_yuan(balance_fen(phone.operator, phone.sub)))


def _draw(phone: Phone) -> None:
    draw = phone.visit(f"/campaigns/{phone.games.lottery}", "rp-lottery .primary")

    draw.click()

    expect(phone.person.page.get_by_role("dialog")).to_contain_text(PRIZE)
    (drawn,) = phone.http.get(f"/campaigns/{phone.games.lottery}/draws").json()["items"]
    assert drawn["prize"]["title"] == PRIZE


def _wallet(phone: Phone) -> None:
    page = phone.visit("/wallet", "rp-wallet form [name=amount]").page
    page.locator("[name=amount]").first.fill(phone.typed("8.80"))
    page.locator("form .secondary").first.click()
    phone.agree("8.80")
    page.wait_for_url("**/payments/*")
    expect(page.locator(".qr img")).to_be_visible()
    payment_id = page.url.rpartition("/")[2]
    _post(phone.stack.gateway, payment_id)
    expect(page.locator("a.primary")).to_be_visible()
    assert balance_fen(phone.operator, phone.sub) == 880

    page.locator(".spread a").click()
    expect(page.locator(".balance")).to_have_text("¥8.80")
    form = page.locator("form").nth(1)
    form.locator("[name=amount]").fill(phone.typed("2.20"))
    form.locator("select").select_option("host")
    form.locator(".secondary").click()
    phone.agree("2.20")

    page.locator(".money .quiet").click()
    expect(page.locator(".items .fen")).to_have_text("¥2.20")
    expect(page.locator(".balance")).to_have_text("¥6.60")
    (withdrawal,) = phone.http.get("/me/withdrawals").json()["items"]
    assert (withdrawal["amount_fen"], balance_fen(phone.operator, phone.sub)) == (220, 660)


def _create(phone: Phone) -> None:
    """Publish a campaign that runs for an hour, and end it at once."""
    page = phone.visit("/operator/new", "op-editor form", is_operator=True).page
    now = datetime.now(UTC) + timedelta(hours=SHANGHAI_H)
    page.locator("[name=title]").fill("年会")
    page.locator("[name=timezone]").fill("Asia/Shanghai")
    page.locator("[name=starts]").fill(f"{now - timedelta(minutes=5):%Y-%m-%dT%H:%M}")
    page.locator("[name=ends]").fill(f"{now + timedelta(hours=1):%Y-%m-%dT%H:%M}")
    page.locator("[name=budget]").fill(phone.typed("100.50"))
    campaign_id = page.locator("[name=id]").input_value()
    page.locator(".answers .primary").click()

    expect(page.locator(".figures")).to_contain_text("100.50")
    path = f"/admin/campaigns/{campaign_id}"
    campaign = phone.operator.http.get(path).json()
    assert (campaign["status"], campaign["budget_fen"]) == ("on", 10_050)
    assert phone.operator.http.get(f"/campaigns/{campaign_id}").json()["state"] == "on"
    expect(page.locator(".hint b").first).to_have_text(re.compile("进行中|Running"))

    page.locator(".deeds button", has_text=re.compile("立即结束|End now")).click()
    phone.agree()
    expect(page.locator(".hint b").first).to_have_text(re.compile("已结束|Ended"))
    ends_at_ms = phone.operator.http.get(path).json()["ends_at_ms"]
    assert abs(ends_at_ms - time.time() * 1000) < 2 * MINUTE_MS


def _deposit(phone: Phone) -> None:
    page = phone.visit("/operator/deposits", "op-deposits form", is_operator=True).page
    form = page.locator("op-deposits form").first
    form.locator("[name=user]").fill(phone.sub)
    form.locator("[name=amount]").fill(phone.typed("1,234.50"))

    form.locator(".primary").click()
    phone.agree("1,234.50", phone.sub)

    expect(page.locator(".message")).to_contain_text("1,234.50")
    assert balance_fen(phone.operator, phone.sub) == 123_450


def _approve(phone: Phone) -> None:
    treasurer = phone.operator.as_user("treasurer", scope="hongbao/admin")
    body = {"user": phone.sub, "amount_fen": 100_000_001}
    asked = treasurer.post("/admin/deposits", json=body, headers={"Idempotency-Key": phone.sub})
    assert asked.status_code == httpx.codes.ACCEPTED, asked.text
    path = "/operator/approvals?status=awaiting"
    page = phone.visit(path, "op-approvals table", is_operator=True).page
    row = page.get_by_role("row").filter(has_text=phone.sub)

    row.locator(".acts button").first.click()
    phone.agree("1,000,000.01")

    expect(row).to_contain_text(re.compile("已批准|Approved"))
    assert balance_fen(phone.operator, phone.sub) == 100_000_001


JOBS = {
    "open": _open,
    "send": _send,
    "rain": _rain,
    "draw": _draw,
    "wallet": _wallet,
    "create": _create,
    "deposit": _deposit,
    "approve": _approve,
}


def _yuan(fen: int) -> str:
    return f"{fen // 100}.{fen % 100:02d}"


def _post(gateway: str, payment_id: str) -> None:
    """Pay like a user who scans the code."""
    body = {"payment_id": payment_id}
    answer = httpx.post(f"{gateway}/_fake/pay", json=body, trust_env=False, timeout=30)
    assert answer.is_success, answer.text


def _cell(device: str, job: str) -> Any:
    """Return a test's parameters, marked for the table that the suite prints."""
    return pytest.param(device, job, id=f"{device}-{job}", marks=pytest.mark.device(device, job))


@pytest.mark.parametrize(
    ("phone", "job"), [_cell(device, job) for device, job in MATRIX], indirect=["phone"]
)
def test_a_task_succeeds_on_a_hostile_device(phone: Phone, job: str) -> None:
    JOBS[job](phone)


@pytest.mark.parametrize("phone", ["reduced-motion"], indirect=True)
@pytest.mark.device("reduced-motion", "open")
def test_nothing_moves_for_users_who_disable_motion(phone: Phone) -> None:
    _open(phone)

    assert phone.person.page.evaluate(MOVING) == []


@pytest.mark.parametrize("phone", ["two-tabs"], indirect=True)
@pytest.mark.device("two-tabs", "open")
def test_two_tabs_show_the_same_share(phone: Phone) -> None:
    packet_id = phone.operator.send(count=2)
    first = phone.visit(f"/packets/{packet_id}", 'red-packet [data-state="ready"]').page
    second = phone.open_tab(f"/packets/{packet_id}")
    state(second, "ready").to_be_visible()

    coin(first).click()
    coin(second).click()

    for tab in (first, second):
        state(tab, "opened").to_be_visible()
    amount_fen = phone.http.get(f"/packets/{packet_id}").json()["mine"]["amount_fen"]
    for tab in (first, second):
        expect(tab.locator("red-packet .amount")).to_contain_text(_yuan(amount_fen))
    phone.wait_until(lambda: balance_fen(phone.operator, phone.sub) == amount_fen)


@pytest.mark.parametrize("phone", ["two-tabs"], indirect=True)
@pytest.mark.device("two-tabs", "send")
def test_two_tabs_send_a_packet_each(phone: Phone) -> None:
    phone.operator.fund(phone.sub, 10_000)
    tabs = [phone.visit("/send", "form.send").page, phone.open_tab("/send")]
    for tab, yuan in zip(tabs, ("2.50", "3.50"), strict=True):
        tab.locator("[name=amount]").fill(yuan)
        tab.locator("[name=count]").fill("2")

    for tab in tabs:
        tab.locator(".send > .primary").click()
        tab.locator(".money .primary").click()
    for tab in tabs:
        tab.wait_for_url("**/share")

    sent = phone.http.get("/me/sent").json()["items"]
    assert sorted(item["total_fen"] for item in sent) == [250, 350]
    assert balance_fen(phone.operator, phone.sub) == 9_400


@pytest.mark.device("frozen-page", "open")
def test_a_frozen_page_shows_what_happened_meanwhile_when_it_resumes(
    browser: Browser, operator: Operator, stack: Stack
) -> None:
    packet_id = operator.send(count=1, total_fen=100)
    # Playwright disables the back-forward cache by default, so launch a browser that keeps it.
    keeping = browser.browser_type.launch(
        executable_path=chromium(),
        args=["--no-sandbox"],
        ignore_default_args=["--disable-back-forward-cache"],
    )
    page = keeping.new_context(locale="zh-CN", viewport=PHONE).new_page()
    page.add_init_script(NOTE_THE_RETURN)
    page.goto(f"{stack.api}/packets/{packet_id}")
    state(page, "ready").to_be_visible()
    page.goto(f"{stack.api}/operator")
    assert operator.grab("faster", packet_id)["amount_fen"] == 100

    page.go_back(wait_until="commit")

    state(page, "gone").to_be_visible()
    assert page.evaluate("isBack")
    page.screenshot(path=SHOTS / "device-frozen-page-open.png")
    keeping.close()
