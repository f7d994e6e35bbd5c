"""Senders' amounts, recipients, covers and payment methods; a winner's address; the home tabs."""

import base64
import re

import httpx
from playwright.sync_api import expect

from local.places import ROOT
from local.stack import Stack
from testing.pictures import exif_segment
from testing.platform.servers import wait_for
from tests.browser.conftest import SHOTS, BrowserUser, MakePerson, Operator
from tests.browser.test_campaigns import plan, put_prize
from tests.browser.test_classic_packet import amount_fen, coin, state

COVERS = 10
"""Number of cover choices: a plain one, eight from the page, and an upload."""
PICTURE = ROOT / "docs/gallery.webp"
JFIF_END = 20
LYING_PHOTO = """() => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 200, height: 100 });
    const pen = canvas.getContext("2d");
    pen.fillStyle = "#ff0000";
    pen.fillRect(0, 0, 100, 100);
    pen.fillStyle = "#0000ff";
    pen.fillRect(100, 0, 100, 100);
    return canvas.toDataURL("image/jpeg");
}"""
"""Script that draws a photo as an upright phone stores it, not yet rotated: red on the left, blue
on the right.
"""
REDNESS = """(picture, [x, y]) => {
    const canvas = document.createElement("canvas");
    const [width, height] = [picture.naturalWidth, picture.naturalHeight];
    Object.assign(canvas, { width, height });
    const pen = canvas.getContext("2d");
    pen.drawImage(picture, 0, 0);
    const [red, , blue] = pen.getImageData(x * width, y * height, 1, 1).data;
    return red - blue;
}"""
"""Script that returns how red a picture is at a position, given as fractions of its sides."""
SCROLLED_PX = 400
UPLOADED_WIDTH = 892


def _choose(person: BrowserUser, label: str) -> None:
    # The visible control covers the native one, so force the check.
    person.page.get_by_label(label, exact=True).check(force=True)


def _send(person: BrowserUser, **fields: str) -> str:
    for name, text in fields.items():
        person.page.locator(f"[name={name}]").fill(text)
    person.agree()
    person.page.wait_for_url("**/share")
    return person.page.url.split("/")[-2]


def _wait_for_taker(reader: httpx.Client, packet_id: str, name: str) -> None:
    """Wait until a packet's list has a claimer's name, which the payout stores."""
    wait_for(
        lambda: reader.get(f"/packets/{packet_id}").json()["claims"][0]["nickname"] == name,
        f"the name of {name}",
    )


def _wait_for_picture(person: BrowserUser) -> None:
    picture = person.page.locator("red-packet .has-art img")
    picture.evaluate("picture => picture.decode()")  # rejects files that are not pictures
    assert picture.evaluate("picture => picture.naturalWidth") == UPLOADED_WIDTH


def _wait_until_scrolled(person: BrowserUser) -> None:
    # Poll from here, because the page's content policy forbids wait_for_function.
    for _ in range(100):
        if person.page.evaluate("scrollY") > SCROLLED_PX:
            return
        person.page.wait_for_timeout(50)
    raise AssertionError("the page is at its top")


def test_limits_are_shown_while_the_user_types_an_amount(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("una", 1_000)
    una = a_person("Una", "/send")
    told = una.page.locator("#amount-wrong")
    expect(told).to_have_text("单个红包 0.01 到 200 元")
    expect(una.page.get_by_text("拼手气方式")).to_be_hidden()
    una.page.locator("[name=amount]").fill("601")
    una.page.locator("[name=count]").fill("3")
    expect(told).to_have_text("单个红包不能超过 200 元，3 个最多 600 元")
    una.shoot("send-too-large")
    _choose(una, "普通红包")
    expect(told).to_have_text("单个红包不能超过 200 元")
    una.page.locator("[name=amount]").fill("0.02")
    _choose(una, "拼手气红包")
    expect(told).to_have_text("每人至少 0.01 元")

    greeting = una.page.locator("[name=greeting]")
    una.page.locator("[name=amount]").fill("3")
    greeting.fill("恭喜\u202e发财")
    una.agree()
    expect(una.page.get_by_role("alert")).to_be_visible()
    expect(greeting).to_be_focused()
    expect(greeting).to_have_accessible_description("有不能用的字符（U+202E）")
    expect(greeting).to_have_attribute("aria-invalid", "true")
    una.audit_views("send-refused", is_strict=True)
    greeting.fill("👨‍👩‍👧‍👦" * 51)
    expect(greeting).not_to_have_attribute("aria-invalid", "true")
    assert greeting.evaluate("field => field.validationMessage") == "最多 50 个字"
    greeting.fill("👨‍👩‍👧‍👦" * 50)
    assert greeting.evaluate("field => field.validationMessage") == ""
    una.page.locator("[name=amount]").fill("1.005")
    una.page.get_by_role("button", name="塞钱进红包").click()
    expect(told).to_have_text("读不出“1.005”，请写成 88.88 这样")
    una.shoot("send-unread-amount")
    una.page.locator("[name=amount]").fill("1,50")
    expect(told).to_have_text("单个红包 0.01 到 200 元")
    expect(una.page.locator(".sum")).to_have_text("¥1.50")

    # The form keeps its fields while the user tops up the missing amount.
    una.page.locator("[name=amount]").fill("30")
    expect(una.page.locator(".shortage")).to_contain_text("还差 20.00 元")
    una.audit_views("send-short")
    una.agree("先充值 20.00 元")
    una.page.wait_for_url(re.compile("/payments/"))
    una.page.go_back()
    expect(una.page.locator("[name=amount]")).to_have_value("30")
    una.page.get_by_role("button", name="改用微信付").click()
    expect(una.page.get_by_label("付款方式")).to_have_value("wechat")
    una.agree()
    expect(una.page.locator(".qr img")).to_be_visible()


def test_the_sheet_shows_the_missing_amount_and_tops_it_up(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("vic", 1_000)
    vic = a_person("Vic", "/send")
    page, sheet = vic.page, vic.page.get_by_role("dialog")
    expect(page.get_by_text("还有 10.00 元")).to_be_visible()
    page.locator("[name=amount]").fill("15")
    page.locator("[name=count]").fill("2")
    page.get_by_role("button", name="塞钱进红包").click()
    expect(sheet).to_contain_text("零钱不够，还差 5.00 元")
    expect(sheet.get_by_role("button", name="确认")).to_have_count(0)
    vic.audit_views("send-sheet-short", is_strict=True)
    sheet.get_by_role("button", name="返回修改").click()
    expect(sheet).to_have_count(0)

    # Another send spends part of the balance while the sheet is open.
    page.locator("[name=amount]").fill("8")
    page.get_by_role("button", name="塞钱进红包").click()
    sent = operator.send(operator.as_user("vic"), total_fen=500, count=1)
    sheet.get_by_role("button", name="确认").click()
    expect(sheet).to_contain_text("还差 3.00 元")
    sheet.get_by_role("button", name=re.compile("^用微信.*充值 3.00 元")).click()

    page.wait_for_url(re.compile("/payments/"))
    expect(page.locator(".ticket")).to_contain_text("3.00")
    page.go_back()
    expect(page.locator("[name=amount]")).to_have_value("8")
    # Nothing is sent until the user confirms again.
    expect(sheet).to_have_count(0)
    items = operator.as_user("vic").get("/me/sent").json()["items"]
    assert [item["packet_id"] for item in items] == [sent]


def test_the_sheet_offers_a_way_on_if_nobody_can_pay_in(a_person: MakePerson, stack: Stack) -> None:
    config = httpx.get(f"{stack.api}/config.json", trust_env=False).json()
    wes = a_person("Wes", None)
    wes.page.route("**/config.json", lambda route: route.fulfill(json=config | {"channels": []}))
    wes.go("/send")
    expect(wes.page.get_by_text("还有 0.00 元")).to_be_visible()
    wes.page.locator("[name=amount]").fill("1")
    wes.page.locator("[name=count]").fill("1")

    wes.page.get_by_role("button", name="塞钱进红包").click()

    sheet = wes.page.get_by_role("dialog")
    expect(sheet).to_contain_text("零钱不够，还差 1.00 元")
    expect(sheet).to_contain_text("收到的红包会存入零钱；也可以少发一些")
    wes.shoot("send-sheet-no-way-in", full=False)
    sheet.get_by_role("button", name="返回修改").click()
    expect(wes.page.locator("[name=amount]")).to_have_value("1")


def test_the_chosen_split_stays_selected_and_is_sent(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("sue", 1_000)
    sue = a_person("Sue", "/send")
    sue.page.get_by_text("更多玩法").click()
    split = sue.page.locator("select[name=split]")

    split.select_option("bell")
    sue.page.locator("[name=greeting]").fill("恭喜")

    expect(split).to_have_value("bell")
    expect(split.locator("option:checked")).to_have_text("多数差不多")
    with sue.page.expect_request(lambda request: request.method == "POST") as sent:
        _send(sue, amount="10", count="3")
    assert (sent.value.post_data_json or {})["split"] == "bell"


def test_a_packet_for_chosen_users_is_theirs_alone(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("vic", 10_000)
    sender = operator.as_user("vic", nickname="Vic")
    for guest, name in (("wes-guest", "Wes"), ("xia-guest", "小霞")):
        packet_id = operator.send(sender, count=2, total_fen=200)
        operator.grab(guest, packet_id, name)
        _wait_for_taker(sender, packet_id, name)
    vic = a_person("Vic", "/send")
    _choose(vic, "指定的人")
    expect(vic.page.locator(".people label")).to_have_count(2)
    vic.page.get_by_role("button", name="塞钱进红包").click()
    expect(vic.page.locator("#people-wrong")).to_have_text("请选至少一个人")
    vic.page.get_by_role("checkbox", name="小霞").check(force=True)
    vic.audit_views("send-people")

    packet_id = _send(vic, amount="6.66", count="1")
    vic.go(f"/packets/{packet_id}")
    state(vic.page, "watching").to_be_visible()

    assert operator.grab("wes-guest", packet_id)["code"] == "not_invited"
    assert operator.grab("xia-guest", packet_id)["amount_fen"] == 666
    expect(vic.page.locator("red-packet li")).to_contain_text("小霞")


def test_a_packet_for_one_user_goes_to_the_first_who_opens_its_link(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("yan", 10_000)
    yan = a_person("Yan", "/send")
    _choose(yan, "一个人")
    expect(yan.page.locator("[name=count]")).to_have_count(0)
    yan.shoot("send-one-dark")
    packet_id = _send(yan, amount="5.20")

    zoe = a_person("Zoe", f"/packets/{packet_id}")
    coin(zoe.page).click()
    state(zoe.page, "opened").to_be_visible()

    assert amount_fen(zoe.page) == 520
    assert operator.grab("late", packet_id)["code"] == "packet_emptied"


def test_a_gallery_cover_is_shown_on_the_packet_its_ticket_and_its_card(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("abe", 10_000)
    abe = a_person("Abe", "/send")
    abe.page.locator("summary", has_text="红包封面").click()
    expect(abe.page.locator(".covers label")).to_have_count(COVERS)
    _choose(abe, "中秋")
    expect(abe.page.locator("rp-covers red-packet .has-art")).to_be_visible()
    abe.page.wait_for_timeout(300)
    abe.audit_views("send-cover-gallery")

    packet_id = _send(abe, amount="8.88", count="2")
    expect(abe.page.locator(".ticket-cover")).to_be_visible()
    abe.shoot("share-cover")
    with abe.page.expect_download() as download:
        abe.page.get_by_role("button", name="保存红包卡片").click()
    download.value.save_as(SHOTS / "card-cover.png")
    told = operator.as_user("abe").get(f"/packets/{packet_id}").json()["cover_url"]
    assert told == f"{abe.api}/covers/moon.svg"
    bea = a_person("Bea", None, locale="en-GB", viewport={"width": 1280, "height": 800})
    bea.go(f"/packets/{packet_id}")
    state(bea.page, "ready").to_be_visible()
    expect(bea.page.locator("red-packet .has-art img")).to_be_visible()
    bea.shoot("packet-cover-desktop", full=False)


def test_the_picture_of_a_sender_is_shown_until_an_operator_removes_it(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("ned", 10_000)
    ned = a_person("Ned", "/send")
    ned.page.locator("summary", has_text="红包封面").click()
    picture = ned.page.locator(".upload input")
    picture.set_input_files({"name": "a.heic", "mimeType": "image/heic", "buffer": b"no picture"})
    expect(ned.page.get_by_text("打不开这张图片")).to_be_visible()
    picture.set_input_files(PICTURE)
    expect(ned.page.locator(".covers [value^='/pictures/']")).to_be_checked()
    _wait_for_picture(ned)
    ned.audit_views("send-cover-own")

    packet_id = _send(ned, amount="8.88", count="2")
    told = operator.as_user("ned").get(f"/packets/{packet_id}").json()["cover_url"]
    shown = httpx.get(told, trust_env=False)
    assert (shown.headers["content-type"], shown.content[8:12]) == ("image/webp", b"WEBP")
    assert b"EXIF" not in shown.content
    oda = a_person("Oda", None, locale="en-GB", viewport={"width": 1280, "height": 800})
    oda.go(f"/packets/{packet_id}")
    _wait_for_picture(oda)
    oda.shoot("packet-cover-own", full=False)

    assert operator.http.delete("/admin/pictures/" + told.rpartition("/")[2]).is_success
    late = a_person("Pia", None)
    late.go(f"/packets/{packet_id}")
    state(late.page, "ready").to_be_visible()
    expect(late.page.locator("red-packet .has-art")).to_have_count(0)


def test_a_rotated_phone_photo_is_upright_on_the_packet_and_in_the_api(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("kai", 10_000)
    kai = a_person("Kai", "/send")
    lying = base64.b64decode(kai.page.evaluate(LYING_PHOTO).partition(",")[2])
    photo = lying[:JFIF_END] + exif_segment(6, "<", secret=b"31.2304N") + lying[JFIF_END:]
    kai.page.locator("summary", has_text="红包封面").click()
    kai.page.locator(".upload input").set_input_files(
        {"name": "photo.jpg", "mimeType": "image/jpeg", "buffer": photo}
    )
    _wait_for_picture(kai)
    shown = kai.page.locator("red-packet .has-art img")
    # The left side of the photo is now on top.
    assert shown.evaluate(REDNESS, [0.5, 0.1]) > shown.evaluate(REDNESS, [0.5, 0.9])
    assert shown.evaluate(REDNESS, [0.1, 0.1]) > shown.evaluate(REDNESS, [0.9, 0.9])
    kai.audit_views("send-cover-photo")

    body = {"picture": base64.b64encode(photo).decode()}
    sender = operator.as_user("kai")
    path = sender.post("/me/pictures", json=body).json()["cover_url"]
    assert b"31.2304N" not in httpx.get(kai.api + path, trust_env=False).content
    lea = a_person("Lea", f"/packets/{operator.send(sender, cover_url=path)}")
    direct = lea.page.locator("red-packet .has-art img")
    sides = direct.evaluate(
        "each => each.decode().then(() => [each.naturalWidth, each.naturalHeight])"
    )
    assert sides == [100, 200]
    assert direct.evaluate(REDNESS, [0.5, 0.1]) > direct.evaluate(REDNESS, [0.5, 0.9])


def test_a_winner_can_change_the_address_until_the_goods_are_shipped(
    a_person: MakePerson, operator: Operator
) -> None:
    campaign_id = plan(operator, miss_weight=0)
    put_prize(operator, campaign_id, "tea", title="明前龙井")
    winners = f"/admin/campaigns/{campaign_id}/winners"
    key = {"Idempotency-Key": "of-cal"}
    response = operator.as_user("cal").post(f"/campaigns/{campaign_id}/draws", headers=key)
    assert response.json()["outcome"] == "won", response.text
    cal = a_person("Cal", f"/campaigns/{campaign_id}")
    cal.page.get_by_role("button", name="我的奖品").click()
    form = cal.page.locator("form.address")
    form.get_by_label("收件人").fill("王小明")
    # Numbers copied from a phone's contacts may contain direction marks and full-width digits.
    form.get_by_label("电话").fill("\u202d１３８ 0013\u20138000\u202c")
    form.get_by_label("地址").fill("上海市世纪大道 1 号")
    cal.audit_views("address-form")
    form.get_by_role("button", name="保存收货信息").click()
    expect(cal.page.locator("rp-address")).to_contain_text("上海市世纪大道 1 号")
    expect(cal.page.locator("rp-address").get_by_role("status")).to_have_text("待发货")
    (won,) = operator.http.get(winners).json()["items"]
    assert (won["recipient"], won["phone"]) == ("王小明", "138 0013-8000")

    handed = operator.http.put(f"{winners}/{won['unit']}", json={"status": "handed_over"})
    assert handed.is_success, handed.text
    cal.go(f"/campaigns/{campaign_id}#prizes")
    cal.page.reload()
    cal.page.emulate_media(color_scheme="dark")
    expect(cal.page.locator("rp-address")).to_contain_text("奖品已发出")
    expect(cal.page.get_by_role("button", name="修改收货信息")).to_have_count(0)
    cal.audit_views("address-sent")


def test_reload_and_back_keep_the_tab(a_person: MakePerson, operator: Operator) -> None:
    operator.fund("dot", 5_000)
    sender = operator.as_user("dot", nickname="Dot")
    for _ in range(12):
        operator.send(sender, total_fen=100, count=1)
    dot = a_person("Dot", "/")
    dot.page.get_by_role("tab", name="发出的红包").click()
    expect(dot.page.locator(".items li")).to_have_count(12)
    dot.page.evaluate("scrollTo(0, 500)")
    dot.page.reload()
    expect(dot.page.get_by_role("tab", name="发出的红包")).to_have_attribute(
        "aria-selected", "true"
    )
    expect(dot.page.locator(".items li")).to_have_count(12)
    _wait_until_scrolled(dot)

    dot.page.locator(".items a").last.click()
    dot.page.wait_for_url("**/packets/*")
    dot.page.go_back()

    expect(dot.page.get_by_role("tab", name="发出的红包")).to_have_attribute(
        "aria-selected", "true"
    )
    _wait_until_scrolled(dot)
