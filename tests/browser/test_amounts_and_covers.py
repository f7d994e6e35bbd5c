"""Amounts sealed until the end, senders' own covers, and avatars, in a phone's browser."""

import re
from typing import Any

from playwright.sync_api import Route, expect

from tests.browser.conftest import BrowserUser, MakePerson, Operator
from tests.browser.test_classic_packet import amount_fen, coin, state

COVER = "https://covers.example/lanterns.svg"
LANTERNS = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 400">
<rect width="300" height="400" fill="#f4d9a6"/><path d="M0 300q80-70 150-20t150-30v150H0z"
fill="#b8562f"/><path d="M0 340q90-60 170-10t130-20v90H0z" fill="#8d2f22"/>
<circle cx="215" cy="210" r="46" fill="#fff3cf"/><path d="M70 0v150M120 0v220" stroke="#7a4b16"/>
<ellipse cx="70" cy="180" rx="28" ry="34" fill="#d3202f"/>
<ellipse cx="120" cy="250" rx="28" ry="34" fill="#d3202f"/></svg>"""


def _show_cover(person: BrowserUser) -> list[str]:
    """Serve the picture from a separate host, and return the `Referer` headers of the requests."""
    calls: list[str] = []

    def serve(route: Route) -> None:
        calls.append(route.request.headers.get("referer", ""))
        route.fulfill(body=LANTERNS, content_type="image/svg+xml")

    person.page.route("https://covers.example/**", serve)
    return calls


def test_a_packet_is_sent_with_a_cover_and_sealed_amounts(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("ivy", 10_000)
    ivy = a_person("Ivy", None)
    _show_cover(ivy)
    ivy.go("/send")
    ivy.page.locator("[name=amount]").fill("20")
    ivy.page.locator("[name=count]").fill("3")
    ivy.page.get_by_text("更多玩法").click()
    ivy.page.locator("[name=sealed]").check()
    ivy.page.locator("[name=cover_link]").fill("https://elsewhere.example.org/1.png")
    ivy.page.get_by_role("button", name="塞钱进红包").click()
    expect(ivy.page.locator("#cover-wrong")).to_contain_text("covers.example")
    ivy.page.locator("[name=cover_link]").fill(COVER)
    ivy.page.locator("summary", has_text="红包封面").click()
    expect(ivy.page.locator("rp-covers .has-art")).to_be_visible()
    ivy.shoot("send-cover")
    ivy.agree()
    ivy.page.wait_for_url("**/share")
    packet_id = ivy.page.url.split("/")[-2]

    jo = a_person("Jo", None)
    cover = _show_cover(jo)
    jo.go(f"/packets/{packet_id}")
    state(jo.page, "ready").to_be_visible()
    jo.page.wait_for_timeout(200)
    width = jo.page.evaluate(
        "document.querySelector('red-packet').shadowRoot.querySelector('.flap img').naturalWidth"
    )
    assert width > 0
    assert cover == [""]  # The picture's host does not learn which packet is shown.
    jo.shoot("packet-cover", full=False)

    # Jo sees Jo's own amount; Kim's amount stays sealed.
    operator.grab("kim", packet_id, "小金")
    coin(jo.page).click()
    state(jo.page, "opened").to_be_visible()
    own = f"{amount_fen(jo.page) / 100:.2f}"
    expect(jo.page.locator("red-packet .sealed")).to_have_count(1)
    expect(jo.page.locator("red-packet .share b")).to_have_text([own])
    expect(jo.page.get_by_text("已领取 2/3 个 · 金额结束后揭晓")).to_be_visible()
    jo.audit_views("packet-sealed")

    # The last share is taken: the page shows all amounts without a tap.
    operator.grab("lee", packet_id, "阿丽")
    expect(jo.page.locator("red-packet .sealed")).to_have_count(0)
    expect(jo.page.locator("red-packet .share b")).to_have_count(3)
    expect(jo.page.get_by_text(re.compile("3 个红包共 20.00 元"))).to_be_visible()


def test_a_missing_cover_is_replaced_by_the_plain_one(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send(cover_url=COVER, amounts_shown="end")
    operator.grab("early", packet_id, "Early")
    max_ = a_person("Mo", None, locale="en-GB")
    max_.page.route("https://covers.example/**", lambda route: route.abort())

    max_.go(f"/packets/{packet_id}")
    state(max_.page, "ready").to_be_visible()

    expect(max_.page.locator("red-packet .has-art")).to_have_count(0)
    coin(max_.page).click()
    state(max_.page, "opened").to_be_visible()
    expect(max_.page.get_by_role("img", name="Amount shown at the end")).to_be_visible()
    max_.shoot("light-packet-sealed-en")


def test_avatars_are_shown_and_a_missing_one_is_replaced_by_the_initial(
    a_person: MakePerson, operator: Operator
) -> None:
    for name in ("nan", "lost"):
        profile = {"nickname": name.title(), "avatar_url": f"https://{name}.example/me.png"}
        assert operator.as_user(f"{name}-avatar").put("/me/profile", json=profile).is_success
    operator.fund("nan-avatar")
    packet_id = operator.send(operator.as_user("nan-avatar"), count=4)
    for name in ("lost", "nan"):
        operator.grab(f"{name}-avatar", packet_id)
    phone: dict[str, Any] = {"viewport": {"width": 375, "height": 812}}
    pat = a_person("Pat", None, **phone)
    referrers = []

    def show(route: Route) -> None:
        referrers.append(route.request.headers.get("referer", ""))
        route.fulfill(content_type="image/svg+xml", body=LANTERNS)

    pat.page.route("https://nan.example/**", show)
    pat.page.route("https://lost.example/**", lambda route: route.abort())

    pat.go(f"/packets/{packet_id}")
    coin(pat.page).click()
    state(pat.page, "opened").to_be_visible()

    seals = pat.page.locator("red-packet .inside .seal")
    expect(seals).to_have_count(4)
    # The seals are the sender's, Pat's (no picture), Nan's, and Lost's (the picture is missing).
    expect(pat.page.locator("red-packet .inside .seal img:visible")).to_have_count(2)
    expect(seals.filter(has_text="L").locator("img")).to_be_hidden()
    assert set(referrers) == {""}
    assert (pat.audit(), pat.overflow_px()) == ([], 0)
    pat.shoot("packet-avatars")
