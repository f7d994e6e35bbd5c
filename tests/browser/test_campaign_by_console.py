"""A whole campaign, run from the console and played on a phone, without plan files or commands."""

import csv
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from playwright.sync_api import Page, ViewportSize, expect

from local.places import ROOT
from testing.platform.servers import wait_for
from tests.browser.conftest import BrowserUser, MakePerson, Operator
from tests.browser.test_campaigns import play

DESK: ViewportSize = {"width": 1200, "height": 900}
SCREEN: ViewportSize = {"width": 1920, "height": 1080}
TITLE = "年会红包雨"
IS_DRAWN = """(line, name) => {
    const pen = document.createElement("canvas").getContext("2d");
    const style = getComputedStyle(line);
    const [color, wanted] = [style.stroke, style.getPropertyValue(name)].map(
        (text) => { pen.fillStyle = text; return pen.fillStyle; },
    );
    const box = line.ownerSVGElement.getBoundingClientRect();
    const isHigh = line.getBoundingClientRect().top < box.top + box.height / 2;
    return isHigh && box.height > 0 && color === wanted;
}"""
"""Script that returns whether a curve reaches the upper half of its box and has the color of a CSS
variable.
"""
ABOVE_THE_LIMIT_YUAN = "1,000,000.01"


def _press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def _agree(person: BrowserUser, name: str) -> None:
    person.page.get_by_role("dialog").get_by_role("button", name=name, exact=True).click()


def _fill_the_form(boss: BrowserUser) -> str:
    """Submit a campaign whose budget needs another operator's approval; return its id."""
    page = boss.page
    page.get_by_role("link", name="新建活动").click()
    page.get_by_label("标题").fill(TITLE)
    page.get_by_label("说明").fill("全体同事，开抢")
    page.get_by_label("开始").fill("2026-01-01T20:00")
    page.get_by_label("结束").fill("2036-01-01T20:00")
    page.get_by_label("红包预算").fill(ABOVE_THE_LIMIT_YUAN)
    campaign_id = page.get_by_label("活动编号").input_value()
    _press(page, "添加奖品")
    _press(page, "发布")
    expect(page.get_by_text("请填写")).to_be_visible()
    page.get_by_label("奖品名称").fill("明前龙井")
    page.get_by_label("中奖率").fill("100")
    page.get_by_label("总数").fill("20")
    preview = page.frame_locator(".preview iframe")
    states = page.locator(".preview").get_by_role("button")
    expect(preview.locator("rp-rain button.primary")).to_have_text("开始抢")
    expect(preview.locator("h1")).to_have_text(TITLE)
    expect(preview.locator("body")).not_to_contain_text(ABOVE_THE_LIMIT_YUAN)
    states.filter(has_text="开始前").click()
    expect(preview.locator(".countdown")).to_be_visible()
    states.filter(has_text="抽大奖").click()
    expect(preview.locator("rp-lottery")).to_contain_text("明前龙井")
    upload = page.get_by_label("上传图片")
    upload.set_input_files({"name": "a.heic", "mimeType": "image/heic", "buffer": b"no picture"})
    expect(page.get_by_text("这个文件不是能用的图片")).to_be_visible()
    upload.set_input_files(ROOT / "web" / "public" / "share.png")
    expect(preview.locator("img[src^='/pictures/']").first).to_be_visible()
    boss.audit_views("console-editor")
    _press(page, "发布")
    expect(page.get_by_text("正在等另一位运营批准")).to_be_visible()
    return campaign_id


def _approve(cfo: BrowserUser, campaign_id: str) -> None:
    _press(cfo.page, "财务")
    row = cfo.page.get_by_role("row").filter(has_text=f"申请修改 活动 {campaign_id}")
    expect(row).to_contain_text("¥1,000,000.01")
    cfo.shoot("console-approvals")
    row.get_by_role("button", name="批准").click()
    _agree(cfo, "批准")
    expect(row).to_contain_text("已批准")


def _send_a_rain(boss: BrowserUser, folder: Path) -> str:
    """Send a rain and save the poster; return the campaign's link."""
    page = boss.page
    _press(page, "发红包雨")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("金额").fill("1,000,000.02")
    expect(dialog).to_contain_text("超过剩余的活动预算 ¥1,000,000.01")
    _agree(boss, "发红包雨")
    expect(dialog).to_be_visible()
    dialog.get_by_label("金额").fill("88.80")
    dialog.get_by_label("个数").fill("10")
    boss.shoot("console-rain", full=False)
    _agree(boss, "发红包雨")
    expect(page.get_by_text("已发出：10 个，共 ¥88.80")).to_be_visible()
    expect(page.locator(".promote .qr img")).to_be_visible()
    with page.expect_download() as saved:
        _press(page, "下载海报")
    saved.value.save_as(folder / "poster.png")
    assert (folder / "poster.png").read_bytes().startswith(b"\x89PNG")
    return page.get_by_label("链接").input_value()


def _plan_a_rain(boss: BrowserUser, operator: Operator, campaign_id: str) -> None:
    """Plan a rain of one round; check that the API lists it without packet ids."""
    page = boss.page
    _press(page, "预订红包雨")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("金额").fill("8.80")
    dialog.get_by_label("每轮红包数").fill("1")
    dialog.get_by_label("每个红包的份数").fill("10")
    boss.shoot("console-plan-rain", full=False)
    assert boss.audit() == []
    _agree(boss, "预订红包雨")
    expect(page.get_by_text("已预订 1 轮")).to_be_visible()
    wait_for(lambda: len(_rains(operator, campaign_id)) == 1, "the rain for users")
    assert all(each["packets"] == [] for each in _rains(operator, campaign_id))


def _rains(operator: Operator, campaign_id: str) -> list[dict[str, Any]]:
    rains: list[dict[str, Any]] = operator.http.get(f"/campaigns/{campaign_id}").json()["rains"]
    return rains


def _pause_and_resume(boss: BrowserUser, ann: BrowserUser) -> None:
    """Pause the campaign, check that the phone shows this, and resume the campaign."""
    page = boss.page
    _press(page, "暂停")
    expect(page.get_by_role("dialog")).to_contain_text("用户会看到")
    _agree(boss, "暂停")
    expect(page.get_by_text("活动已暂停")).to_be_visible()
    boss.shoot("console-paused")
    _press(ann.page, "再抽一次")
    expect(ann.page.get_by_role("alert")).to_be_visible()
    _press(page, "恢复")
    _agree(boss, "恢复")
    expect(page.get_by_text("进行中")).to_be_visible()


def _edit(boss: BrowserUser, campaign_id: str) -> None:
    """Edit only the description, the end and the budget."""
    page = boss.page
    page.get_by_role("link", name="编辑", exact=True).click()
    expect(page.get_by_label("标题")).to_have_value(TITLE)
    expect(page.get_by_label("活动编号")).to_be_disabled()
    page.get_by_label("说明").fill("全员开抢")
    page.get_by_label("结束").fill("2035-06-01T21:30")
    page.get_by_label("红包预算").fill("888.88")
    boss.audit_views("console-edit")
    _press(page, "保存")
    expect(page).to_have_url(f"{boss.api}/operator/campaigns/{campaign_id}")
    expect(page.locator(".figures div").filter(has_text="预算")).to_contain_text("888.88")


def _check_audit_log(boss: BrowserUser, campaign_id: str) -> None:
    """Assert that the row about the edit names three fields: a text, a time and an amount."""
    rows = boss.page.get_by_role("row").filter(has_text=f"修改了 活动 {campaign_id}")
    edit = rows.filter(has_text="全员开抢")
    expect(edit.locator("summary").first).to_have_text("改动 3 项")
    edit.locator("summary").first.click()
    expect(edit.locator("details.changes > ul > li")).to_have_text(
        [
            re.compile(r"^\s*说明\s+全体同事，开抢\s+→\s+全员开抢\s*$"),
            re.compile(r"^\s*结束\s+2036/1/1 20:00:00\s+→\s+2035/6/1 21:30:00\s*$"),
            re.compile(r"^\s*预算\s+¥1,000,000\.01\s+→\s+¥888\.88\s*$"),
        ]
    )
    boss.audit_views("console-audit-log")
    # Rows about new objects list all fields, in the reader's language.
    boss.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    fields = boss.page.locator("details.changes li")
    expect(fields.filter(has_text="每人每天可抽").first).to_contain_text("3")
    expect(fields.filter(has_text="抽完后的权重").first).to_contain_text("分给其他奖品")
    names = fields.locator("b").all_inner_texts()
    # Leave out prizes, which are listed by id.
    named = [name for name in names if not re.fullmatch("p-[0-9a-f]{6}", name)]
    assert [name for name in named if re.search("[A-Za-z]", name)] == []
    boss.shoot("console-audit-log-all")


def _upload_people(boss: BrowserUser, folder: Path) -> None:
    """Check that no purpose is preselected, and upload a list with an invalid line."""
    page = boss.page
    file = folder / "people.csv"
    file.write_text("user\nann\nbob\n王伟\n", encoding="utf-8")
    page.get_by_label("用户文件").set_input_files(file)
    use = page.get_by_label("用途")
    expect(use).to_have_value("")
    use.select_option("deny_replace")
    _press(page, "上传")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("谁都能参加")
    expect(dialog).to_contain_text("名单里的人不能参加（2 人）")
    expect(dialog).to_contain_text("名单里原有的人都会移出")
    boss.shoot("console-audience-asks", full=False)
    _agree(boss, "上传")
    expect(page.get_by_text("已处理 2 人，名单现有 2 人")).to_be_visible()
    expect(page.get_by_text("第 4 行")).to_be_visible()


def _end(boss: BrowserUser) -> None:
    """End the campaign in a dialog that states the audience and the remaining money."""
    _press(boss.page, "立即结束")
    for fact in ("名单里的人不能参加（2 人）", "没领完的红包里最多还有"):
        expect(boss.page.get_by_role("dialog")).to_contain_text(fact)
    boss.shoot("console-end-asks", full=False)
    _agree(boss, "立即结束")


def _check_curves(page: Page) -> None:
    """Assert that both curves reach the upper half of the chart. A line of zeros would lie at the
    bottom.
    """
    curves = page.locator("op-charts polyline")
    expect(curves).to_have_count(2)
    for at, color in enumerate(("--accent", "--in")):
        assert curves.nth(at).evaluate(IS_DRAWN, color)


@pytest.mark.filterwarnings("ignore:Workbook contains no default style")
def test_the_console_and_a_phone_are_enough_to_run_a_campaign(
    a_person: MakePerson, operator: Operator, tmp_path: Path
) -> None:
    operator.fund("operator", 100_000_000)
    boss = a_person("Operator", "/operator", viewport=DESK)
    campaign_id = _fill_the_form(boss)
    _approve(a_person(None, "/operator/approvals?status=awaiting", viewport=DESK), campaign_id)
    boss.go(f"/operator/campaigns/{campaign_id}")
    expect(boss.page.get_by_text("进行中")).to_be_visible()
    link = _send_a_rain(boss, tmp_path)

    ann = a_person("Anna", None)
    ann.page.goto(link)
    expect(ann.page.get_by_role("heading", name=TITLE)).to_be_visible()
    play(ann).click()
    expect(ann.page.get_by_text("你抢到 1 个").first).to_be_visible()
    # Anna has her share of the only packet, so her round ends.
    expect(ann.page.locator(".rain-result h2")).to_be_visible()
    _press(ann.page, "抽大奖")
    expect(ann.page.locator("img[src^='/pictures/']").first).to_be_visible()
    ann.shoot("lottery-prize-uploaded")
    _press(ann.page, "抽奖")
    expect(ann.page.get_by_text("恭喜中奖")).to_be_visible()
    _press(ann.page, "稍后在“我的奖品”里处理")
    expect(boss.page.locator(".figures div").filter(has_text="已领")).to_contain_text("2")
    _check_curves(boss.page)
    _pause_and_resume(boss, ann)
    _plan_a_rain(boss, operator, campaign_id)
    _upload_people(boss, tmp_path)
    _edit(boss, campaign_id)

    boss.page.set_viewport_size(SCREEN)
    boss.go(f"/operator/campaigns/{campaign_id}/wall")
    expect(boss.page.get_by_text("明前龙井")).to_be_visible()
    boss.shoot("console-wall", full=False)
    boss.page.set_viewport_size(DESK)
    boss.go(f"/operator/campaigns/{campaign_id}/winners")
    with boss.page.expect_download() as listed:
        _press(boss.page, "下载 CSV")
    listed.value.save_as(tmp_path / "winners.csv")
    with (tmp_path / "winners.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["user"] for row in csv.DictReader(file)] == ["anna"]
    with boss.page.expect_download() as saved:
        _press(boss.page, "下载表格")
    saved.value.save_as(tmp_path / "winners.xlsx")
    head, row = load_workbook(tmp_path / "winners.xlsx").active.iter_rows(values_only=True)
    cells = dict(zip(head, row, strict=True))
    assert (cells["user"], type(cells["won_at"])) == ("anna", datetime)

    boss.go(f"/operator/campaigns/{campaign_id}")
    _end(boss)
    expect(boss.page.get_by_text("已结束").first).to_be_visible()
    boss.page.get_by_role("link", name="操作日志").last.click()
    for sentence in (
        f"operator 新建了 活动 {campaign_id}",
        f"operator 给 活动 {campaign_id} 发了一场红包雨：¥88.80，10 个，不用口令",
        f"operator 修改了 活动 {campaign_id} 的名单",
    ):
        expect(boss.page.get_by_text(sentence).first).to_be_visible()
    _check_audit_log(boss, campaign_id)
