"""Operators' console in a real browser: a page of its own with lists, CSV and approvals."""

import csv
import re
import time
import uuid
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.conftest import BrowserUser, MakePerson, Operator
from tests.browser.test_campaigns import plan, put_prize

DESK: ViewportSize = {"width": 1200, "height": 800}
# ApprovalFen of the local stack plus one fen.
ABOVE_THE_LIMIT_YUAN = "1000000.01"
CACHED_MS = 130_000
"""Milliseconds until refusal counts are fetched again: two caches keep them for one minute each.
This wait is needed only if another suite read counts on the same stack.
"""


@pytest.fixture(scope="module")
def campaign(operator: Operator) -> str:
    """Plan a lottery with goods in which Quinn and Rosa win one prize each."""
    campaign_id = plan(operator, title="年货节", budget_fen=50_000)
    put_prize(operator, campaign_id, "tea", title="明前龙井", total=20)
    for sub in ("quinn", "rosa"):
        winner = operator.as_user(f"{sub}-{campaign_id}", nickname=sub.title())
        for _ in range(10):
            key = {"Idempotency-Key": uuid.uuid4().hex}
            answer = winner.post(f"/campaigns/{campaign_id}/draws", json={}, headers=key)
            if answer.is_success:
                break
            time.sleep(0.3)
        assert answer.is_success, answer.text
    return campaign_id


def _row(person: BrowserUser, text: str) -> Any:
    return person.page.get_by_role("row").filter(has_text=text)


def _agree(person: BrowserUser, name: str) -> None:
    person.page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()


def test_an_operator_filters_winners_marks_a_prize_as_shipped_and_exports_the_list(
    a_person: MakePerson, campaign: str, tmp_path: Path
) -> None:
    boss = a_person("Operator", "/", viewport=DESK)
    # Wait until the users' page has loaded all of its files.
    boss.page.wait_for_load_state("networkidle")
    loaded: list[str] = []
    boss.page.on("request", lambda request: loaded.append(request.url))
    boss.page.get_by_role("link", name="运营").click()
    _row(boss, campaign).get_by_role("link", name="年货节").click()

    expect(boss.page.get_by_text("每秒领取", exact=True)).to_be_visible()
    expect(boss.page.get_by_text("已发 2 / 20")).to_be_visible()
    boss.page.get_by_label("明前龙井: 增减数量").fill("5")
    boss.page.get_by_role("button", name="改库存").click()
    expect(boss.page.get_by_text("已发 2 / 25")).to_be_visible()
    boss.page.get_by_role("link", name="中奖名单").click()

    _row(boss, "Quinn").get_by_role("button", name="发奖").click()
    boss.page.get_by_label("备注").fill("快递")
    _agree(boss, "发奖")
    expect(_row(boss, "Quinn")).to_contain_text("已发奖")
    boss.page.get_by_label("状态").select_option("won")
    expect(_row(boss, "Quinn")).to_have_count(0)
    expect(_row(boss, "Rosa")).to_be_visible()
    assert boss.page.url.endswith("/winners?status=won")
    expect(boss.page).to_have_title("中奖名单 · 红包运营台")

    with boss.page.expect_download() as saved:
        boss.page.get_by_role("button", name="下载 CSV").click()
    saved.value.save_as(tmp_path / "winners.csv")
    with (tmp_path / "winners.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["user"], row["status"]) for row in rows] == [(f"rosa-{campaign}", "won")]
    assert saved.value.suggested_filename == f"winners-{campaign}.csv"
    # The console shares no file with the users' page.
    assets = [url for url in loaded if "/assets/" in url]
    assert assets
    assert [url for url in assets if "/assets/operator/" not in url] == []


def test_a_second_operator_approves_a_deposit_above_the_limit(
    a_person: MakePerson, operator: Operator
) -> None:
    payee = f"payee-{uuid.uuid4().hex[:8]}"
    tom = a_person(None, "/operator/deposits")
    tom.page.get_by_role("button", name="财务").click()
    # The role may not read the audit log, and the page states this.
    expect(tom.page.get_by_role("navigation").get_by_role("link", name="操作日志")).to_have_count(0)
    expect(tom.page.get_by_text("没有权限，因此不显示：提现和操作日志")).to_be_visible()
    tom.page.get_by_label("用户").fill(payee)
    tom.page.get_by_label("金额").fill(ABOVE_THE_LIMIT_YUAN)
    tom.page.get_by_role("button", name="入账").click()
    _agree(tom, "入账")
    expect(tom.page.get_by_text("正在等另一位运营批准")).to_be_visible()
    tom.page.get_by_role("link", name="审批").last.click()
    expect(tom.page.get_by_text("你提出的，需要另一位运营决定")).to_be_visible()
    expect(_row(tom, "1,000,000.01").get_by_role("button", name="批准")).to_have_count(0)
    assert operator.as_user(payee).get("/me").json()["balance_fen"] == 0

    boss = a_person("Operator", "/operator/approvals?status=awaiting", viewport=DESK)
    _row(boss, "1,000,000.01").get_by_role("button", name="批准").click()
    question = boss.page.get_by_role("dialog")
    expect(question).to_contain_text("100000001 fen")
    expect(question).to_contain_text(f"treasury 申请给 {payee} 入账 ¥1,000,000.01")
    boss.shoot("operator-approve", full=False)
    _agree(boss, "批准")

    expect(_row(boss, "1,000,000.01")).to_contain_text("已批准")
    assert operator.as_user(payee).get("/me").json()["balance_fen"] == 100_000_001


def test_campaign_money_moves_to_another_account(a_person: MakePerson, operator: Operator) -> None:
    chest, till = (f"{name}-{uuid.uuid4().hex[:8]}" for name in ("chest", "till"))
    for user in (chest, till):
        deposit = {"user": user, "amount_fen": 6_000, "is_for_campaigns": True}
        headers = {"Idempotency-Key": user}
        waits = operator.http.post("/admin/deposits", json=deposit, headers=headers).json()
        path = f"/admin/approvals/{waits['approval_id']}/approve"
        answer = operator.as_user("treasurer", scope="hongbao/admin").post(path)
        assert answer.is_success, answer.text
    boss = a_person("Operator", "/operator/deposits")

    for label, text in (("转出方", chest), ("转入方", till), ("原因", "离职")):
        boss.page.get_by_label(label).fill(text)
    boss.page.get_by_role("button", name="转移").click()
    _agree(boss, "转移")

    expect(boss.page.get_by_text(f"完成，{chest} 现有 ¥0.00")).to_be_visible()
    assert operator.as_user(till).get("/me").json()["balance_fen"] == 12_000
    boss.go("/operator/journal")
    expect(_row(boss, f"转出了 {chest} 的活动资金 ¥60.00")).to_be_visible()


def test_an_operator_ends_one_packet_of_a_campaign_with_a_reason(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, title="错发的雨", budget_fen=5_000)
    packet_id = operator.send(operator.http, campaign_id=campaign_id, count=2, total_fen=1_000)
    operator.grab("claims-before", packet_id)
    boss = a_person("Operator", f"/operator/packets?campaign_id={campaign_id}", viewport=DESK)

    _row(boss, packet_id).get_by_role("button", name="立即结束").click()
    question = boss.page.get_by_role("dialog")
    expect(question).to_contain_text("已经领走的不变，没领的一分钟内退回出钱的账户")
    boss.audit_views("console-end-packet")
    boss.page.get_by_label("原因").fill("金额写错了")
    _agree(boss, "立即结束")

    expect(boss.page.get_by_text("已结束，没领的一分钟内退回")).to_be_visible()
    expect(_row(boss, packet_id)).to_contain_text("结算中")
    expect(_row(boss, packet_id).get_by_role("button", name="立即结束")).to_have_count(0)
    boss.shoot("console-packets-ended")
    assert operator.grab("late", packet_id)["code"] in {"packet_expired", "packet_emptied"}
    boss.go(f"/operator/packets/{packet_id}")
    expect(
        boss.page.get_by_role("button", name="立即结束")
    ).to_be_visible()  # The button stays, because ending a packet again has no effect.
    boss.go(f"/operator/journal?subject=campaign:{campaign_id}")
    ended = _row(boss, f"提前结束了 活动 {campaign_id} 的红包 {packet_id}")
    ended.locator("summary").first.click()
    expect(ended).to_contain_text("金额写错了")


def test_an_auditor_finds_claims_by_reference_and_the_audit_log_records_the_search(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, title="审计的雨", budget_fen=5_000)
    packet_id = operator.send(operator.http, campaign_id=campaign_id, count=2, total_fen=1_000)
    operator.grab("audited-guest", packet_id)
    eve = a_person("Auditor", f"/operator/packets?campaign_id={campaign_id}", viewport=DESK)

    expect(_row(eve, "进行中")).not_to_contain_text(packet_id)
    _row(eve, "进行中").locator("a").first.click()
    expect(eve.page.locator("op-list").first.locator("tbody tr")).to_have_count(1)
    assert packet_id not in eve.page.content()
    eve.audit_views("console-packet-ref")
    eve.page.get_by_role("button", name="查看红包编号").click()

    expect(eve.page.get_by_role("link", name="用户看到的页面")).to_have_attribute(
        "href", f"/packets/{packet_id}"
    )
    eve.go("/operator/journal")
    expect(_row(eve, f"查看了 活动 {campaign_id} 的红包编号").first).not_to_contain_text(packet_id)


def test_a_switch_is_turned_off_with_a_reason(a_person: MakePerson) -> None:
    boss = a_person("Operator", "/operator/switches")
    row = boss.page.get_by_role("listitem").filter(has_text="提现")

    row.get_by_role("button", name="关闭").click()
    boss.page.get_by_label("原因").fill("对账中")
    _agree(boss, "关闭")
    expect(row).to_contain_text("对账中")
    row.get_by_role("button", name="打开").click()

    expect(row.get_by_role("button", name="关闭")).to_be_visible()


def test_refusals_are_shown_by_reason(a_person: MakePerson, campaign: str) -> None:
    boss = a_person("Operator", f"/operator/campaigns/{campaign}", viewport=DESK)
    rows = boss.page.locator("op-refusals ul li")
    expect(rows).to_contain_text(
        ["packet_emptied · 4321 次", "rate_limited · 12 次"], timeout=CACHED_MS
    )
    stages = boss.page.locator("op-refusals ol li")
    expect(stages.nth(1)).to_have_text(re.compile(r"抢或抽 60\d\d 次 · 75%"))
    boss.page.get_by_role("button", name="最近 24 小时").click()
    expect(rows).to_have_count(2, timeout=CACHED_MS)
    boss.audit_views("operator-refusals", is_strict=True)


def test_axe_finds_nothing_in_the_console(a_person: MakePerson, campaign: str) -> None:
    places = {
        "campaigns": "/operator",
        "new": "/operator/new",
        "campaign": f"/operator/campaigns/{campaign}",
        "edit": f"/operator/campaigns/{campaign}/edit",
        "wall": f"/operator/campaigns/{campaign}/wall",
        "winners": f"/operator/campaigns/{campaign}/winners",
        "packets": "/operator/packets",
        "approvals": "/operator/approvals",
        "deposits": "/operator/deposits",
        "withdrawals": "/operator/withdrawals",
        "switches": "/operator/switches",
        "journal": "/operator/journal",
    }
    boss = a_person("Operator", None)
    for name, path in places.items():
        boss.go(path)
        expect(boss.page.locator("h1")).to_be_visible()
        expect(boss.page.locator(".loading")).to_have_count(0)
        boss.audit_views(f"operator-{name}", is_strict=True)
