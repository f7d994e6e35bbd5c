"""What senders choose: amounts within the limits, people, covers, and ways to pay."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import MakePerson, Operator, Person
from tests.browser.test_classic_packet import amount_fen, coin, state

COVERS = 9


def _choose(person: Person, label: str) -> None:
    # The native control lies under what is seen of it.
    person.page.get_by_label(label, exact=True).check(force=True)


def _send(person: Person, **fields: str) -> str:
    for name, text in fields.items():
        person.page.locator(f"[name={name}]").fill(text)
    person.page.get_by_role("button", name="塞钱进红包").click()
    person.page.wait_for_url("**/share")
    return person.page.url.split("/")[-2]


def test_limits_are_told_while_an_amount_is_typed(a_person: MakePerson, operator: Operator) -> None:
    operator.fund("una", 1_000)
    una = a_person("Una", "/send")
    told = una.page.locator("#amount-wrong")
    expect(told).to_have_text("单个红包 0.01 到 200 元")
    una.page.locator("[name=amount]").fill("601")
    una.page.locator("[name=count]").fill("3")
    expect(told).to_have_text("单个红包不能超过 200 元，3 个最多 600 元")
    una.shoot("send-too-large")
    _choose(una, "普通红包")
    expect(told).to_have_text("单个红包不能超过 200 元")
    una.page.locator("[name=amount]").fill("0.02")
    _choose(una, "拼手气红包")
    expect(told).to_have_text("每人至少 0.01 元")

    # What the balance lacks is put in on the way, and what was typed is kept.
    una.page.locator("[name=amount]").fill("30")
    expect(una.page.locator(".shortage")).to_contain_text("还差 20.00 元")
    una.shoot("send-short")
    assert (una.audit(), una.overflow_px()) == ([], 0)
    una.page.get_by_role("button", name="先充值 20.00 元").click()
    una.page.wait_for_url(re.compile("/payments/"))
    una.page.go_back()
    expect(una.page.locator("[name=amount]")).to_have_value("30")
    una.page.get_by_role("button", name="改用微信付").click()
    expect(una.page.get_by_label("付款方式")).to_have_value("wechat")
    una.page.get_by_role("button", name="塞钱进红包").click()
    expect(una.page.locator(".qr img")).to_be_visible()


def test_a_packet_for_chosen_people_is_theirs_alone(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("vic", 10_000)
    sender = operator.as_user("vic", nickname="Vic")
    for guest, name in (("wes-guest", "Wes"), ("xia-guest", "小霞")):
        packet_id = operator.send(sender, count=2, total_fen=200)
        operator.grab(guest, packet_id, name)
    vic = a_person("Vic", "/send")
    _choose(vic, "指定的人")
    expect(vic.page.locator(".people label")).to_have_count(2)
    vic.page.get_by_role("button", name="塞钱进红包").click()
    expect(vic.page.locator("#people-wrong")).to_have_text("请选至少一个人")
    vic.page.get_by_role("checkbox", name="小霞").check(force=True)
    vic.shoot("send-people")
    assert (vic.audit(), vic.overflow_px()) == ([], 0)

    packet_id = _send(vic, amount="6.66", count="1")

    assert operator.grab("wes-guest", packet_id)["code"] == "not_invited"
    assert operator.grab("xia-guest", packet_id)["amount_fen"] == 666


def test_a_packet_for_one_goes_to_the_first_who_opens_its_link(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("yan", 10_000)
    yan = a_person("Yan", "/send", color_scheme="dark")
    _choose(yan, "一个人")
    expect(yan.page.locator("[name=count]")).to_have_count(0)
    yan.shoot("send-one-dark")
    packet_id = _send(yan, amount="5.20")

    zoe = a_person("Zoe", f"/packets/{packet_id}")
    coin(zoe.page).click()
    state(zoe.page, "opened").to_be_visible()

    assert amount_fen(zoe.page) == 520
    assert operator.grab("late", packet_id)["code"] == "packet_emptied"


def test_a_cover_of_the_gallery_is_on_the_packet_its_ticket_and_its_card(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("abe", 10_000)
    abe = a_person("Abe", "/send")
    abe.page.locator("summary", has_text="红包封面").click()
    expect(abe.page.locator(".covers label")).to_have_count(COVERS)
    _choose(abe, "中秋")
    expect(abe.page.locator("rp-covers red-packet .has-art")).to_be_visible()
    abe.page.wait_for_timeout(300)
    abe.shoot("send-cover-gallery")
    assert (abe.audit(), abe.overflow_px()) == ([], 0)

    packet_id = _send(abe, amount="8.88", count="2")
    expect(abe.page.locator(".ticket-cover")).to_be_visible()
    abe.shoot("share-cover")
    with abe.page.expect_download() as download:
        abe.page.get_by_role("button", name="保存红包卡片").click()
    download.value.save_as(abe_card := f".local/screenshots/{download.value.suggested_filename}")
    assert abe_card
    told = operator.as_user("abe").get(f"/packets/{packet_id}").json()["cover_url"]
    assert told == f"{abe.api}/covers/moon.svg"
    bea = a_person("Bea", None, locale="en-GB", viewport={"width": 1280, "height": 800})
    bea.go(f"/packets/{packet_id}")
    state(bea.page, "ready").to_be_visible()
    expect(bea.page.locator("red-packet .has-art img")).to_be_visible()
    bea.shoot("packet-cover-desktop", full=False)
