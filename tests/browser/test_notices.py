"""Notices in a phone's browser about packets, prizes and withdrawals."""

import uuid

import httpx
from playwright.sync_api import expect

from testing.platform.servers import wait_for
from tests.browser.conftest import MakePerson, Operator
from tests.browser.test_campaigns import plan, put_prize
from tests.browser.test_classic_packet import state
from tests.browser.test_nothing_fails_blankly import RETURN_BY_BACK
from tests.browser.test_rains import plan_rain

SCHEDULES_S = 300
"""Maximum seconds until a busy machine has run the schedules for withdrawals and refunds."""


def _unread(operator: Operator, sub: str) -> int:
    # The rate limit may refuse a frequent call, which then counts as -1.
    return int(operator.as_user(sub).get("/me").json().get("unread_notices", -1))


def _thank(operator: Operator, sub: str, packet_id: str, **thanks: str) -> None:
    operator.grab(sub, packet_id)
    answer = operator.as_user(sub).post(f"/packets/{packet_id}/thanks", json=thanks)
    assert answer.is_success, answer.text


def _withdraw(user: httpx.Client, amount_fen: int) -> str:
    """Withdraw money to the host's wallet, and return the withdrawal's id."""
    order, key = (
        {"amount_fen": amount_fen, "channel": "host"},
        {"Idempotency-Key": uuid.uuid4().hex},
    )
    answer = user.post("/me/withdrawals", json=order, headers=key)
    assert answer.is_success, answer.text
    return str(answer.json()["withdrawal_id"])


def _happen(operator: Operator, sub: str) -> dict[str, str]:
    """Cause every kind of notice for *sub*, best luck only by chance; return the linked paths."""
    operator.fund(sub, 10_000)
    user = operator.as_user(sub)
    taken, ended = (operator.send(user, count=2, total_fen=fen) for fen in (888, 600))
    _thank(operator, f"{sub}-guest", taken, emoji="🎉")
    operator.grab(sub, taken)
    assert user.post(f"/packets/{ended}/end").is_success
    campaign_id = plan(operator, miss_weight=0, budget_fen=100)
    put_prize(operator, campaign_id, "tea", title="明前龙井")
    drawn = user.post(f"/campaigns/{campaign_id}/draws", headers={"Idempotency-Key": "notice"})
    assert drawn.json()["outcome"] == "won", drawn.text
    # A campaign with a rain opens with the rain, so the notice must link to the prizes.
    operator.fund("operator")
    plan_rain(operator, campaign_id, rounds=1, packets=1, total_fen=100)
    winners = f"/admin/campaigns/{campaign_id}/winners"
    (won,) = operator.http.get(winners).json()["items"]
    handed = operator.http.put(f"{winners}/{won['unit']}", json={"status": "handed_over"})
    assert handed.is_success, handed.text
    paid, back = (_withdraw(user, fen) for fen in (100, 200))
    cancelled = user.post(f"/me/withdrawals/{back}/cancel")
    assert cancelled.is_success, cancelled.text
    return {
        "taken": f"/packets/{taken}",
        "ended": f"/packets/{ended}",
        "prize": f"/campaigns/{campaign_id}#prizes",
        "paid": f"/wallet#{paid}",
        "back": f"/wallet#{back}",
    }


def test_home_counts_notices_and_each_notice_links_to_its_subject(
    a_person: MakePerson, operator: Operator
) -> None:
    paths = _happen(operator, "nora-news")
    shares = operator.as_user("nora-news").get(paths["taken"]).json()["claims"]
    best = max(shares, key=lambda share: share["amount_fen"])
    is_lucky = best["user_token"] == operator.as_user("nora-news").get("/me").json()["user_token"]
    expected = {
        ("你发的红包领完了", "¥8.88", paths["taken"]),
        ("有人向你道谢", "", paths["taken"]),
        ("没领完的红包已退回零钱", "¥6.00", paths["ended"]),
        ("你的奖品已发出", "", paths["prize"]),
        ("提现已到账", "¥1.00", paths["paid"]),
        ("提现未完成，已退回零钱", "¥2.00", paths["back"]),
    }
    if is_lucky:
        expected.add(("你是手气最佳", f"¥{best['amount_fen'] / 100:.2f}", paths["taken"]))
    count = len(expected)
    wait_for(lambda: _unread(operator, "nora-news") == count, "all notices", SCHEDULES_S)
    nora = a_person("Nora-News", "/")
    page = nora.page
    link = page.get_by_role("link", name=f"消息 {count} 条未读")

    expect(link).to_be_visible()
    nora.audit_views("notices-home", is_strict=True)
    # Notices count as read only after the list is opened.
    assert _unread(operator, "nora-news") == count
    link.click()
    rows = page.locator(".notices li")
    expect(rows).to_have_count(count)
    expect(rows.get_by_text("新", exact=True)).to_have_count(count)
    nora.audit_views("notices", is_strict=True)

    shown = rows.evaluate_all(
        """(all) => all.map((row) => [
          row.querySelector("b").innerText,
          row.querySelector(".fen")?.textContent ?? "",
          row.querySelector("a").getAttribute("href"),
        ])"""
    )
    found = {(text.removesuffix("新").strip(), fen, path) for text, fen, path in shown}
    assert found == expected
    assert _unread(operator, "nora-news") == 0
    expect(rows.filter(has_text="道谢").locator(".seal")).to_have_text("🎉")

    rows.filter(has_text="领完了").get_by_role("link").click()
    state(page, "opened").to_be_visible()
    page.go_back()
    # All notices are read.
    expect(rows).to_have_count(count)
    expect(rows.get_by_text("新", exact=True)).to_have_count(0)
    rows.filter(has_text="提现已到账").get_by_role("link").click()
    named = page.locator(".items .is-named")
    expect(named).to_contain_text("已到账")
    expect(named).to_be_in_viewport()
    page.go_back()
    rows.filter(has_text="奖品").get_by_role("link").click()
    expect(page.locator("rp-address")).to_contain_text("奖品已发出")
    nora.go("/")
    expect(page.get_by_role("link", name="消息", exact=True)).to_be_visible()


def test_a_long_list_loads_more_pages_and_shows_new_notices_first(
    a_person: MakePerson, operator: Operator
) -> None:
    operator.fund("fay-news", 5_000)
    packet_id = operator.send(operator.as_user("fay-news"), count=30, total_fen=3_000)
    for number in range(23):
        _thank(operator, f"fay-guest-{number}", packet_id, text="谢谢")
    fay = a_person("Fay-News", "/")
    expect(fay.page.locator(".ways .badge")).to_contain_text("9+")
    fay.go("/notices")
    rows = fay.page.locator(".notices li")
    expect(rows).to_have_count(20)

    fay.page.get_by_role("button", name="查看更多").click()
    expect(rows).to_have_count(23)
    expect(fay.page.get_by_role("button", name="查看更多")).to_have_count(0)
    _thank(operator, "fay-guest-late", packet_id, emoji="🙏")
    fay.page.evaluate(RETURN_BY_BACK)

    expect(rows).to_have_count(24)
    expect(rows.first.locator(".seal")).to_have_text("🙏")
    paths = rows.get_by_role("link").evaluate_all("all => all.map((each) => each.pathname)")
    assert paths == [f"/packets/{packet_id}"] * 24
    assert _unread(operator, "fay-news") == 0


def test_an_empty_list_explains_itself_and_a_list_waits_for_the_network(
    a_person: MakePerson,
) -> None:
    gil = a_person("Gil-News", "/")
    expect(gil.page.locator(".balance")).to_have_text("¥0.00")
    waits = gil.page.get_by_text("网络断开了，恢复后会继续")

    gil.context.set_offline(True)
    gil.page.get_by_role("link", name="消息", exact=True).click()
    expect(waits).to_be_visible()
    gil.shoot("notices-offline")
    assert gil.audit(is_strict=True) == []
    gil.context.set_offline(False)

    expect(gil.page.get_by_text("还没有消息")).to_be_visible()
    expect(waits).to_be_hidden()
    gil.audit_views("notices-empty", is_strict=True)
