"""Money in and out by gateways, in a phone's browser; the fake gateway pays."""

import re

import httpx
from playwright.sync_api import Page, expect

from local.stack import Stack
from tests.browser.conftest import MakePerson, Operator

PAID_AT = re.compile(r"/payments/([0-9a-f]{32})")


def _pay(stack: Stack, page: Page) -> None:
    """Pay what the page shows, as somebody who scans it does."""
    page.wait_for_url(PAID_AT)
    match = PAID_AT.search(page.url)
    assert match
    expect(page.get_by_role("img", name="用微信扫一扫付款")).to_be_visible()
    answer = httpx.post(
        f"{stack.gateway}/_fake/pay", json={"payment_id": match[1]}, trust_env=False, timeout=30
    )
    assert answer.is_success, answer.text


def test_money_is_put_in_by_a_gateway_and_taken_out(a_person: MakePerson, stack: Stack) -> None:
    wu = a_person("Wu", "/")
    wu.page.get_by_role("link", name="钱包").click()
    expect(wu.page.locator(".balance")).to_have_text("¥0.00")
    wu.page.get_by_label("充值: 金额").fill("8,88")
    wu.shoot("wallet-amount")
    wu.page.get_by_role("button", name="充值 ¥8.88").click()
    wu.page.wait_for_url(PAID_AT)
    wu.page.reload()  # the payment is where it was
    expect(wu.page.locator(".qr img")).to_be_visible()
    wu.audit_views("payment")

    _pay(stack, wu.page)
    expect(wu.page.get_by_text("付款成功")).to_be_visible()
    wu.page.get_by_role("link", name="钱包").click()
    expect(wu.page.locator(".balance")).to_have_text("¥8.88")

    # To WeChat only an account that is bound is paid; to the host's wallet anybody.
    form = wu.page.locator("form", has=wu.page.get_by_role("heading", name="提现"))
    amount = form.get_by_label("提现: 金额")
    limits = "每次 0.30 到 1999.99 元，每天最多 10000.00 元"
    expect(form.locator(".limit")).to_have_text(limits)
    for typed, told in (
        ("abc", "读不出“abc”，请写成 88.88 这样"),
        ("99999", "零钱余额 8.88 元"),
        ("0.01", limits),
    ):
        amount.fill(typed)
        form.get_by_role("button", name=re.compile("^提现")).click()
        assert amount.evaluate("field => field.validationMessage") == told
    form.get_by_role("button", name="全部提现").click()
    expect(amount).to_have_value("8.88")
    amount.fill("2")
    form.get_by_role("button", name=re.compile("^提现")).click()
    expect(wu.page.get_by_role("alert")).to_contain_text("请先绑定收款账户")
    wu.page.get_by_role("button", name="绑定微信").click()
    expect(wu.page.get_by_text("微信已绑定")).to_be_visible()
    assert wu.page.url == f"{wu.api}/wallet"  # the code is in no history
    wu.shoot("wallet-bound")
    form.get_by_label("提现: 金额").fill("2")
    form.get_by_label("渠道").select_option("wechat")
    form.get_by_role("button", name=re.compile("^提现")).click()
    expect(wu.page.locator(".items li")).to_have_count(1)
    expect(wu.page.locator(".items li")).to_contain_text(re.compile("预计 .* 前到账"))
    expect(wu.page.locator(".balance")).to_have_text("¥6.88")
    form.get_by_label("提现: 金额").fill("2")
    form.get_by_label("渠道").select_option("host")
    form.get_by_role("button", name=re.compile("^提现")).click()
    expect(wu.page.locator(".items li")).to_have_count(2)
    expect(wu.page.locator(".balance")).to_have_text("¥4.88")
    wu.audit_views("wallet")


def test_a_packet_is_paid_by_a_gateway_and_shared_then(
    a_person: MakePerson, operator: Operator, stack: Stack
) -> None:
    xu = a_person("Xu", "/send")
    xu.page.locator("[name=amount]").fill("5")
    xu.page.locator("[name=count]").fill("2")
    xu.page.get_by_label("付款方式").select_option("wechat")
    xu.page.get_by_role("button", name="塞钱进红包").click()

    expect(xu.page.locator(".qr img")).to_be_visible()
    xu.context.set_offline(True)  # as a phone is while it changes to WeChat
    expect(xu.page.get_by_role("alert")).to_be_visible()
    _pay(stack, xu.page)
    xu.context.set_offline(False)

    xu.page.wait_for_url("**/share")
    packet_id = xu.page.url.split("/")[-2]
    assert operator.grab("guest", packet_id)["outcome"] == "claimed"
