"""Payments and withdrawals through simulated providers, in a phone's browser."""

import re
from urllib.parse import parse_qs, urlsplit

import httpx
from playwright.sync_api import Locator, Page, Route, expect

from local.stack import Stack
from tests.browser.conftest import BrowserUser, MakePerson, Operator

PAID_AT = re.compile(r"/payments/([0-9a-f]{32})")


def _pay(stack: Stack, page: Page) -> None:
    """Pay the payment whose code the page shows, like a user who scans the code."""
    page.wait_for_url(PAID_AT)
    match = PAID_AT.search(page.url)
    assert match
    expect(page.get_by_role("img", name="用微信扫一扫付款")).to_be_visible()
    answer = httpx.post(
        f"{stack.gateway}/_fake/pay", json={"payment_id": match[1]}, trust_env=False, timeout=30
    )
    assert answer.is_success, answer.text


def _type_wrong_amounts(form: Locator) -> None:
    amount = form.get_by_label("提现: 金额")
    limits = "每次 0.30 到 1,999.99 元，每天最多 10,000.00 元"
    expect(form.locator(".limit")).to_have_text(limits)
    for typed, told in (
        ("abc", "读不出“abc”，请写成 88.88 这样"),
        ("99999", "零钱还有 8.88 元"),
        ("0.01", limits),
    ):
        amount.fill(typed)
        form.get_by_role("button", name=re.compile("^提现")).click()
        expect(form.locator(".refused")).to_have_text(told)
        expect(amount).to_be_focused()


def _top_up(wu: BrowserUser) -> None:
    wu.page.get_by_label("充值: 金额").fill("8,88")
    wu.shoot("wallet-amount")
    wu.page.get_by_role("button", name="充值 ¥8.88").click()
    sheet = wu.page.get_by_role("dialog", name="充值")
    for told in ("¥8.88", "零钱", "微信", "免费", "15 分钟内付款"):
        expect(sheet).to_contain_text(told)
    wu.audit_views("topup-sheet", is_strict=True)
    sheet.get_by_role("button", name="返回修改").click()
    expect(wu.page.get_by_label("充值: 金额")).to_have_value("8,88")
    wu.agree("充值 ¥8.88")


def test_money_is_paid_in_and_withdrawn_through_a_gateway(
    a_person: MakePerson, stack: Stack
) -> None:
    wu = a_person("Wu", "/")
    wu.page.get_by_role("link", name="钱包").click()
    expect(wu.page.locator(".balance")).to_have_text("¥0.00")
    _top_up(wu)
    wu.page.wait_for_url(PAID_AT)
    wu.page.reload()  # The page must still show the open payment.
    expect(wu.page.locator(".qr img")).to_be_visible()
    expect(wu.page.get_by_role("timer")).to_contain_text(re.compile("请在 1[45] 分 .*内付款"))
    expect(wu.page.get_by_label("在微信里打开的链接")).to_have_value(f"{wu.api}/wallet")
    wu.audit_views("payment", is_strict=True)

    _pay(stack, wu.page)
    expect(wu.page.get_by_text("付款成功")).to_be_visible()
    expect(wu.page.get_by_role("timer")).to_have_count(0)
    expect(wu.page.get_by_role("link", name="查看零钱明细")).to_be_visible()
    wu.page.get_by_role("link", name="钱包").click()
    expect(wu.page.locator(".balance")).to_have_text("¥8.88")

    # WeChat pays only users with a linked account; the host's wallet pays any user.
    form = wu.page.locator("form", has=wu.page.get_by_role("heading", name="提现"))
    amount = form.get_by_label("提现: 金额")
    _type_wrong_amounts(form)
    form.get_by_role("button", name="全部提现").click()
    expect(amount).to_have_value("8.88")
    amount.fill("2")
    wu.agree("提现 ¥2.00")
    expect(wu.page.get_by_role("alert")).to_contain_text("请先绑定收款账户")
    wu.page.get_by_role("button", name="绑定微信").click()
    expect(wu.page.get_by_text("微信已绑定")).to_be_visible()
    assert wu.page.url == f"{wu.api}/wallet"  # The URL no longer has the code.
    wu.shoot("wallet-bound")
    form.get_by_label("提现: 金额").fill("2")
    form.get_by_label("渠道").select_option("wechat")
    wu.agree("提现 ¥2.00")
    receipt = wu.page.get_by_role("dialog", name="提现已提交")
    expect(receipt).to_contain_text(re.compile("预计 .* 前到账"))
    wu.audit_views("withdrawal-receipt", is_strict=True)
    receipt.get_by_role("link", name="查看进度").click()
    expect(wu.page.locator(".items .is-named")).to_have_count(1)
    expect(wu.page.locator(".items li")).to_have_count(1)
    expect(wu.page.locator(".items li")).to_contain_text(re.compile("预计 .* 前到账"))
    expect(wu.page.locator(".balance")).to_have_text("¥6.88")
    form.get_by_label("提现: 金额").fill("2")
    form.get_by_label("渠道").select_option("host")
    wu.agree("提现 ¥2.00")
    receipt.get_by_role("button", name="完成").click()
    expect(wu.page.locator(".items li")).to_have_count(2)
    expect(wu.page.locator(".balance")).to_have_text("¥4.88")
    wu.audit_views("wallet")


def test_a_packet_is_paid_through_a_gateway_and_then_shared(
    a_person: MakePerson, operator: Operator, stack: Stack
) -> None:
    xu = a_person("Xu", "/send")
    xu.page.locator("[name=amount]").fill("5")
    xu.page.locator("[name=count]").fill("2")
    xu.page.get_by_label("付款方式").select_option("wechat")
    xu.agree()

    expect(xu.page.locator(".qr img")).to_be_visible()
    xu.context.set_offline(True)  # The page goes offline, as a hidden page may.
    expect(xu.page.get_by_text("网络断开了，恢复后会继续")).to_be_visible()
    _pay(stack, xu.page)
    xu.context.set_offline(False)

    xu.page.wait_for_url("**/share")
    packet_id = xu.page.url.split("/")[-2]
    assert operator.grab("guest", packet_id)["outcome"] == "claimed"


def test_a_host_wallet_with_a_page_url_is_opened_there(a_person: MakePerson) -> None:
    ola = a_person("Ola", "/wallet")
    prompt = {"url": "javascript:alert(1)"}

    def name_a_page(route: Route) -> None:
        payment = route.fetch().json()
        route.fulfill(json=payment | {"host": prompt})

    ola.page.route("**/api/me/payments/*", name_a_page)
    ola.page.get_by_label("充值: 金额").fill("3")
    ola.page.get_by_label("渠道").first.select_option("host")
    ola.agree("充值 ¥3.00")
    expect(ola.page.get_by_text("请在平台钱包里付款")).to_be_visible()
    prompt["url"] = "https://wallet.example/pay/1"

    link = ola.page.get_by_role("link", name="打开平台钱包付款")
    expect(link).to_have_attribute("href", prompt["url"])
    ola.audit_views("payment-host", is_strict=True)


CONFIRM_URL = "https://host.example/confirm?app=1"


def test_the_host_confirms_a_debit_from_the_balance_and_a_link_cannot(
    a_person: MakePerson, operator: Operator, stack: Stack
) -> None:
    operator.fund("pin", 1_000)
    pin = a_person("Pin", None)
    config = httpx.get(f"{stack.api}/config.json", trust_env=False).json()
    config["confirm_url"] = CONFIRM_URL
    pin.page.route("**/config.json", lambda route: route.fulfill(json=config))
    asked: list[dict[str, list[str]]] = []

    def confirm(route: Route) -> None:
        asked.append(parse_qs(urlsplit(route.request.url).query))
        route.fulfill(body="<h1>PIN</h1>", content_type="text/html")

    pin.page.route("https://host.example/**", confirm)

    def balance_fen() -> int:
        return int(operator.as_user("pin").get("/me").json()["balance_fen"])

    # The send waits for the redirect from the host's page; a wrong state sends nothing.
    pin.go("/send")
    pin.page.locator("[name=amount]").fill("5")
    pin.page.locator("[name=count]").fill("1")
    pin.agree()
    pin.page.get_by_role("heading", name="PIN").wait_for()
    pin.go("/send?confirmed=forged")
    expect(pin.page.locator("[name=amount]")).to_have_value("5")
    pin.go(f"/send?confirmed={asked[0]['state'][0]}")
    expect(pin.page.locator("[name=amount]")).to_have_value("5")
    assert balance_fen() == 1_000
    pin.agree()
    pin.page.get_by_role("heading", name="PIN").wait_for()
    question = {name: text for name, (text,) in asked[1].items()}
    assert question.pop("state") != asked[0]["state"][0]
    assert question == {
        "app": "1",
        "deed": "send",
        "amount_fen": "500",
        "user": "pin",
        "return_to": f"{pin.api}/send",
    }
    pin.go(f"/send?confirmed={asked[1]['state'][0]}")
    pin.page.wait_for_url("**/share")
    assert balance_fen() == 500

    # A state is valid only once, so the withdrawal needs another one.
    pin.go(f"/send?confirmed={asked[1]['state'][0]}")
    expect(pin.page.get_by_role("button", name="塞钱进红包")).to_be_visible()
    pin.go("/wallet")
    form = pin.page.locator("form", has=pin.page.get_by_role("heading", name="提现"))
    form.get_by_label("提现: 金额").fill("2")
    form.get_by_label("渠道").select_option("host")
    pin.agree("提现 ¥2.00")
    pin.page.get_by_role("heading", name="PIN").wait_for()
    assert (asked[2]["deed"], balance_fen()) == (["withdrawal"], 500)
    pin.go(f"/wallet?confirmed={asked[2]['state'][0]}")
    expect(pin.page.get_by_role("dialog", name="提现已提交")).to_be_visible()
    assert pin.page.url == f"{pin.api}/wallet"
    assert balance_fen() == 300
