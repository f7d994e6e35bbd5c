"""Pages on small screens, and pages that wait or resume: all stay readable and usable."""

import json
import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, Route, ViewportSize, expect

from testing.platform.servers import wait_for
from tests.browser.conftest import NARROW, BrowserUser, MakePerson, Operator
from tests.browser.test_campaigns import plan, put_prize
from tests.browser.test_classic_packet import balance_fen, coin, state

LONG_NAME = "Wwww" * 8
"""Name of 32 letters without a space; W is the widest letter."""
LONG_GREETING = "W" * 50
SIDEWAYS: ViewportSize = {"width": 844, "height": 390}
ZOOMED: ViewportSize = {"width": 640, "height": 400}
"""Window of 1280 × 800 at 200% zoom."""
LEAVE = """() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
RETURN_LATER = """seconds => {
    const now = Date.now;
    Date.now = () => now() + 1000 * seconds;
    Object.defineProperty(document, "hidden", { value: false, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    Date.now = now;
}"""
RETURN_BY_BACK = 'dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))'
OUTSIDE = """() => {
    const found = [];
    const visit = (root) => {
        for (const each of root.querySelectorAll("*")) {
            if (each.shadowRoot) visit(each.shadowRoot);
            const texts = [...each.childNodes].filter(({ nodeType }) => nodeType === 3);
            const hasText = texts.some(({ data }) => data.trim());
            const { right, width, height } = each.getBoundingClientRect();
            const isOutside = width > 1 && height > 1 && right > innerWidth + 1;
            if (hasText && isOutside) found.push(each.className || each.localName);
        }
    };
    visit(document);
    return found;
}"""
"""Script that returns the elements with text that extends beyond the screen's right edge."""


def bottom_px(page: Page) -> float:
    """Return the vertical position of the coin's lower edge."""
    box = coin(page).bounding_box()
    assert box
    return box["y"] + box["height"]


def _received(operator: Operator, sub: str) -> list[str]:
    """Wait until a share of *sub* is settled; return the ids of the packets that *sub* received."""
    client = operator.as_user(sub)
    wait_for(lambda: client.get("/me/received").json()["count"] > 0, "the share of " + sub)
    return [item["packet_id"] for item in client.get("/me/received").json()["items"]]


@pytest.mark.parametrize("viewport", [SIDEWAYS, ZOOMED], ids=["sideways", "zoomed"])
def test_the_coin_is_visible_on_a_low_screen_without_scrolling(
    a_person: MakePerson, operator: Operator, viewport: ViewportSize
) -> None:
    packet_id = operator.send(passphrase="新年快乐", greeting="岁" * 50, opening="two_step")
    name = f"Low-{viewport['width']}"
    low = a_person(name, f"/packets/{packet_id}", viewport=viewport)
    state(low.page, "ready").to_be_visible()

    assert bottom_px(low.page) <= viewport["height"]
    assert low.audit(is_strict=True) == []
    low.shoot(f"packet-{name}", full=False)
    low.page.get_by_label("输入或说出口令才能领").fill("新年快乐")
    coin(low.page).click()
    state(low.page, "admitted").to_be_visible()
    low.shoot(f"packet-{name}-admitted", full=False)
    low.page.set_viewport_size(NARROW)
    low.speak("en")
    edges = [low.page.locator(f"red-packet {each}").bounding_box() for each in (".ring", "strong")]
    low.speak("zh-CN")
    assert edges[0]
    assert edges[1]
    assert edges[0]["y"] + edges[0]["height"] <= edges[1]["y"]
    coin(low.page).click()

    state(low.page, "opened").to_be_visible()
    assert _received(operator, name.lower()) == [packet_id]


def test_an_admission_counts_down_its_seconds_and_then_grabs_again(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send(opening="two_step")
    late = a_person("Late-Two", f"/packets/{packet_id}")

    def shorten(route: Route) -> None:
        answer = route.fetch()
        admission = answer.json() | {"expires_at_ms": int(time.time() * 1000) + 6000}
        route.fulfill(response=answer, body=json.dumps(admission))

    late.page.route("**/grab", shorten)
    coin(late.page).click()
    state(late.page, "admitted").to_be_visible()
    note = late.page.locator("red-packet .note")
    expect(note).to_contain_text(re.compile("[1-3] 秒内有效"))
    ring = late.page.locator("red-packet .ring circle")
    assert float(str(ring.get_attribute("stroke-dasharray")).split()[0]) < 80
    late.shoot("packet-ring", full=False)
    assert late.audit(is_strict=True) == []

    state(late.page, "ready").to_be_visible()
    expect(note).to_contain_text("时间已过")
    expect(coin(late.page)).to_have_accessible_name("抢红包")
    late.page.unroute("**/grab")
    coin(late.page).click()
    state(late.page, "admitted").to_be_visible()
    coin(late.page).click()
    state(late.page, "opened").to_be_visible()
    assert _received(operator, "late-two") == [packet_id]


def test_a_page_shows_what_happened_meanwhile_when_the_user_returns(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("leaver", 1_000)
    leaver = a_person("Leaver", "/")
    balance = leaver.page.locator(".balance")
    expect(balance).to_have_text("¥10.00")

    leaver.page.evaluate(LEAVE)
    operator.fund("leaver", 200)
    leaver.page.evaluate(RETURN_LATER, 5)
    leaver.page.wait_for_timeout(300)
    expect(balance).to_have_text("¥10.00")

    leaver.page.evaluate(LEAVE)
    leaver.page.evaluate(RETURN_LATER, 21)
    expect(balance).to_have_text("¥12.00")
    operator.fund("leaver", 300)
    leaver.page.evaluate(RETURN_BY_BACK)
    expect(balance).to_have_text("¥15.00")
    assert balance_fen(operator, "leaver") == 1_500


def test_a_view_that_opens_offline_waits_for_the_network(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("tunnel", 1_000)
    tunnel = a_person("Tunnel", "/")
    expect(tunnel.page.locator(".balance")).to_have_text("¥10.00")
    waits = tunnel.page.get_by_text("网络断开了，恢复后会继续")

    tunnel.context.set_offline(True)
    # The wallet's module is loaded, but not the data that it shows.
    tunnel.page.get_by_role("link", name="钱包").click()
    expect(waits).to_be_visible()
    # Neither the proof's module nor its data is loaded.
    tunnel.page.evaluate("history.pushState(null, '', '/campaigns/none'); history.back()")
    packet_id = operator.send()
    tunnel.page.evaluate(
        "path => { const link = document.createElement('a'); link.href = path;"
        " document.body.append(link); link.click(); link.remove(); }",
        f"/packets/{packet_id}/proof",
    )
    expect(waits).to_be_visible()
    tunnel.shoot("offline-view", full=False)
    assert tunnel.audit(is_strict=True) == []
    tunnel.context.set_offline(False)

    expect(waits).to_be_hidden()
    expect(tunnel.page.get_by_role("heading", name="公平验证")).to_be_visible()
    assert tunnel.page.evaluate("performance.getEntriesByType('navigation').length") == 1
    assert tunnel.page.url.startswith(tunnel.api)


def test_a_loading_view_does_not_show_that_access_is_denied(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id, campaign_id = operator.send(), plan(operator)
    lea = a_person("Operator", None, viewport=NARROW)

    def hold(route: Route) -> None:
        request = route.request
        is_data = request.method == "GET" and request.resource_type == "fetch"
        if not is_data or request.url.endswith("/config.json"):
            route.continue_()

    lea.page.route("**/*", hold)
    found: dict[str, Any] = {}
    for name, path in (
        ("home", "/"),
        ("send", "/send"),
        ("wallet", "/wallet"),
        ("notices", "/notices"),
        ("share", f"/packets/{packet_id}/share"),
        ("packets", "/operator/packets"),
        ("campaign", f"/operator/campaigns/{campaign_id}"),
        ("edit", f"/operator/campaigns/{campaign_id}/edit"),
        ("wall", f"/operator/campaigns/{campaign_id}/wall"),
    ):
        lea.go(path)
        expect(lea.page.locator(".bone").first).to_be_visible()
        expect(lea.page.locator("h1").first).to_be_visible()
        for scheme in ("light", "dark"):
            lea.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found[f"{name}-{scheme}"] = lea.audit(is_strict=True), lea.overflow_px()
            lea.shoot(f"skeleton-{name}-{scheme}", full=False)
    lea.page.unroute_all(behavior="ignoreErrors")

    assert {view: told for view, told in found.items() if told != ([], 0)} == {}


def _measure(person: BrowserUser, seen: str) -> dict[str, Any]:
    """Wait for *seen*, and return the elements that extend beyond the screen, keyed by URL."""
    expect(person.page.locator(seen).first).to_be_visible()
    person.page.wait_for_timeout(300)
    wide: list[str] = person.page.evaluate(OUTSIDE)
    return {} if not wide and person.overflow_px() == 0 else {person.page.url: wide}


def test_names_of_32_letters_fit_into_320_pixels(a_person: MakePerson, operator: Operator) -> None:
    long = {"nickname": LONG_NAME}
    mother = operator.as_user("mother-long", **long)
    for sub in ("mother-long", "guest-long"):
        operator.fund(sub)
    packets = [
        operator.send(mother, greeting=LONG_GREETING, total_fen=10_000, count=n) for n in (2, 5)
    ]
    operator.grab("other-long", packets[0], nickname=LONG_NAME)
    campaign_id = plan(operator, title=LONG_NAME, description=LONG_GREETING, miss_weight=0)
    put_prize(operator, campaign_id, "tea", title=LONG_NAME)
    guest = a_person(None, None, viewport=NARROW)
    user = {"sub": "guest-long", **long}
    guest.page.add_init_script(
        f"sessionStorage.setItem('redpacket.dev-user', JSON.stringify({user!r}))"
    )
    wide: dict[str, Any] = {}

    guest.go(f"/packets/{packets[0]}")
    wide |= _measure(guest, "red-packet button.coin")
    coin(guest.page).click()
    wide |= _measure(guest, "red-packet .records li + li")
    guest.shoot("long-name-opened")
    guest.go("/send")
    guest.page.get_by_label("指定的人").check(force=True)
    wide |= _measure(guest, ".people label")
    own = operator.send(operator.as_user("guest-long", **long), greeting=LONG_GREETING)
    for path, seen in (
        ("/", ".items li"),
        ("/?tab=sent", ".items li"),
        ("/?tab=transfers", ".items li"),
        (f"/packets/{own}", "red-packet .inside"),
        (f"/packets/{own}/share", ".ticket .qr img"),
        (f"/packets/{packets[0]}/proof", ".proof h1"),
        ("/wallet", ".balance"),
        (f"/campaigns/{campaign_id}", ".odds, .wheel"),
    ):
        guest.go(path)
        wide |= _measure(guest, seen)
        guest.shoot(f"long-name-{re.sub('[^a-z]', '', path)[:12]}")
    guest.page.get_by_role("button", name=LONG_NAME).click()
    wide |= _measure(guest, "rp-face dialog")

    assert wide == {}
