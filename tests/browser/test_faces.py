"""Names and pictures that users choose, on the pages that show them."""

from playwright.sync_api import expect

from tests.browser.conftest import MakePerson, Operator
from tests.browser.test_classic_packet import coin, state
from tests.browser.test_sending import PICTURE


def test_a_chosen_seal_and_name_are_visible_to_all_users_at_once(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send(count=3)
    amy = a_person("Amy-Face", f"/packets/{packet_id}")
    coin(amy.page).click()
    state(amy.page, "opened").to_be_visible()

    amy.page.get_by_role("button", name="Amy-Face").click()
    sheet = amy.page.get_by_role("dialog", name="让大家认出你")
    amy.audit_views("face", is_strict=True)
    sheet.get_by_label("昵称", exact=True).fill(" ")
    sheet.get_by_role("button", name="就用这个").click()
    expect(sheet).to_be_visible()
    sheet.get_by_label("昵称", exact=True).fill("系统通知")
    sheet.get_by_role("button", name="就用这个").click()
    expect(sheet.get_by_role("alert")).to_be_visible()
    sheet.get_by_label("昵称", exact=True).fill("艾米👩‍👧")
    sheet.get_by_label("龙", exact=True).check(force=True)
    sheet.get_by_role("button", name="就用这个").click()

    expect(sheet).to_have_count(0)
    me = operator.as_user("amy-face").get("/me").json()
    assert (me["nickname"], me["avatar_url"]) == ("艾米👩‍👧", f"{amy.api}/seals/long.svg")
    # The header and the list update without a reload.
    expect(amy.page.locator(".bar .name")).to_have_text("艾米👩‍👧")
    own = amy.page.locator("red-packet li").first
    expect(own).to_contain_text("艾米👩‍👧")
    expect(own.locator("img")).to_have_attribute("src", me["avatar_url"])
    amy.shoot("face-chosen")
    amy.page.reload()
    expect(amy.page.locator(".bar .name")).to_have_text("艾米👩‍👧")
    other = a_person("Ben-Face", f"/packets/{packet_id}")
    other.page.get_by_role("button", name="看看大家的手气").click()
    seen = other.page.locator("red-packet li", has_text="艾米").locator("img")
    assert seen.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") > 0


def test_the_own_picture_is_on_the_cover_and_in_the_list_of_friends(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("cleo-face", 1_000)
    cleo = a_person("Cleo-Face", "/")
    cleo.page.get_by_role("button", name="Cleo-Face").click()
    sheet = cleo.page.get_by_role("dialog", name="让大家认出你")
    upload = sheet.get_by_label("上传图片")

    upload.set_input_files({"name": "a.png", "mimeType": "image/png", "buffer": b"no"})
    expect(sheet.get_by_text("打不开这张图片")).to_be_visible()
    upload.set_input_files(PICTURE)
    expect(sheet.get_by_label("我的图片")).to_be_checked()
    cleo.shoot("face-picture")
    sheet.get_by_role("button", name="就用这个").click()
    expect(sheet).to_have_count(0)

    client = operator.as_user("cleo-face")
    avatar_url = client.get("/me").json()["avatar_url"]
    assert avatar_url.startswith(f"{cleo.api}/pictures/")
    packet_id = operator.send(client, count=2)
    guest = a_person("Guest-Face", f"/packets/{packet_id}")
    expect(guest.page.locator("red-packet .seal img")).to_have_attribute("src", avatar_url)
    coin(guest.page).click()
    state(guest.page, "opened").to_be_visible()
    guest.go("/")
    expect(guest.page.locator(".items .seal img")).to_have_attribute("src", avatar_url)
    guest.audit_views("face-home", is_strict=True)

    # Cleo signs out in the sheet. The page then shows the device's next user, not Cleo.
    cleo.page.get_by_role("button", name="Cleo-Face").click()
    sheet.get_by_role("button", name="退出登录").click()
    question = cleo.page.get_by_role("dialog", name="要退出登录吗？")
    question.get_by_role("button", name="不退出").click()
    expect(sheet).to_be_visible()
    sheet.get_by_role("button", name="退出登录").click()
    cleo.shoot("face-sign-out", full=False)
    question.get_by_role("button", name="退出登录").click()
    cleo.page.get_by_role("button", name="Bob", exact=True).click()
    expect(cleo.page.locator(".bar .name")).to_have_text("Bob")
    expect(cleo.page.locator(".bar .seal img")).to_have_count(0)
