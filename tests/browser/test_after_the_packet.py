"""Phone views around a packet: history, the sender's view, thanks, a campaign."""

import re
import time

from playwright.sync_api import expect

from tests.browser.conftest import SHOTS, MakePerson, Operator
from tests.browser.test_campaigns import plan, put_prize
from tests.browser.test_classic_packet import coin, state


def test_a_sender_follows_their_packet_and_a_claimer_thanks_them(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("ann-thanked")
    ann = operator.as_user("ann-thanked", nickname="安妈妈")
    packet_id = operator.send(ann, count=3, greeting="岁岁平安")
    sender = a_person("Ann-Thanked", f"/packets/{packet_id}", color_scheme="dark")
    state(sender.page, "watching").to_be_visible()
    expect(sender.page.get_by_text("还剩 3 个")).to_be_visible()
    expect(sender.page.get_by_text("还没有人领取")).to_be_visible()
    expect(sender.page.get_by_role("link", name="分享")).to_be_visible()

    bob = a_person("Bob-Thanks", f"/packets/{packet_id}")
    coin(bob.page).click()
    state(bob.page, "opened").to_be_visible()
    bob.audit_views("packet-thanks")
    bob.page.get_by_role("button", name="🎉").click()
    expect(bob.page.get_by_text("已道谢 🎉")).to_be_visible()

    # The list updates while the sender reads it.
    expect(sender.page.get_by_text("还剩 2 个")).to_be_visible()
    expect(sender.page.locator("red-packet li")).to_contain_text("🎉")
    sender.audit_views("packet-of-sender")
    bob.page.reload()
    expect(bob.page.get_by_text("已道谢 🎉")).to_be_visible()
    expect(bob.page.locator("red-packet .thanks")).to_have_count(0)
    # The sender can also take a share of their own packet.
    sender.page.get_by_role("button", name="我也拆一个").click()
    coin(sender.page).click()
    state(sender.page, "opened").to_be_visible()
    expect(sender.page.locator("red-packet .thanks")).to_have_count(0)


def test_an_opened_packet_is_a_conversation_that_the_luckiest_user_continues(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("ann-talks")
    ann = operator.as_user("ann-talks", nickname="安妈妈")
    packet_id = operator.send(ann, count=2, total_fen=1_000, greeting="岁岁平安")
    share_no = operator.grab("cid-talks", packet_id, "小西")["share_no"]
    cid = operator.as_user("cid-talks")
    thanks = {"emoji": "🧧", "text": "新年快乐"}
    assert cid.post(f"/packets/{packet_id}/thanks", json=thanks).is_success

    bob = a_person("Bob-Talks", f"/packets/{packet_id}")
    coin(bob.page).click()
    state(bob.page, "opened").to_be_visible()
    expect(bob.page.locator("red-packet li").nth(1)).to_contain_text("新年快乐")
    # The order from the top is the amount, the list, and one bar for thanks.
    tops = [
        box["y"]
        for place in (".amount", ".records", ".thanks")
        if (box := bob.page.locator(f"red-packet {place}").bounding_box())
    ]
    assert tops == sorted(tops)
    assert len(tops) == 3
    bar = bob.page.locator("red-packet .thanks")
    expect(bar.locator("div button")).to_have_count(6)
    bar.get_by_role("button", name="更多表情").click()
    expect(bar.locator("div button")).to_have_count(12)
    field = bar.get_by_role("textbox", name="说句谢谢，20 字以内")
    field.fill("谢" * 25)
    expect(field).to_have_value("谢" * 20)
    field.fill("官方客服")
    bar.get_by_role("button", name="发送").click()
    expect(bar.get_by_role("alert")).to_be_visible()
    field.fill("谢谢老板，恭喜发财")
    bob.audit_views("packet-conversation")
    # The page shows thanks before the API has stored them, so wait for the response.
    with bob.page.expect_response(f"**/packets/{packet_id}/thanks"):
        bar.get_by_role("button", name="🌹").click()

    expect(bob.page.get_by_text("已道谢 🌹 谢谢老板，恭喜发财")).to_be_visible()
    told = operator.as_user("bob-talks").get(f"/packets/{packet_id}").json()["mine"]
    assert (told["thanks"], told["thanks_text"]) == ("🌹", "谢谢老板，恭喜发财")
    removed = operator.http.delete(f"/admin/packets/{packet_id}/thanks/{share_no}")
    assert removed.is_success

    record = ann.get(f"/packets/{packet_id}").json()
    best = "Bob-Talks" if record["luckiest"]["share_no"] == told["share_no"] else "Cid-Talks"
    winner = a_person(best, f"/packets/{packet_id}", color_scheme="dark")
    expect(winner.page.locator("red-packet li.is-best")).to_contain_text("手气最佳")
    expect(winner.page.get_by_text("新年快乐")).to_have_count(0)
    winner.audit_views("packet-best-luck")
    winner.page.get_by_role("link", name="手气最佳，接力发一个").click()
    amount = winner.page.get_by_label("总金额")
    expect(amount).to_have_value(f"{record['luckiest']['amount_fen'] / 100:.2f}")
    expect(winner.page.get_by_label("红包个数")).to_have_value("2")
    winner.shoot("send-relay")
    english = a_person(best, f"/packets/{packet_id}", locale="en-US")
    expect(english.page.get_by_role("link", name="Best luck! Send the next one")).to_be_visible()
    english.shoot("packet-best-luck-en")


def test_one_share_alone_is_not_the_best_luck_and_asks_for_no_relay(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send(count=1, total_fen=520)
    dot = a_person("Dot-Alone", f"/packets/{packet_id}")
    coin(dot.page).click()
    state(dot.page, "opened").to_be_visible()

    expect(dot.page.get_by_text("1 个红包共 5.20 元")).to_be_visible()
    expect(dot.page.get_by_role("link", name="我也发一个")).to_be_visible()
    expect(dot.page.get_by_text("手气最佳")).to_have_count(0)
    expect(dot.page.locator("red-packet .is-best")).to_have_count(0)
    dot.audit_views("packet-one-share")


def test_a_sender_ends_their_packet_and_reads_the_refund(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("ann-ends", 1_000)
    ann = operator.as_user("ann-ends", nickname="安妈妈")
    packet_id = operator.send(ann, count=2, total_fen=1_000, kind="equal")
    operator.grab("bob-before", packet_id, "小本")
    sender = a_person("Ann-Ends", f"/packets/{packet_id}")
    state(sender.page, "watching").to_be_visible()
    end = sender.page.get_by_role("button", name="立即结束", exact=True)

    end.click()
    question = sender.page.get_by_role("dialog")
    expect(question).to_contain_text("已经领走的不变，没领完的一分钟内退还到你的零钱")
    sender.audit_views("packet-end")
    question.get_by_role("button", name="取消").click()
    assert operator.as_user("ann-ends").get(f"/packets/{packet_id}").json()["status"] == "open"
    end.click()
    question.get_by_role("button", name="立即结束").click()

    expect(sender.page.get_by_text("没领完的会在一分钟内退还给发红包的人")).to_be_visible()
    expect(end).to_have_count(0)
    sender.shoot("packet-ending")
    assert operator.grab("late", packet_id)["code"] == "packet_expired"
    expect(sender.page.get_by_text("未领取的 5.00 元已退还")).to_be_visible(timeout=120_000)
    sender.shoot("packet-ended")
    record = ann.get(f"/packets/{packet_id}").json()
    assert (record["status"], record["claimed_fen"], record["refunded_fen"]) == ("closed", 500, 500)


def test_a_packet_that_has_not_started_shows_its_start_to_the_sender_and_can_be_ended(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("eva-ends", 1_000)
    start_ms = int(time.time() * 1000) + 3_600_000
    eva = operator.as_user("eva-ends")
    packet_id = operator.send(eva, total_fen=1_000, starts_at_ms=start_ms)
    sender = a_person("Eva-Ends", f"/packets/{packet_id}")
    expect(sender.page.get_by_text(re.compile(r"\d\d:\d\d:\d\d 开抢"))).to_be_visible()
    sender.shoot("packet-of-sender-before")

    sender.page.get_by_role("button", name="立即结束", exact=True).click()
    sender.page.get_by_role("dialog").get_by_role("button", name="立即结束").click()

    expect(sender.page.get_by_text("红包已结束").first).to_be_visible()
    expect(sender.page.get_by_text("未领取的 10.00 元已退还")).to_be_visible(timeout=120_000)
    record = eva.get(f"/packets/{packet_id}").json()
    assert (record["status"], record["refunded_fen"]) == ("closed", 1_000)


def test_readers_see_the_amounts_of_others_before_they_open(
    a_person: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send(count=3)
    bob = a_person("Bob-Watches", f"/packets/{packet_id}")
    watch = bob.page.get_by_role("button", name="看看大家的手气")
    state(bob.page, "ready").to_be_visible()
    expect(watch).to_have_count(0)  # no claim is visible yet
    operator.grab("cid-watched", packet_id, "小西")
    stranger = a_person(None, f"/packets/{packet_id}")
    state(stranger.page, "signed_out").to_be_visible()
    bob.page.reload()
    expect(watch).to_be_visible()
    bob.audit_views("packet-before")

    for person in (stranger, bob):
        person.page.get_by_role("button", name="看看大家的手气").click()
        expect(person.page.locator("red-packet li")).to_contain_text("小西")
        expect(person.page.locator("red-packet .sorry")).to_be_focused()
    bob.audit_views("packet-watched")
    stranger.page.get_by_role("button", name="我也拆一个").click()
    state(stranger.page, "signed_out").to_be_visible()
    bob.page.get_by_role("button", name="我也拆一个").click()
    coin(bob.page).click()
    state(bob.page, "opened").to_be_visible()
    # A user who watches during the last claim sees the list, and so does a late reader.
    stranger.page.get_by_role("button", name="看看大家的手气").click()
    operator.grab("dan-watched", packet_id, "小丹")
    expect(stranger.page.locator("red-packet .sorry")).to_have_text("手慢了，红包派完了")
    expect(stranger.page.get_by_role("button", name="我也拆一个")).to_have_count(0)
    late = a_person("Late-Reader", f"/packets/{packet_id}")
    state(late.page, "gone").to_be_visible()
    expect(late.page.locator("red-packet li")).to_have_count(3)


def test_a_late_reader_of_a_campaign_packet_finds_the_open_ones(
    a_person: MakePerson, operator: Operator
) -> None:
    campaign_id = plan(operator, title="年会红包", budget_fen=2_000)
    operator.fund("operator")
    emptied, other = (
        operator.send(operator.http, campaign_id=campaign_id, count=1) for _ in range(2)
    )
    assert operator.grab("early", emptied)["amount_fen"]

    late = a_person(f"late-{campaign_id}", f"/packets/{emptied}")
    state(late.page, "gone").to_be_visible()
    late.page.get_by_role("link", name="看看这场活动还有什么").click()

    expect(late.page).to_have_url(re.compile(f"/campaigns/{campaign_id}$"))
    expect(late.page.get_by_role("button", name="开始抢")).to_be_visible()
    packets = operator.http.get(f"/campaigns/{campaign_id}").json()["packets"]
    assert other in [packet["packet_id"] for packet in packets]


def test_history_lists_senders_greetings_and_claimed_amounts(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("ann-history")
    ann = operator.as_user("ann-history", nickname="安奶奶")
    packet_id = operator.send(ann, count=2, total_fen=900, greeting="万事如意")
    operator.grab("bob-history", packet_id)
    operator.grab("cid-history", packet_id)

    sender = a_person("Ann-History", "/", locale="en-US")
    sender.page.get_by_role("tab", name="Sent").click()
    sent = sender.page.locator(".items li")
    expect(sent).to_contain_text("万事如意")
    expect(sent).to_contain_text("2 of 2 taken")
    sender.shoot("history-sent-en")
    with sender.page.expect_download() as card:
        sender.page.get_by_role("button", name="Save as a card").click()
    assert card.value.suggested_filename == "red-packets.png"
    card.value.save_as(SHOTS / "year-card.png")

    lucky = 0
    for name in ("Bob-History", "Cid-History"):
        claimer = a_person(name, "/", color_scheme="dark")
        received = claimer.page.locator(".items li")
        for _ in range(20):
            expect(claimer.page.locator("#panel .total")).to_be_visible()
            if received.count():
                break
            claimer.page.wait_for_timeout(500)
            claimer.page.reload()
        expect(received).to_contain_text("安奶奶的红包")
        expect(received).to_contain_text("万事如意")
        lucky += received.get_by_text("手气最佳").count()
    claimer.audit_views("history-received")
    assert lucky == 1


def test_a_campaign_is_visible_without_an_account_and_a_tap_signs_in(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, miss_weight=1)
    put_prize(operator, campaign_id, "tea", title="明前龙井", weight=3)
    stranger = a_person(None, f"/campaigns/{campaign_id}")
    expect(stranger.page.get_by_role("heading", name="新春抽大奖")).to_be_visible()
    expect(stranger.page.locator(".items").get_by_text("明前龙井")).to_be_visible()
    expect(stranger.page.locator(".items").get_by_text("75.0%")).to_be_visible()
    stranger.audit_views("campaign-public")

    stranger.page.get_by_role("button", name="抽奖", exact=True).click()
    stranger.page.get_by_label("或者用别的名字").fill("访客")
    stranger.page.get_by_role("button", name="进入").click()

    expect(stranger.page).to_have_url(re.compile(f"/campaigns/{campaign_id}$"))
    stranger.page.get_by_role("button", name="抽奖", exact=True).click()
    expect(stranger.page.locator(".outcome .title, .won .title")).to_be_visible()
