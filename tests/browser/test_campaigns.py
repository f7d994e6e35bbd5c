"""Rain and lottery in a phone's browser."""

import re
import time
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Route, ViewportSize, expect

from testing.platform.servers import wait_for
from tests.browser.conftest import DESK, PHONE, BrowserUser, MakePerson, Operator
from tests.browser.speech import WECHAT_AGENT, fake_js_sdk, fake_speech_recognition

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def plan(operator: Operator, *, starts_in_ms: int = 0, **rules: Any) -> str:
    """Plan a campaign of one hour, which starts now by default; return its id."""
    campaign_id = f"browser-{uuid.uuid4().hex[:8]}"
    now_ms = int(time.time() * 1000)
    body = {
        "title": "新春抽大奖",
        "description": "转一转，好运来",
        "starts_at_ms": now_ms + starts_in_ms,
        "ends_at_ms": now_ms + starts_in_ms + HOUR_MS,
        "status": "on",
        **rules,
    }
    answer = operator.http.put(f"/admin/campaigns/{campaign_id}", json=body)
    assert answer.is_success, answer.text
    return campaign_id


def put_prize(operator: Operator, campaign_id: str, prize_id: str, **prize: Any) -> None:
    body = {"title": prize_id, "kind": "goods", "weight": 1, "total": 100, **prize}
    path = f"/admin/campaigns/{campaign_id}/prizes/{prize_id}"
    answer = operator.http.put(path, json=body)
    assert answer.is_success, answer.text


def take_prize(person: BrowserUser) -> None:
    """Close the dialog about a prize."""
    dialog = person.page.get_by_role("dialog", name="恭喜中奖")
    expect(dialog).to_be_visible()
    person.shoot("lottery-won", full=False)
    dialog.get_by_role("button", name=re.compile("收下|稍后")).click()


def play(person: BrowserUser) -> Locator:
    """Begin a round of the rain, and return the button that catches a packet."""
    person.page.get_by_role("button", name="开始抢").click()
    return person.page.get_by_role("button", name="抢一个")


@pytest.fixture
def lottery(operator: Operator) -> str:
    """Create a lottery in which every user wins and friends can help."""
    rules = {"attempts_per_user_per_day": 2, "helps_per_user_per_day": 3}
    operator.fund("operator")
    campaign_id = plan(operator, rules=rules, passphrase="新年快乐")
    put_prize(operator, campaign_id, "tea", title="明前龙井", description="一芽一叶", weight=3)
    put_prize(
        operator, campaign_id, "cash", title="现金红包", kind="packet", amount_fen=888, total=10
    )
    return campaign_id


def test_a_wheel_stops_at_the_drawn_prize_and_counts_the_attempts(
    a_person: MakePerson, lottery: str
) -> None:
    una = a_person(f"una-{lottery}", f"/campaigns/{lottery}")
    expect(una.page.get_by_role("heading", name="新春抽大奖")).to_be_visible()
    una.shoot("lottery")

    expect(una.page.get_by_text("一芽一叶")).to_be_visible()

    expect(una.page.get_by_text("谢谢参与").last).to_be_visible()
    expect(una.page.locator(".items")).to_contain_text("现金红包 ¥8.88")
    una.page.get_by_role("button", name="抽奖", exact=True).click()
    take_prize(una)
    expect(una.page.get_by_text("今天还能抽 1 次")).to_be_visible()
    una.page.get_by_role("button", name="再抽一次").click()
    take_prize(una)
    expect(una.page.get_by_text("今天还能抽 0 次")).to_be_visible()
    una.page.get_by_role("button", name="再抽一次").click()

    expect(una.page.get_by_role("alert")).to_contain_text("今天的抽奖次数用完了")
    # A draw can be verified only after its day is over.
    una.page.get_by_role("button", name="验证").first.click()
    expect(una.page.get_by_text("当天结束后可以验证")).to_be_visible()


def test_a_wheel_refuses_spins_after_the_daily_limit_of_wins(
    a_person: MakePerson, operator: Operator
) -> None:
    campaign_id = plan(operator, rules={"wins_per_user_per_day": 1})
    put_prize(operator, campaign_id, "tea", title="明前龙井")
    ida = a_person(f"ida-{campaign_id}", f"/campaigns/{campaign_id}")

    ida.page.get_by_role("button", name="抽奖", exact=True).click()
    take_prize(ida)

    used_up = ida.page.get_by_text("今天的中奖次数已经用完，明天再来")
    expect(used_up).to_be_visible()
    expect(ida.page.get_by_role("button", name="再抽一次")).to_be_disabled()
    ida.shoot("lottery-wins-used")
    ida.page.reload()
    expect(used_up).to_be_visible()
    expect(ida.page.get_by_role("button", name="抽奖", exact=True)).to_be_disabled()


def test_the_dialog_of_a_win_asks_for_the_address_and_the_tab_lists_the_win(
    a_person: MakePerson, operator: Operator
) -> None:
    rules = {"attempts_per_user_per_day": 3, "wins_per_user_per_day": 3}
    operator.fund("operator")
    campaign_id = plan(operator, rules=rules)
    put_prize(operator, campaign_id, "tea", title="明前龙井")
    kim = a_person(f"kim-{campaign_id}", f"/campaigns/{campaign_id}")
    dialog = kim.page.get_by_role("dialog", name="恭喜中奖")

    # The page shows the limits before the first draw.
    expect(kim.page.get_by_text("今天还能抽 3 次 最多再中 3 次")).to_be_visible()
    kim.page.get_by_role("button", name="我的奖品").click()
    expect(kim.page.get_by_text("还没有中奖")).to_be_visible()
    kim.page.get_by_role("button", name="大转盘").click()
    kim.page.get_by_role("button", name="抽奖", exact=True).click()
    expect(dialog.get_by_label("收件人")).to_be_visible()
    kim.audit_views("won-goods", is_strict=True)
    dialog.get_by_label("收件人").fill("王小明")
    dialog.get_by_label("电话").fill("138 0013 8000")
    dialog.get_by_label("地址").fill("上海市世纪大道 1 号")
    dialog.get_by_role("button", name="保存收货信息").click()
    expect(dialog.get_by_role("status")).to_have_text("待发货")
    dialog.get_by_role("button", name="收下").click()
    expect(kim.page.get_by_text("今天还能抽 2 次 最多再中 2 次")).to_be_visible()

    winners = f"/admin/campaigns/{campaign_id}/winners"
    (won,) = operator.http.get(winners).json()["items"]
    assert (won["recipient"], won["address"]) == ("王小明", "上海市世纪大道 1 号")
    # The dialog about a cash prize says that the cash is in the balance.
    put_prize(operator, campaign_id, "tea", title="明前龙井", weight=0)
    put_prize(operator, campaign_id, "cash", title="现金", kind="packet", amount_fen=888, total=10)
    kim.page.reload()
    kim.page.get_by_role("button", name="抽奖", exact=True).click()
    expect(dialog).to_contain_text("已存入零钱")
    kim.audit_views("won-cash", is_strict=True)
    dialog.get_by_role("button", name="收下").click()
    kim.page.get_by_role("button", name="我的奖品").click()
    prizes = kim.page.locator("rp-lottery .items li")
    expect(prizes).to_have_count(2)
    expect(prizes.first).to_contain_text("现金 ¥8.88")
    expect(prizes.last).to_contain_text("待发货")
    kim.audit_views("my-prizes", is_strict=True)
    assert operator.http.put(f"{winners}/{won['unit']}", json={"status": "handed_over"}).is_success
    kim.page.get_by_role("button", name="大转盘").click()
    kim.page.get_by_role("button", name="我的奖品").click()
    expect(prizes.last).to_contain_text("奖品已发出")


def test_sectors_of_a_wheel_show_their_odds_and_a_long_title_in_two_lines(
    a_person: MakePerson, operator: Operator
) -> None:
    campaign_id = plan(operator, miss_weight=5)
    put_prize(operator, campaign_id, "box", title="明前龙井茶叶礼盒装", weight=30)
    put_prize(operator, campaign_id, "cup", title="Fine porcelain tea cup", weight=15)
    ian = a_person(f"ian-{campaign_id}", f"/campaigns/{campaign_id}")
    sectors = ian.page.locator("rp-wheel .disc > g")
    expect(sectors).to_have_count(6)  # The wheel repeats its three sectors.

    texts = [sectors.nth(at).locator("text").all_text_contents() for at in range(3)]

    assert [lines[-1] for lines in texts] == ["60.0%", "30.0%", "10.0%"]
    assert ["".join(lines[:-1]) for lines in texts] == [
        "明前龙井茶叶礼盒装",
        "Fine porcelain tea cup",
        "谢谢参与",
    ]
    assert [len(lines) - 1 for lines in texts] == [2, 2, 1]
    # No text crosses a sector's edges.
    widths = sectors.evaluate_all(
        "all => all.flatMap(each => [...each.querySelectorAll('text')].map(text => "
        "text.getComputedTextLength() / -text.getAttribute('y') / 2 / Math.tan(Math.PI / 6)))"
    )
    assert max(widths) < 1
    ian.audit_views("wheel-long-titles")


def test_a_friend_who_types_the_phrase_gives_one_more_draw(
    a_person: MakePerson, operator: Operator, lottery: str
) -> None:
    inviter = operator.as_user(f"vic-{lottery}").get("/me").json()["user_token"]
    wes = a_person(f"wes-{lottery}", f"/campaigns/{lottery}?inviter={inviter}")

    wes.page.get_by_label("说出活动口令").fill("不知道")
    wes.page.get_by_role("button", name="助力", exact=True).click()
    expect(wes.page.get_by_role("alert")).to_contain_text("口令不对")
    wes.page.get_by_label("说出活动口令").fill("新年快乐")
    wes.page.get_by_role("button", name="助力", exact=True).click()

    expect(wes.page.get_by_text("助力成功")).to_be_visible()


def test_a_friend_can_speak_the_phrase(
    a_person: MakePerson, operator: Operator, lottery: str
) -> None:
    inviter = operator.as_user(f"vic-{lottery}").get("/me").json()["user_token"]
    yan = a_person(f"yan-{lottery}", f"/campaigns/{lottery}?inviter={inviter}")
    fake_speech_recognition(yan.page)

    yan.page.get_by_role("button", name="用语音说口令").click()

    expect(yan.page.get_by_text("助力成功")).to_be_visible()
    yan.shoot("help-given")


def test_a_friend_can_speak_the_phrase_in_wechat(
    a_person: MakePerson, operator: Operator, lottery: str
) -> None:
    inviter = operator.as_user(f"vic2-{lottery}").get("/me").json()["user_token"]
    path = f"/campaigns/{lottery}?inviter={inviter}"
    zoe = a_person(f"zoe-{lottery}", None, user_agent=WECHAT_AGENT)
    fake_js_sdk(zoe.page)
    zoe.go(path)

    zoe.page.get_by_role("button", name="用语音说口令").click()
    expect(zoe.page.locator("body[data-recording]")).to_be_attached()
    zoe.page.get_by_role("button", name="说完了").click()

    expect(zoe.page.get_by_text("助力成功")).to_be_visible()


def test_a_card_is_scratched_by_finger_or_by_button(a_person: MakePerson, lottery: str) -> None:
    xia = a_person(f"xia-{lottery}", f"/campaigns/{lottery}")
    xia.page.get_by_role("button", name="刮刮卡").click()

    xia.page.get_by_role("button", name="来一张").click()
    box = xia.page.locator("rp-scratch canvas").bounding_box()
    assert box
    expect(xia.page.get_by_text("恭喜中奖")).to_have_count(0)
    xia.shoot("scratch-covered")
    xia.page.mouse.move(box["x"] + 20, box["y"] + 90)
    xia.page.mouse.down()
    for step in range(40):
        xia.page.mouse.move(box["x"] + 20 + step * 7, box["y"] + 60 + (step % 5) * 14)
    xia.page.mouse.up()
    take_prize(xia)

    xia.page.get_by_role("button", name="来一张").click()
    xia.page.get_by_role("button", name="直接看结果").click()
    take_prize(xia)
    expect(xia.page.get_by_text("今天还能抽 0 次")).to_be_visible()


def test_a_reload_in_the_middle_of_a_draw_uses_one_attempt(
    a_person: MakePerson, operator: Operator, lottery: str
) -> None:
    name = f"yan-{lottery}"
    yan = a_person(name, f"/campaigns/{lottery}")

    def lose_the_answer(route: Route) -> None:
        if route.request.method == "GET":
            route.continue_()
            return
        route.fetch()
        route.abort()

    yan.page.route("**/draws", lose_the_answer)

    yan.page.get_by_role("button", name="抽奖", exact=True).click()
    expect(yan.page.get_by_role("button", name="正在抽")).to_be_visible()
    yan.page.wait_for_timeout(1_000)
    yan.page.unroute("**/draws")
    yan.page.reload()

    expect(yan.page.get_by_text("我的抽奖")).to_be_visible()
    yan.page.wait_for_load_state("networkidle")
    items = operator.as_user(name).get(f"/campaigns/{lottery}/draws").json()["items"]
    assert len(items) == 1


def test_a_rain_credits_caught_packets_within_the_quota_and_a_reload_shows_them(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, title="红包雨", budget_fen=3_000, quota_per_user=2)
    for _ in range(3):
        operator.send(operator.http, total_fen=1_000, count=2, campaign_id=campaign_id)
    zoe = a_person(
        f"zoe-{campaign_id}", f"/campaigns/{campaign_id}", reduced_motion="no-preference"
    )
    expect(zoe.page).to_have_title(re.compile("红包雨"))

    play(zoe)
    expect(zoe.page.locator(".rain-count")).to_have_text(re.compile("^[321]$"))
    expect(zoe.page.get_by_role("timer")).to_have_text(re.compile(r"^\d+ 秒$"))
    sky = zoe.page.locator("canvas")
    expect(sky).to_be_visible()
    assert sky.bounding_box() == {"x": 0, "y": 0, **PHONE}  # The rain covers the whole screen.
    expect(zoe.page.get_by_text("命中 0")).to_be_visible()
    result = zoe.page.locator(".rain-result")
    for _ in range(400):
        if not sky.is_visible():
            break
        for x in range(40, 360, 40):
            zoe.page.mouse.click(x, 300)
        zoe.shoot("rain", full=False, is_moving=True)
    expect(result).to_contain_text("你抢到 2 个，共 ¥")
    expect(zoe.page.get_by_text("你在这场活动的 2 个名额用完了")).to_be_visible()
    zoe.shoot("rain-over")
    hits = int(re.findall(r"命中 (\d+)", result.inner_text())[0])
    assert hits > 2
    caught = result.get_by_role("listitem").all_inner_texts()
    with zoe.page.expect_download() as download:
        zoe.page.get_by_role("button", name="保存海报").click()
    assert download.value.suggested_filename == "campaign.png"
    fen = sum(round(100 * float(text.removeprefix("¥"))) for text in caught)
    me = operator.as_user(zoe.name)
    wait_for(lambda: me.get("/me").json()["balance_fen"] == fen, "the shares in the purse")

    zoe.page.reload()

    expect(result.get_by_role("listitem")).to_have_count(2)
    assert sorted(result.get_by_role("listitem").all_inner_texts()) == sorted(caught)
    expect(zoe.page.get_by_role("button", name="开始抢")).to_have_count(0)


def test_a_rain_covers_a_wide_screen_and_a_rotated_one(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, title="红包雨", budget_fen=1_000)
    operator.send(operator.http, total_fen=1_000, count=2, campaign_id=campaign_id)
    path = f"/campaigns/{campaign_id}"
    moving: dict[str, Any] = {"reduced_motion": "no-preference", "color_scheme": "dark"}
    lin = a_person(f"lin-{campaign_id}", path, viewport=DESK, locale="en-US", **moving)
    lin.page.get_by_role("button", name="Start").click()
    sky = lin.page.locator("canvas")
    expect(sky).to_be_visible()
    turned: ViewportSize = {"width": PHONE["height"], "height": PHONE["width"]}
    for screen in (DESK, PHONE, turned):
        lin.page.set_viewport_size(screen)
        expect(sky).to_have_attribute("width", str(screen["width"]))
        assert sky.bounding_box() == {"x": 0, "y": 0, **screen}
        lin.page.wait_for_timeout(1_500)
        lin.shoot(f"rain-{screen['width']}", full=False, is_moving=True)


def test_a_rain_stops_while_its_campaign_is_paused(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, title="红包雨", budget_fen=1_000)
    operator.send(operator.http, total_fen=1_000, count=2, campaign_id=campaign_id)
    kai = a_person(f"kai-{campaign_id}", f"/campaigns/{campaign_id}")
    expect(play(kai)).to_be_visible()

    shown = operator.http.get(f"/admin/campaigns/{campaign_id}").json()
    body = {name: shown[name] for name in ("title", "starts_at_ms", "ends_at_ms", "budget_fen")}
    pause = {**body, "status": "off", "version": shown["version"]}
    answer = operator.http.put(f"/admin/campaigns/{campaign_id}", json=pause)

    assert answer.is_success, answer.text
    expect(kai.page.get_by_text("活动暂停中")).to_be_visible()
    expect(kai.page.get_by_role("dialog")).to_be_hidden()
    expect(kai.page.get_by_text("红包雨结束了")).to_have_count(0)
    kai.audit_views("rain-paused")


def test_a_campaign_with_prizes_and_packets_has_one_tab_for_each(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, title="新春游园", budget_fen=3_000)
    put_prize(operator, campaign_id, "tea", title="明前龙井")
    operator.send(operator.http, total_fen=1_000, count=2, campaign_id=campaign_id)
    phone: dict[str, Any] = {"viewport": {"width": 375, "height": 812}}
    cat = a_person(f"cat-{campaign_id}", f"/campaigns/{campaign_id}", **phone)
    got = cat.page.get_by_text("你抢到 1 个").first

    tap = play(cat)
    expect(tap).to_be_visible()
    assert cat.audit() == []
    tap.click()
    expect(got).to_be_visible()
    assert (cat.audit(), cat.overflow_px()) == ([], 0)
    cat.shoot("tabs-rain")
    cat.page.get_by_role("button", name="抽大奖").click()
    expect(got).to_be_hidden()
    cat.page.get_by_role("button", name="抽奖", exact=True).click()
    expect(cat.page.get_by_text("明前龙井").first).to_be_visible()
    take_prize(cat)
    expect(cat.page.get_by_role("status").filter(has_text="恭喜中奖")).to_be_visible()
    cat.shoot("tabs-lottery")
    cat.page.get_by_role("button", name="红包雨").click()

    expect(got).to_be_visible()


def test_a_rain_begins_when_its_campaign_does(a_person: MakePerson, operator: Operator) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, starts_in_ms=12_000, budget_fen=3_000)
    put_prize(operator, campaign_id, "tea", title="明前龙井")
    packet = {"total_fen": 1_000, "count": 2, "opening": "two_step"}
    operator.send(operator.http, campaign_id=campaign_id, **packet)
    assert operator.http.get(f"/campaigns/{campaign_id}").json()["packets"] == []
    dan = a_person(f"dan-{campaign_id}", f"/campaigns/{campaign_id}")
    expect(dan.page.get_by_role("timer")).to_be_visible()

    play(dan).click()

    expect(dan.page.get_by_text(re.compile(r"你抢到 1 个，共 ¥\d")).first).to_be_visible()


@pytest.mark.parametrize(
    ("ahead_ms", "locale", "passphrase"),
    [
        (
            43 * DAY_MS + 9 * HOUR_MS,
            "zh-CN",
            r"还有 43 天 9 小时 · .*月.*日 .*（中国标准时间） 开抢",
        ),
        (2 * HOUR_MS, "en-US", r"Starts in 2 h 0 min · .* \(China Standard Time\)"),
    ],
)
def test_a_campaign_counts_down_to_its_start_and_can_be_added_to_the_calendar(
    a_person: MakePerson, operator: Operator, ahead_ms: int, locale: str, passphrase: str
) -> None:
    campaign_id = plan(operator, starts_in_ms=ahead_ms + 50_000)
    ada = a_person(None, f"/campaigns/{campaign_id}", locale=locale)

    expect(ada.page.get_by_role("timer")).to_have_text(re.compile(passphrase))
    with ada.page.expect_download() as download:
        ada.page.get_by_role("button", name=re.compile("日历|calendar")).click()

    lines = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert {"BEGIN:VEVENT", "SUMMARY:新春抽大奖"} <= set(lines)
    assert (ada.audit(), ada.overflow_px()) == ([], 0)
    ada.shoot(f"countdown-{locale}")


def test_axe_finds_nothing_serious_in_games(a_person: MakePerson, lottery: str) -> None:
    bea = a_person("Bea", f"/campaigns/{lottery}?inviter={'x' * 24}")
    expect(bea.page.get_by_role("button", name="抽奖", exact=True)).to_be_visible()

    bea.audit_views("lottery")


def test_a_packet_in_shards_opens_from_its_link_and_has_a_preview(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, budget_fen=30_000)
    packet = {"kind": "equal", "total_fen": 20_001, "count": 20_001}
    path = f"/packets/{operator.send(operator.http, campaign_id=campaign_id, **packet)}"
    coin = re.compile("拆开红包|Open the red packet")

    sid = a_person("Sid", path)
    expect(sid.page.get_by_role("button", name=coin)).to_be_visible()
    sid.page.get_by_role("button", name=coin).click()
    crawler = httpx.get(f"{sid.api}{path}", headers={"accept": "text/html"})

    assert "~" in path
    expect(sid.page.locator("red-packet .amount")).to_be_visible()
    # Some chat apps percent-encode the tilde.
    sid.page.goto(f"{sid.api}{path.replace('~', '%7E')}")
    expect(sid.page.locator("red-packet .amount")).to_be_visible()
    assert crawler.headers["location"] == f"/api{path}/preview"
    assert "og:title" in httpx.get(f"{sid.api}/api{path}/preview").text
