"""The page inside WeChat, with a fake of WeChat's browser and the simulated gateway."""

import json
import re
import subprocess
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Route, expect

from local import places
from local.stack import Stack
from tests.browser.conftest import DESK, BrowserUser, MakePerson, Operator
from tests.browser.speech import WECHAT_AGENT
from tests.browser.test_campaigns import plan, put_prize
from tests.browser.test_classic_packet import coin, state
from tests.browser.test_sending import PICTURE
from tests.browser.test_sign_in import NODE


def _configure(person: BrowserUser, stack: Stack) -> None:
    """Configure the page as in a stack whose users sign in through WeChat."""
    config = httpx.get(f"{stack.api}/config.json", trust_env=False).json()
    told = json.dumps(config | {"auth": {"kind": "wechat"}})
    person.page.route("**/config.json", lambda route: route.fulfill(body=told))


_BRIDGE = """globalThis.WeixinJSBridge = {
    invoke(name, options, done) {
        globalThis.inWeChat(name, JSON.stringify(options)).then(() => done({ err_msg: "ok" }));
    },
};"""
_JS_SDK = """globalThis.wx = {
    config({ signature }) { this.signature = signature; },
    ready(done) { if (this.signature.length === 40) done(); },
    error() {},
    updateAppMessageShareData(card) { document.body.dataset.card = JSON.stringify(card); },
    updateTimelineShareData() {},
};"""


def _simulate(person: BrowserUser, stack: Stack) -> list[tuple[str, dict[str, Any]]]:
    """Give the page fakes of WeChat's bridge and JS-SDK. The user agrees to all requests."""
    calls: list[tuple[str, dict[str, Any]]] = []

    def agree(name: str, options: str) -> None:
        calls.append((name, json.loads(options)))
        path = person.page.url.rpartition("/")[2]
        body = {"payment_id": path}
        if name == "requestMerchantTransfer":
            (transfer,) = person.page.evaluate("globalThis.transfers")
            body = {"withdrawal_id": transfer}
        action = "confirm" if "withdrawal_id" in body else "pay"
        answer = httpx.post(
            f"{stack.gateway}/_fake/{action}", json=body, trust_env=False, timeout=30
        )
        assert answer.is_success, answer.text

    person.page.expose_function("inWeChat", agree)
    person.page.add_init_script(_BRIDGE)
    person.page.route("https://res.wx.qq.com/**", lambda route: route.fulfill(body=_JS_SDK))
    return calls


@pytest.fixture
def a_guest(a_person: MakePerson, stack: Stack) -> MakePerson:
    """Return a factory of users whose phones show the page in WeChat or in another browser."""

    def make(path: str, *, user_agent: str = WECHAT_AGENT, **options: Any) -> BrowserUser:
        person = a_person(None, None, user_agent=user_agent, **options)
        _configure(person, stack)
        person.requests = _simulate(person, stack)  # type: ignore[attr-defined]
        person.go(path)
        return person

    return make


def test_wechat_signs_in_without_a_form_and_returns_to_the_page(
    a_guest: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send(total_fen=1_000, count=2)
    path = f"/packets/{packet_id}?via=friend#top"

    ann = a_guest(path)
    state(ann.page, "ready").to_be_visible()
    assert ann.page.url == ann.api + path  # The URL no longer has the code.
    coin(ann.page).click()
    state(ann.page, "opened").to_be_visible()
    ann.page.reload()

    state(ann.page, "opened").to_be_visible()
    kept = ann.page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert "eyJ" not in kept
    assert "redpacket.wechat-sign-in" not in kept


def test_wechat_gives_no_name_so_the_page_asks_once_after_the_amount(
    a_guest: MakePerson, operator: Operator
) -> None:
    packets = [operator.send(count=3) for _ in range(2)]
    path, next_path = (f"/packets/{packet_id}" for packet_id in packets)

    def open_packet(person: BrowserUser, path: str) -> None:
        person.go(path)
        coin(person.page).click()
        state(person.page, "opened").to_be_visible()

    named, shy = a_guest(path), a_guest(path)
    for person in (named, shy):
        open_packet(person, path)
        sheet = person.page.get_by_role("dialog", name="让大家认出你")
        expect(sheet).to_be_visible()
        expect(sheet.get_by_role("button", name="退出登录")).to_have_count(0)
        if person is named:
            person.audit_views("wechat-face", is_strict=True)
            sheet.get_by_label("昵称", exact=True).fill("微信小明")
            sheet.get_by_role("button", name="就用这个").click()
        else:
            sheet.get_by_role("button", name="以后再说").click()
        expect(sheet).to_have_count(0)
        open_packet(person, next_path)
        person.page.wait_for_timeout(2_500)  # The sheet would have opened by now.
        expect(sheet).to_have_count(0)

    claims = operator.as_user("reader").get(next_path).json()["claims"]
    assert [claim["nickname"][:2] for claim in claims] == ["微信", "用户"]
    expect(shy.page.get_by_role("button", name="填昵称")).to_be_visible()


def test_wechat_gives_name_and_picture_to_users_who_consent(
    a_guest: MakePerson, a_person: MakePerson, operator: Operator
) -> None:
    path = f"/packets/{operator.send(count=3)}"
    picture = "https://thirdwx.qlogo.cn/mmopen/vi_32/picture/132"
    ned = a_guest(path)
    ned.page.route("https://thirdwx.qlogo.cn/**", lambda route: route.fulfill(path=PICTURE))
    coin(ned.page).click()
    state(ned.page, "opened").to_be_visible()

    sheet = ned.page.get_by_role("dialog", name="让大家认出你")
    sheet.get_by_role("button", name="用微信的昵称和头像").click()
    expect(sheet.get_by_label("昵称", exact=True)).to_have_value(re.compile("^微信"))
    expect(sheet.get_by_label("我的图片")).to_be_checked()
    ned.shoot("wechat-face-own")
    nickname = sheet.get_by_label("昵称", exact=True).input_value()
    sheet.get_by_role("button", name="就用这个").click()
    expect(sheet).to_have_count(0)

    assert ned.page.url == f"{ned.api}{path}"
    # Other users see the name once the API has read the profile again.
    reader = a_person("Reader", path)
    reader.page.get_by_role("button", name="看看大家的手气").click()
    row = reader.page.locator("red-packet li")
    expect(row).to_contain_text(nickname)
    expect(row.locator("img")).to_have_attribute("src", picture)


def test_after_a_win_the_page_asks_for_a_name_when_the_dialog_closes(
    a_guest: MakePerson, operator: Operator
) -> None:
    campaign_id = plan(operator)
    put_prize(operator, campaign_id, "tea", title="明前龙井")
    ron = a_guest(f"/campaigns/{campaign_id}")
    sheet = ron.page.get_by_role("dialog", name="让大家认出你")

    ron.page.get_by_role("button", name="抽奖", exact=True).click()
    won = ron.page.get_by_role("dialog", name="恭喜中奖")
    expect(won.get_by_label("收件人")).to_be_visible()
    expect(sheet).to_have_count(0)
    won.get_by_role("button", name="稍后").click()

    sheet.get_by_label("昵称", exact=True).fill("老榕")
    sheet.get_by_role("button", name="就用这个").click()
    expect(ron.page.locator(".bar .name")).to_have_text("老榕")


def test_an_answer_to_another_sign_in_request_signs_nobody_in(a_guest: MakePerson) -> None:
    calls: list[str] = []
    ben = a_guest("/signed-in?code=code-mallory&state=forged")
    ben.page.on("request", lambda request: calls.append(request.url))

    expect(ben.page.get_by_text("登录没有成功，请再试一次")).to_be_visible()
    assert ben.page.url == f"{ben.api}/"
    assert not [url for url in calls if "/auth/wechat" in url]
    ben.page.get_by_role("button", name="登录").click()
    expect(ben.page.get_by_role("tab", name="收到的红包")).to_be_visible()
    assert ben.page.url == f"{ben.api}/"


def test_a_refused_code_does_not_cause_a_redirect_loop(a_guest: MakePerson, stack: Stack) -> None:
    visits: list[str] = []

    def refuse(route: Route) -> None:
        visits.append(route.request.url)
        state_ = parse_qs(urlsplit(route.request.url).query)["state"][0]
        back = f"{stack.api}/signed-in?code=used&state={state_}"
        route.fulfill(status=302, headers={"location": back})

    cat = a_guest("/signed-in")
    cat.page.route("**/connect/oauth2/authorize?*", refuse)
    with cat.page.expect_response("**/auth/wechat") as refused:
        cat.page.get_by_role("button", name="登录").click()

    assert refused.value.status == 422
    expect(cat.page.get_by_text("登录没有成功，请再试一次")).to_be_visible()
    assert len(visits) == 1


def test_another_browser_shows_how_to_open_the_link_in_wechat(
    a_guest: MakePerson, operator: Operator
) -> None:
    packet_id = operator.send(total_fen=1_000, count=2)
    dan = a_guest(f"/packets/{packet_id}", user_agent="Mozilla/5.0 Chrome/120.0 Mobile")

    state(dan.page, "signed_out").to_be_visible()
    dan.page.get_by_role("button", name="登录后领取").click()

    expect(dan.page.get_by_text("请在微信里打开这个链接")).to_be_visible()
    code = dan.page.get_by_role("img", name="用手机扫码打开")
    expect(code).to_have_count(0)  # A phone can't scan its own screen.
    dan.audit_views("wechat-elsewhere")
    dan.page.set_viewport_size(DESK)
    dan.page.reload()
    dan.page.get_by_role("button", name="登录后领取").click()
    expect(dan.page.locator("rp-sign-in").get_by_role("img", name="用手机扫码")).to_be_visible()
    dan.audit_views("wechat-elsewhere-code")


def test_money_moves_from_a_payment_to_a_shared_packet_and_to_a_withdrawal(
    a_guest: MakePerson, stack: Stack
) -> None:
    eve = a_guest("/send", color_scheme="dark")
    page, requests = eve.page, eve.requests  # type: ignore[attr-defined]

    page.locator("[name=amount]").fill("5")
    page.locator("[name=count]").fill("1")
    page.locator("[name=greeting]").fill('<b>"新年"</b>')
    page.get_by_label("付款方式").select_option("wechat")
    eve.agree()
    page.wait_for_url("**/share")

    # The payment uses WeChat's own form instead of a code on the same screen.
    ((name, prompt),) = requests
    assert name == "getBrandWCPayRequest"
    assert set(prompt) == {"appId", "timeStamp", "nonceStr", "package", "signType", "paySign"}

    # The card that WeChat's menu shares has the greeting and the link, but no amount.
    card = json.loads(page.locator("body[data-card]").get_attribute("data-card") or "")
    assert card["title"] == '<b>"新年"</b>'
    assert card["link"].startswith(page.url.removesuffix("/share"))
    assert card["imgUrl"] == f"{eve.api}/share.png"
    assert not any(sign in card["desc"] for sign in ("5.00", "元", "¥"))  # A token can contain a 5.
    page.get_by_role("button", name="发给朋友").click()
    expect(page.get_by_role("dialog")).to_contain_text("右上角")
    eve.shoot("wechat-menu", full=False)
    page.get_by_role("button", name="知道了").click()
    expect(page.get_by_role("dialog")).to_have_count(0)

    # Users save these pictures with a long press.
    code = page.get_by_role("img", name="扫一扫领红包")
    assert (code.get_attribute("src") or "").startswith("data:image/png;base64,")
    page.get_by_role("button", name="保存红包卡片").click()
    page.locator("img.card-picture").wait_for()
    eve.audit_views("wechat-share")

    # The sender claims the only share, and withdraws it to the account that signed in.
    page.get_by_role("link", name="去看看这个红包").click()
    page.get_by_role("button", name="我也拆一个").click()
    coin(page).click()
    state(page, "opened").to_be_visible()
    expect(page).to_have_title('<b>"新年"</b> · 红包')
    for _ in range(20):  # Wait until the share is settled.
        eve.go("/wallet")
        expect(page.locator(".balance")).not_to_have_text("–")
        if page.locator(".balance").inner_text() == "¥5.00":
            break
        page.wait_for_timeout(1000)
    expect(page.locator(".balance")).to_have_text("¥5.00")
    form = page.locator("form", has=page.get_by_role("heading", name="提现"))
    form.get_by_label("提现: 金额").fill("5")  # WeChat is the first provider
    with page.expect_response(lambda answer: answer.request.method == "POST") as made:
        eve.agree("提现 ¥5.00")
    number = made.value.json()["withdrawal_id"]
    page.evaluate("id => { globalThis.transfers = [id]; }", number)
    stack.aws("lambda").invoke(  # Run the scheduled task at once.
        FunctionName=stack.outputs["TransferFunction"], Payload=b'{"task": "dispatch"}'
    )
    page.get_by_role("dialog").get_by_role("button", name="完成").click()
    page.get_by_role("button", name="确认收款").click()
    expect(page.get_by_text("已到账")).to_be_visible()
    assert [each for each, _ in requests] == ["getBrandWCPayRequest", "requestMerchantTransfer"]
    expect(page.locator(".balance")).to_have_text("¥0.00")
    eve.shoot("wechat-wallet")


def test_a_crawler_sees_greeting_and_sender_but_nothing_of_an_exclusive_packet(
    operator: Operator, stack: Stack
) -> None:
    guest = operator.as_user("guest").get("/me").json()["user_token"]
    packet_ids = [
        operator.send(total_fen=7_777, count=1, greeting='<i>"安"</i>'),
        operator.send(total_fen=7_777, count=1, greeting="秘密", recipients=[guest]),
    ]

    shown, hidden = [
        httpx.get(
            f"{stack.api}/packets/{packet_id}",
            headers={"accept": "text/html"},
            follow_redirects=True,
            trust_env=False,
            timeout=60,
        )
        for packet_id in packet_ids
    ]

    assert shown.headers["content-type"] == "text/html; charset=utf-8"
    assert 'property="og:title" content="&lt;i&gt;&quot;安&quot;&lt;/i&gt;"' in shown.text
    assert 'property="og:description" content="妈妈发来一个红包，快来领取"' in shown.text
    assert 'property="og:title" content="红包"' in hidden.text
    for page in (shown.text, hidden.text):
        assert "77" not in re.sub(rf"127\.0\.0\.1:\d+|{'|'.join(packet_ids)}", "", page)
    assert "秘密" not in hidden.text
    assert "妈妈" not in hidden.text


def test_the_mini_program_sends_claims_and_plays_rains_on_a_stack(
    operator: Operator, stack: Stack
) -> None:
    operator.fund("operator")
    campaign_id = plan(operator, title="开工红包雨", budget_fen=1_000)
    operator.send(operator.http, total_fen=1_000, count=2, campaign_id=campaign_id)
    script = "test/miniprogram-on-a-stack.ts"
    command = [str(NODE), script, f"{stack.api}/api", stack.gateway, campaign_id]

    played = subprocess.run(
        command, cwd=places.ROOT / "web", check=False, capture_output=True, text=True, timeout=300
    )

    assert played.returncode == 0, played.stdout + played.stderr
    told = json.loads(played.stdout.splitlines()[-1])
    assert told["bob"] + told["cat"] == 888
    assert 0 < told["rain"] < 1_000
