"""Classic packet in phones' browsers: several users send, open, read and verify it."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import NARROW, BrowserUser, MakePerson, Operator
from tests.browser.speech import WECHAT_AGENT, fake_js_sdk, fake_speech_recognition

COIN_TONES = 2
AMOUNT = re.compile(r"^\s*(\d+)\.(\d\d)\s*元\s*$")


def coin(page: Page) -> Any:
    return page.locator("red-packet button.coin")


def state(page: Page, name: str) -> Any:
    return expect(page.locator(f'red-packet .packet[data-state="{name}"]'))


def amount_fen(page: Page) -> int:
    match = AMOUNT.match(page.locator("red-packet .amount").inner_text())
    assert match
    return int(match[1] + match[2])


def balance_fen(operator: Operator, sub: str) -> int:
    return int(operator.as_user(sub).get("/me").json()["balance_fen"])


def _name_nobody(route: Route) -> None:
    """Respond as the feed does until the settlement has stored the claimer's name."""
    told = route.fetch()
    route.fulfill(response=told, body=told.text().replace("Cid", "用户Ij9_"))


def _copied(person: BrowserUser) -> str:
    """Tap the only copy button, and return the copied text."""
    person.context.grant_permissions(["clipboard-read", "clipboard-write"])
    person.page.get_by_role("button", name="复制").click()
    expect(person.page.get_by_role("button", name="已复制")).to_be_visible()
    return str(person.page.evaluate("navigator.clipboard.readText()"))


def test_a_packet_is_sent_shared_opened_and_verified(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("ann", 20_000)
    ann = a_person("Ann", "/")
    expect(ann.page.locator(".balance")).to_have_text("¥200.00")
    ann.shoot("home")

    # Ann puts 10 yuan into two lucky shares.
    expect(ann.page).to_have_title("红包")
    ann.page.get_by_role("link", name="发红包").click()
    expect(ann.page).to_have_title("发红包 · 红包")
    ann.page.locator("[name=amount]").fill("１０")
    ann.page.locator("[name=count]").fill("2")
    ann.page.locator("[name=greeting]").fill("新年快乐")
    expect(ann.page.locator(".send > .sum")).to_have_text("¥10.00")
    ann.shoot("send")
    ann.agree()
    ann.page.wait_for_url("**/share")
    expect(ann.page.locator(".qr img")).to_be_visible()
    link = ann.page.locator("#link").input_value()
    ann.shoot("share")
    assert _copied(ann) == f"【红包】Ann的红包“新年快乐”，点开领取：{link}"

    # Ben is not signed in yet: he sees the cover, signs in, and returns to the packet.
    ben = a_person(None, urlsplit(link).path)
    expect(ben.page.get_by_text("新年快乐")).to_be_visible()
    ben.page.get_by_role("button", name="登录后领取").click()
    ben.page.get_by_label("或者用别的名字").fill("小本")
    ben.page.get_by_role("button", name="进入").click()
    state(ben.page, "ready").to_be_visible()
    ben.shoot("packet-ready", full=False)
    coin(ben.page).click()
    state(ben.page, "opened").to_be_visible()
    bens_fen = amount_fen(ben.page)

    # Cid takes the last share; Dan is too late, and sees who took the shares.
    cid = a_person("Cid", None)
    cid.page.route("**/feed?*", _name_nobody)
    cid.go(urlsplit(link).path)
    coin(cid.page).click()
    state(cid.page, "opened").to_be_visible()
    assert bens_fen + amount_fen(cid.page) == 1000
    # Cid's own row comes first.
    expect(cid.page.locator("red-packet li").first).to_contain_text("Cid 我")
    expect(cid.page.locator("red-packet li").nth(1)).to_contain_text("小本")
    expect(cid.page.get_by_role("link", name="分享")).to_have_count(0)
    dan = a_person("Dan", urlsplit(link).path)
    state(dan.page, "gone").to_be_visible()
    expect(dan.page.get_by_text(re.compile("2 个红包共 10.00 元，.*被抢光"))).to_be_visible()
    expect(dan.page.get_by_text("手气最佳")).to_have_count(1)
    expect(ben.page.get_by_text("已存入零钱")).to_be_visible()
    dan.shoot("packet-gone")
    ben.shoot("packet-opened")

    # Ben saw the commitment while the packet was open, and verifies it now.
    ben.page.get_by_role("link", name="验证公平").click()
    expect(ben.page.get_by_text("完全一致")).to_be_visible()
    expect(ben.page.get_by_text(re.compile("校验码与你在 .* 看到的相同"))).to_be_visible()
    ben.shoot("proof")
    assert balance_fen(operator, "ann") == 19_000
    assert balance_fen(operator, "u_E5_B0_8F_E6_9C_AC") == bens_fen


def test_one_tap_sends_one_request_and_a_503_is_retried_automatically(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send()
    bob = a_person("Bob503", f"/packets/{packet_id}")
    state(bob.page, "ready").to_be_visible()
    calls: list[str] = []

    def fail_once(route: Route) -> None:
        calls.append(route.request.method)
        if len(calls) > 1:
            route.continue_()
            return
        problem = '{"code": "unavailable", "status": 503}'
        headers = {"Retry-After": "1", "Content-Type": "application/problem+json"}
        route.fulfill(status=503, body=problem, headers=headers)

    bob.page.route("**/grab", fail_once)
    coin(bob.page).click()
    coin(bob.page).click(force=True)

    state(bob.page, "confirming").to_be_visible()
    bob.shoot("packet-confirming", full=False)
    state(bob.page, "opened").to_be_visible()
    assert calls == ["POST", "POST"]


def test_a_reload_before_the_answer_arrives_pays_once(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("eve", 5_000)
    before_fen = balance_fen(operator, "eve")
    eve = a_person("Eve", "/send")
    eve.page.locator("[name=amount]").fill("20")
    eve.page.locator("[name=count]").fill("4")

    def lose_the_answer(route: Route) -> None:
        route.fetch()
        route.abort()

    eve.page.route("**/api/packets", lose_the_answer)
    eve.agree()
    sheet = eve.page.get_by_role("dialog", name="塞钱进红包")
    expect(sheet.get_by_text("正在确认刚才的操作，不会重复扣款")).to_be_visible()
    eve.page.keyboard.press("Escape")
    expect(sheet).to_be_visible()
    eve.audit_views("send-repeats", is_strict=True)
    eve.page.unroute("**/api/packets")
    eve.page.reload()

    eve.page.wait_for_url("**/share")
    assert balance_fen(operator, "eve") == before_fen - 2_000


def test_the_page_reports_a_lost_network_and_continues_when_it_returns(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send()
    fay = a_person("Fay", f"/packets/{packet_id}")
    state(fay.page, "ready").to_be_visible()

    fay.context.set_offline(True)
    coin(fay.page).click()
    expect(fay.page.locator("red-packet .note")).to_contain_text("网络断开了")
    fay.context.set_offline(False)

    state(fay.page, "opened").to_be_visible()


def test_back_returns_to_the_previous_page_and_a_link_opens_its_target(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send()
    gus = a_person("Gus", "/")
    gus.page.get_by_role("link", name="发红包").click()
    expect(gus.page.get_by_role("heading", name="发红包")).to_be_focused()

    gus.page.go_back()
    expect(gus.page.locator(".balance")).to_be_visible()
    gus.go(f"/packets/{packet_id}")
    coin(gus.page).click()
    state(gus.page, "opened").to_be_visible()
    gus.page.reload()

    # After a reload, the page says that Gus has already claimed a share.
    expect(gus.page.get_by_text("你已领取过这个红包")).to_be_visible()


def test_a_two_step_packet_is_grabbed_and_then_opened(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send(opening="two_step")
    hal = a_person("Hal", f"/packets/{packet_id}")

    hal.page.get_by_role("button", name="抢红包").click()
    state(hal.page, "admitted").to_be_visible()
    hal.shoot("packet-admitted", full=False)
    hal.page.get_by_role("button", name="拆开红包").click()

    state(hal.page, "opened").to_be_visible()


def test_a_wrong_passphrase_can_be_corrected(a_person: MakePerson, operator: Operator) -> None:
    packet_id = operator.send(passphrase="新年快乐")
    ida = a_person("Ida", f"/packets/{packet_id}")
    field = ida.page.get_by_label("输入或说出口令才能领")
    field.fill("什么")

    coin(ida.page).click()
    expect(ida.page.locator("red-packet .note")).to_contain_text("口令不对")
    ida.shoot("packet-passphrase", full=False)
    field.fill("新年快乐！")
    field.press("Enter")

    state(ida.page, "opened").to_be_visible()


def test_a_passphrase_can_be_spoken(a_person: MakePerson, operator: Operator) -> None:
    packet_id = operator.send(passphrase="新年快乐")
    ivy = a_person("Ivy", f"/packets/{packet_id}")
    expect(coin(ivy.page)).to_be_visible()
    fake_speech_recognition(ivy.page)
    # The element looks for speech recognition only while rendering.
    ivy.page.evaluate("document.querySelector('red-packet').requestUpdate()")

    ivy.page.get_by_role("button", name="用语音说口令").click()

    state(ivy.page, "opened").to_be_visible()


def test_a_passphrase_can_be_spoken_in_wechat(a_person: MakePerson, operator: Operator) -> None:
    packet_id = operator.send(passphrase="新年快乐")
    joy = a_person("Joy", None, user_agent=WECHAT_AGENT)
    fake_js_sdk(joy.page)
    joy.go(f"/packets/{packet_id}")

    joy.page.get_by_role("button", name="用语音说口令").click()
    expect(joy.page.locator("body[data-recording]")).to_be_attached()
    joy.page.get_by_role("button", name="说完了").click()

    state(joy.page, "opened").to_be_visible()


def test_a_passphrase_is_typed_if_wechat_signs_nothing(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send(passphrase="新年快乐")
    joe = a_person("Joe", None, user_agent=WECHAT_AGENT)
    fake_js_sdk(joe.page)
    joe.page.route("**/wechat/js-config?*", lambda route: route.fulfill(status=400, body="{}"))
    joe.go(f"/packets/{packet_id}")
    # WeChat's browser has no speech recognition.
    joe.page.evaluate(
        "delete globalThis.SpeechRecognition, delete globalThis.webkitSpeechRecognition"
    )
    microphone = joe.page.get_by_role("button", name="用语音说口令")

    microphone.click()
    expect(microphone).to_have_count(0)
    field = joe.page.get_by_label("输入或说出口令才能领")
    field.fill("新年快乐")
    field.press("Enter")

    state(joe.page, "opened").to_be_visible()


def test_an_exclusive_packet_opens_only_for_its_recipients(
    a_person: MakePerson, operator: Operator
) -> None:
    token = operator.as_user("jan", nickname="Jan").get("/me").json()["user_token"]
    packet_id = operator.send(count=1, recipients=[token])

    kim = a_person("Kim", f"/packets/{packet_id}")
    expect(kim.page.locator("red-packet .note")).to_contain_text("这个红包不存在，或不是发给你的")
    jan = a_person("Jan", f"/packets/{packet_id}")
    expect(jan.page.get_by_text("专属红包，仅指定的人可领")).to_be_visible()
    coin(jan.page).click()

    state(jan.page, "opened").to_be_visible()
    assert amount_fen(jan.page) == 1000


def test_an_expired_packet_shows_the_refunded_amount(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send(expires_in_s=1)

    leo = a_person("Leo", None)
    leo.page.wait_for_timeout(1_200)
    leo.go(f"/packets/{packet_id}")

    state(leo.page, "expired").to_be_visible()
    leo.shoot("packet-expired", full=False)


def test_an_unknown_link_shows_a_message(a_person: MakePerson) -> None:
    max_ = a_person("Max", "/packets/t000000000000000000000000000000")
    expect(max_.page.locator("red-packet .note")).to_contain_text("这个红包不存在，或不是发给你的")
    expect(max_.page.get_by_role("button", name="再试一次")).to_have_count(0)
    max_.go("/no/such/page")
    expect(max_.page.get_by_role("heading", name="页面走丢了")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_wide_screen_shows_the_list_beside_the_amount_and_a_code_before_opening(
    a_person: MakePerson, operator: Operator, scheme: str
) -> None:
    packet_id = operator.send()
    wide: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}, "color_scheme": scheme}
    ned = a_person(f"ned-{scheme}", f"/packets/{packet_id}", locale="en-US", **wide)
    expect(ned.page.get_by_role("img", name="Scan to open it on a phone")).to_be_visible()
    ned.shoot(f"wide-{scheme}", full=False)

    coin(ned.page).click()
    state(ned.page, "opened").to_be_visible()

    expect(ned.page.locator("red-packet li")).to_contain_text("¥")
    amount = ned.page.locator("red-packet .amount").bounding_box()
    records = ned.page.locator("red-packet .records").bounding_box()
    assert amount
    assert records
    assert records["x"] > amount["x"] + amount["width"]
    assert (ned.audit(), ned.overflow_px()) == ([], 0)
    ned.shoot(f"wide-open-{scheme}", full=False)


def test_an_envelope_is_shown_before_the_script_runs_and_sound_is_off_by_default(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send()
    ola = a_person("Ola", None)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    ola.page.add_init_script(
        "const { start } = OscillatorNode.prototype; globalThis.tones = 0;"
        "OscillatorNode.prototype.start = function (at) { tones += 1; start.call(this, at); }"
    )
    ola.page.route("**/assets/app-*.js", hold)
    ola.page.goto(f"{ola.api}/packets/{packet_id}", wait_until="commit")
    skeleton = ola.page.locator(".skeleton")
    expect(skeleton).to_be_visible()
    ola.shoot("skeleton", full=False)
    for scheme in ("light", "dark"):
        ola.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert ola.audit() == []

    held[0].continue_()

    expect(skeleton).to_have_count(0)
    sound = ola.page.get_by_role("button", name="声音：关")
    expect(sound).to_be_visible()
    assert ola.page.evaluate("tones") == 0
    sound.click()
    expect(ola.page.get_by_role("button", name="声音：开")).to_be_visible()
    assert ola.page.evaluate("tones") == COIN_TONES
    coin(ola.page).click()
    state(ola.page, "opened").to_be_visible()
    assert ola.page.evaluate("tones") == 2 * COIN_TONES
    manifest = ola.page.request.get(f"{ola.api}/manifest.webmanifest").json()
    icons = [*(icon["src"] for icon in manifest["icons"]), "/favicon.ico", "/apple-touch-icon.png"]
    assert {ola.page.request.get(ola.api + icon).status for icon in icons} == {200}


@pytest.mark.parametrize("locale", ["zh-CN", "en-GB"])
def test_the_page_uses_the_language_of_the_reader(
    a_person: MakePerson, operator: Operator, locale: str
) -> None:
    packet_id = operator.send()
    name = "拆开红包" if locale == "zh-CN" else "Open the red packet"
    other = "en" if locale == "zh-CN" else "zh-CN"

    nia = a_person("Nia", f"/packets/{packet_id}", locale=locale)
    expect(nia.page.get_by_role("button", name=name)).to_be_visible()
    assert nia.page.locator("html").get_attribute("lang") == locale.replace("-GB", "")
    nia.speak(other)

    expect(nia.page.get_by_role("button", name=name)).to_have_count(0)
    expect(coin(nia.page)).to_be_visible()


def test_readers_of_traditional_chinese_get_traditional_characters(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send()

    mei = a_person("Mei", f"/packets/{packet_id}", locale="zh-HK")

    expect(mei.page.get_by_role("button", name="拆開紅包")).to_be_visible()
    assert mei.page.locator("html").get_attribute("lang") == "zh-TW"
    mei.page.goto(f"{mei.api}/wallet")
    expect(mei.page.locator("main")).to_contain_text("提現")
    mei.shoot("wallet-traditional")


def test_a_copied_code_is_confirmed_and_survives_a_change_of_language(a_person: MakePerson) -> None:
    kim = a_person("Kim", "/")
    copied = _copied(kim)
    kim.speak("en")

    expect(kim.page.get_by_role("button", name="Copy", exact=True)).to_be_visible()
    assert copied == kim.page.locator(".code code").inner_text()


def test_the_page_works_with_the_keyboard_alone(a_person: MakePerson, operator: Operator) -> None:
    packet_id = operator.send()
    oli = a_person("Oli", f"/packets/{packet_id}")
    state(oli.page, "ready").to_be_visible()

    for _ in range(8):
        oli.page.keyboard.press("Tab")
        if oli.page.evaluate("document.activeElement?.shadowRoot?.activeElement?.className"):
            break
    oli.page.keyboard.press("Enter")

    state(oli.page, "opened").to_be_visible()
    # The focus moves to the amount, so that a screen reader reads it aloud.
    expect(oli.page.locator("red-packet .amount")).to_be_focused()
    expect(oli.page.locator("red-packet [role=status]")).to_contain_text("红包已打开")


def test_motion_is_shown_only_to_users_who_allow_it(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send()
    count = "document.querySelector('red-packet').shadowRoot.getAnimations().length"

    calm = a_person("Calm", f"/packets/{packet_id}")
    state(calm.page, "ready").to_be_visible()
    lively = a_person("Lively", f"/packets/{packet_id}", reduced_motion="no-preference")
    state(lively.page, "ready").to_be_visible()

    assert calm.page.evaluate(count) == 0
    assert lively.page.evaluate(count) > 0
    coin(lively.page).click(force=True)
    state(lively.page, "opened").to_be_visible()
    lively.page.wait_for_timeout(250)
    lively.shoot("packet-bursting", full=False, is_moving=True)


def test_the_page_calls_no_third_parties_and_scripts_obey_the_policy(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send()
    pia = a_person("Pia", None)
    requested: set[str] = set()
    pia.page.on("request", lambda request: requested.add(urlsplit(request.url).netloc))

    for path in ("/", "/send", f"/packets/{packet_id}", f"/packets/{packet_id}/share"):
        pia.go(path)
        pia.page.wait_for_load_state("networkidle")
    policy = pia.page.request.get(f"{pia.api}/").headers["content-security-policy"]

    assert requested == {urlsplit(pia.api).netloc}
    assert "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy


def test_a_long_name_is_shown_whole_in_a_narrow_header(a_person: MakePerson) -> None:
    bart = a_person("Bartholomew-Longname", "/", viewport=NARROW, locale="en-US")
    expect(bart.page.locator(".bar .name")).to_be_visible()

    cut = bart.page.locator(".bar .name, .bar .tongue").evaluate_all(
        "all => all.filter(each => each.scrollWidth > each.clientWidth).map(String)"
    )

    assert (cut, bart.overflow_px()) == ([], 0)


def test_axe_finds_nothing_serious_at_320_pixels(a_person: MakePerson, operator: Operator) -> None:
    open_id = operator.send(greeting="祝你平安喜乐万事如意身体健康" * 3, passphrase="新年快乐")
    gone_id = operator.send(total_fen=100, count=1)
    operator.grab("taker", gone_id, "一个名字特别特别特别特别长的人一个名字特别长")
    quinn = a_person("Quinn", None)
    stranger = a_person(None, None)

    def look(person: BrowserUser, name: str, path: str, seen: str, title: str = "") -> None:
        person.go(path)
        expect(person.page.locator(seen).first).to_be_visible()
        if title:
            expect(person.page).to_have_title(f"{title} · 红包")
        person.page.wait_for_timeout(150)
        person.audit_views(name)

    look(stranger, "sign-in", "/", "rp-sign-in h1")
    look(stranger, "signed-out", f"/packets/{open_id}", '[data-state="signed_out"]')
    look(quinn, "home", "/", ".items, .empty")
    look(quinn, "send", "/send", ".send")
    look(quinn, "ready", f"/packets/{open_id}", '[data-state="ready"]')
    look(quinn, "gone", f"/packets/{gone_id}", "red-packet li")
    look(quinn, "proof", f"/packets/{gone_id}/proof", ".verdict", "公平验证")
    look(quinn, "share", f"/packets/{open_id}/share", ".qr img", "红包包好了")
    look(quinn, "missing", f"/packets/{open_id[::-1]}", '[data-state="missing"]')
    opened_id = operator.send()
    operator.grab("quinn", opened_id)
    look(quinn, "opened", f"/packets/{opened_id}", "red-packet .amount")
