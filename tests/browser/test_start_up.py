"""Faults at start-up: a script that cannot be parsed, no storage, and a missing module."""

import json

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import MakePerson, Operator
from tests.browser.test_classic_packet import coin, state

WORDS_WITHIN_MS = 8_000

FORBIDDEN = "get() { throw new DOMException('denied', 'SecurityError'); }"
MISSING = "value: null"


@pytest.mark.parametrize("path", ["/", "/operator"])
@pytest.mark.device("old-web-view", "start")
def test_a_script_that_the_browser_cannot_parse_leaves_a_message_and_a_link(
    a_person: MakePerson, path: str
) -> None:
    old = a_person(None, None)

    def serve_another_language(route: Route) -> None:
        route.fulfill(body="}", content_type="text/javascript")

    old.page.route("**/assets/**/*.js", serve_another_language)

    old.page.goto(old.api + path, wait_until="commit")

    words = old.page.get_by_text("还没有打开？请刷新")
    expect(words).to_be_visible(timeout=WORDS_WITHIN_MS)
    old.shoot(f"late-{path.strip('/') or 'page'}", full=False)
    old.errors.clear()
    old.page.unroute_all()
    old.page.get_by_role("link", name="刷新 Reload").click()
    expect(old.page.get_by_role("heading").first).to_be_visible()
    expect(words).to_have_count(0)


@pytest.mark.parametrize("storage", [FORBIDDEN, MISSING], ids=["forbidden", "missing"])
def test_a_page_without_storage_opens_packets_and_a_repeated_send_pays_once(
    a_person: MakePerson, operator: Operator, storage: str
) -> None:
    operator.fund("noa", 2_000)
    packet_id = operator.send()
    noa = a_person(None, None)
    for name in ("sessionStorage", "localStorage"):
        noa.page.add_init_script(f"Object.defineProperty(window, '{name}', {{ {storage} }});")
    noa.go(f"/packets/{packet_id}")
    noa.page.get_by_role("button", name="登录后领取").click()
    noa.page.get_by_role("textbox").fill("noa")
    noa.page.keyboard.press("Enter")
    coin(noa.page).click()
    state(noa.page, "opened").to_be_visible()
    keys: list[str] = []

    def lose_the_first_answer(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) > 1:
            route.continue_()
            return
        route.fetch()
        problem = json.dumps({"code": "internal_error"})
        route.fulfill(status=500, body=problem, content_type="application/problem+json")

    noa.page.route("**/api/packets", lose_the_first_answer)
    noa.page.get_by_role("link", name="我也发一个").click()
    noa.page.locator("[name=amount]").fill("10")
    noa.page.locator("[name=count]").fill("2")
    noa.agree()
    expect(noa.page.get_by_role("alert")).to_be_visible()
    noa.agree()

    noa.page.wait_for_url("**/share")
    assert len(keys) == 2
    assert keys[0] == keys[1]


def test_the_next_tap_loads_a_view_if_its_module_failed_once(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send()
    asked: list[str] = []
    mia = a_person("Mia", f"/packets/{packet_id}")
    state(mia.page, "ready").to_be_visible()
    mia.page.on("request", lambda request: asked.append(request.url))
    mia.page.route("**/assets/people*.js", lambda route: route.abort())

    mia.page.locator("a.brand").click()
    expect(mia.page.get_by_role("alert")).to_contain_text("没能加载")
    mia.shoot("module-lost", full=False)
    mia.page.get_by_role("combobox").select_option("en")
    expect(mia.page.get_by_role("alert")).to_contain_text("could not be loaded")
    mia.page.unroute_all()
    mia.page.get_by_role("button", name="Try again").click()

    expect(mia.page.get_by_role("link", name="Send a packet").first).to_be_visible()
    assert not [url for url in asked if "undefined" in url]
