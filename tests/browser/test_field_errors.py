"""Refusals by the API and by the browser, each shown at the refused field."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import BrowserUser, MakePerson, Operator
from tests.browser.test_campaigns import plan, put_prize

BAD = "新\u202e年"
"""Text with a character that reverses the direction of the text after it."""


@dataclass(frozen=True)
class Refusal:
    """Form that *fill* submits with a value that the API refuses. The page shows the refusal at
    *field*, inside the element *scope*.
    """

    path: str
    field: str
    fill: Callable[[BrowserUser], None]
    scope: str = "body"
    who: str = "Operator"


def _editor(name: str, value: str) -> Callable[[BrowserUser], None]:
    """Return a function that fills in a campaign with a wrong *value* and submits it."""

    def fill(boss: BrowserUser) -> None:
        page = boss.page
        page.locator("[name=title]").fill("年会")
        page.get_by_role("button", name="添加奖品").click()
        page.locator("[name='prizes.0.title']").fill("茶")
        page.locator("[name='prizes.0.percent']").fill("30")
        page.locator("[name='prizes.0.total']").fill("20")
        page.locator(f"[name='{name}']").fill(value)
        page.get_by_role("button", name="发布").click()

    return fill


def _deposit(user: str) -> Callable[[BrowserUser], None]:
    def fill(boss: BrowserUser) -> None:
        form = boss.page.locator("op-deposits form").first
        form.locator("[name=user]").fill(user)
        form.locator("[name=amount]").fill("1")
        form.get_by_role("button", name="入账").click()
        boss.page.get_by_role("dialog").get_by_role("button", name="入账").click()

    return fill


def _rain(button: str, name: str, value: str) -> Callable[[BrowserUser], None]:
    def fill(boss: BrowserUser) -> None:
        boss.page.get_by_role("button", name=button, exact=True).click()
        dialog = boss.page.get_by_role("dialog")
        dialog.locator("[name=total]").fill("1")
        dialog.locator("[name=count]").fill("1")
        dialog.locator(f"[name={name}]").fill(value)
        dialog.get_by_role("button", name=button).click()

    return fill


def _name(wu: BrowserUser) -> None:
    wu.page.locator(".who").click()
    dialog = wu.page.get_by_role("dialog")
    dialog.locator("[name=nickname]").fill(BAD)
    dialog.locator(".primary").click()


def _top_up(wu: BrowserUser) -> None:
    """Replace the sum in the request with 0, which the page itself never sends."""

    def change(route: Route) -> None:
        body = json.loads(route.request.post_data or "{}") | {"amount_fen": 0}
        route.continue_(post_data=json.dumps(body))

    wu.page.route("**/me/payments", change)
    wu.page.get_by_label("充值: 金额").fill("1")
    wu.agree("充值")


REFUSALS = {
    "a title": Refusal("/operator/new", "title", _editor("title", BAD)),
    "a description": Refusal("/operator/new", "description", _editor("description", BAD)),
    "a helpers' passphrase": Refusal(
        "/operator/new", "passphrase", _editor("passphrase", "发" * 21)
    ),
    "a prize's title": Refusal("/operator/new", "prizes.0.title", _editor("prizes.0.title", BAD)),
    "a prize's picture": Refusal(
        "/operator/new",
        "prizes.0.image_url",
        _editor("prizes.0.image_url", "https://a.example/" + "x" * 1024),
    ),
    "a user of a deposit": Refusal(
        "/operator/deposits", "user", _deposit("no user"), "op-deposits form >> nth=0"
    ),
    "a rain's greeting": Refusal(
        "/operator/campaigns/{}", "greeting", _rain("发红包雨", "greeting", BAD), "dialog"
    ),
    "a rain's start": Refusal(
        "/operator/campaigns/{}",
        "starts",
        _rain("预订红包雨", "starts", "2020-01-01T00:00"),
        "dialog",
    ),
    "a nickname": Refusal("/", "nickname", _name, "dialog", who="Field-Wu"),
    "a sum of a payment": Refusal("/wallet", "amount", _top_up, "form >> nth=0", who="Field-Wu"),
}


def _ids(page: Page) -> list[str]:
    ids: list[str] = page.locator("[id]").evaluate_all("all => all.map(each => each.id)")
    return ids


def _note(field: Locator, page: Page) -> Locator:
    """Return the first text that describes *field*."""
    described = (field.get_attribute("aria-describedby") or "").split()
    return page.locator(f"[id='{described[0]}']") if described else page.locator("#none")


@pytest.mark.parametrize("case", REFUSALS)
def test_api_refusals_are_shown_at_their_fields(
    a_person: MakePerson, operator: Operator, case: str
) -> None:
    refusal = REFUSALS[case]
    campaign_id = plan(operator, budget_fen=10_000)
    person = a_person(refusal.who, refusal.path.format(campaign_id))

    with person.page.expect_response(lambda answer: answer.status == 422, timeout=60_000):
        refusal.fill(person)

    field = person.page.locator(refusal.scope).locator(f"[name='{refusal.field}']").first
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(_note(field, person.page)).to_have_class("refused")
    expect(_note(field, person.page)).to_have_text(re.compile("."))
    expect(field).to_be_focused()
    assert len(_ids(person.page)) == len(set(_ids(person.page)))
    for scheme in ("light", "dark"):
        person.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert person.audit(is_strict=True) == []
        person.shoot(f"field-{case.replace(' ', '-')}-{scheme}", full=False)


def test_two_fields_with_the_same_name_have_separate_notes(
    a_person: MakePerson,
) -> None:
    boss = a_person("Operator", "/operator/new")
    boss.page.get_by_role("button", name="添加奖品").click()
    boss.page.locator("[name='prizes.0.title']").fill("茶")
    boss.page.locator("[name='prizes.0.percent']").fill("30")
    boss.page.locator("[name='prizes.0.total']").fill("20")
    for name in ("title", "description"):
        boss.page.locator(f"[name={name}]").fill(BAD)

    boss.page.get_by_role("button", name="发布").click()

    expect(boss.page.locator(".refused")).to_have_count(2)
    assert len(_ids(boss.page)) == len(set(_ids(boss.page)))
    assert boss.audit(is_strict=True) == []


FORMS = {
    "a deposit without a user": ("/operator/deposits", "入账", "user", "请填写"),
    "an audience without a file": ("/operator/campaigns/{}", "上传", "users", "请选择"),
    "a stock's difference": ("/operator/campaigns/{}", "改库存", "delta", "最多 1000000"),
    "a rain without a sum": ("/operator/campaigns/{}", "发红包雨", "total", "请填写"),
    "a sum of a top-up": ("/wallet", "充值", "amount", "请填写"),
}
"""Path, button, field and Chinese message of each form that the browser refuses."""


@pytest.mark.parametrize("case", FORMS)
def test_fields_refused_by_the_browser_are_reported_in_the_language_of_the_page(
    a_person: MakePerson, operator: Operator, case: str
) -> None:
    path, button, name, note = FORMS[case]
    campaign_id = plan(operator, budget_fen=10_000)
    put_prize(operator, campaign_id, "tea")
    boss = a_person("Operator", path.format(campaign_id), locale="en-US")
    boss.speak("zh-CN")
    page = boss.page
    if name == "delta":
        page.locator("[name=delta]").fill("1000001")
    page.get_by_role("button", name=re.compile(f"^{button}")).first.click()
    if button == "发红包雨":
        page.get_by_role("dialog").get_by_role("button", name=button).click()

    field = page.locator(f"[name={name}][aria-invalid=true]")
    expect(field).to_have_count(1)
    expect(_note(field, page)).to_have_text(note)
    expect(field).to_be_focused()
    assert boss.audit(is_strict=True) == []
    boss.shoot(f"refused-{case.replace(' ', '-')}", full=False)


def test_signing_out_of_the_console_requires_a_confirmation(a_person: MakePerson) -> None:
    boss = a_person("Operator", "/operator")
    page = boss.page
    page.locator(".who").click()
    question = page.get_by_role("dialog", name="要退出登录吗？")
    expect(question).to_contain_text("没保存的表单会留在这个浏览器里")
    assert boss.audit(is_strict=True) == []

    question.get_by_role("button", name="取消").click()
    expect(page.locator(".who")).to_be_visible()
    page.locator(".who").click()
    question.get_by_role("button", name="退出").click()

    expect(page.get_by_text("本机体验：选一个角色")).to_be_visible()
    expect(page.locator(".who")).to_have_count(0)
    assert page.evaluate("sessionStorage.getItem('redpacket.dev-user')") is None
