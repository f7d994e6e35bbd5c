"""Deployment with points instead of money: the API, the CLI and the page don't mention yuan."""

import json
import os
import re
import subprocess
import time
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from local import places
from local.access import Access
from local.stack import Stack
from tests.browser.conftest import MakePerson, Operator
from tests.browser.test_campaigns import plan, put_prize
from tests.browser.test_classic_packet import coin
from tests.browser.test_operator_console import DESK
from tests.browser.test_rains import plan_rain

YUAN = re.compile(r"[¥￥]|yuan|CNY|元(?!宵)|零钱|塞钱|的钱", re.IGNORECASE)
ABOVE_APPROVAL = 100_000_001
WAIT_S = 60.0

# Script that returns all texts and labels, including those in shadow roots.
_TEXTS = """
() => {
  const texts = [document.title];
  const visit = (node) => {
    if (node.nodeType === Node.TEXT_NODE) texts.push(node.data);
    if (node.nodeType === Node.ELEMENT_NODE && /^(SCRIPT|STYLE)$/.test(node.tagName)) return;
    for (const name of ["placeholder", "aria-label", "title", "value"]) {
      texts.push(node.getAttribute?.(name) ?? "");
    }
    for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) visit(child);
  };
  visit(document.body);
  return texts.join(" ").replace(/\\s+/g, " ");
}
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    access = Access(unit="points,0,pts")
    with Stack(tmp_path_factory.mktemp("points"), access=access) as running:
        yield running


@pytest.fixture(scope="module")
def operator(stack: Stack) -> Iterator[Operator]:
    made = Operator(stack)
    yield made
    made.close()


@pytest.fixture(scope="module")
def _outcomes() -> None:
    """Write no outcome counts, because no test here reads them."""


@pytest.fixture(scope="module")
def played(operator: Operator) -> dict[str, str]:
    """Send, grab, draw, plan a rain and request an approval; return the packet and campaign ids."""
    operator.fund("operator", 1_000_000)
    packet_id = operator.send(split="base_double_mean", unit_fen=100, total_fen=2_000, count=3)
    for name in ("ann", "bob", "cid"):
        _until_claimed(operator, name, packet_id)
    campaign_id = plan(operator, title="积分雨", budget_fen=4_000, quota_per_user=4)
    put_prize(operator, campaign_id, "cash", kind="packet", amount_fen=250, total=5)
    _until_answered(operator, "ann", f"/campaigns/{campaign_id}/draws", {})
    rounds = plan_rain(operator, campaign_id, seconds=20)
    raining_id = rounds[0]["packets"][0]
    _until_claimed(operator, "bob", raining_id)
    treasurer = operator.as_user("treasurer", scope="hongbao/admin")
    deposit = {"user": "ann", "amount_fen": ABOVE_APPROVAL}
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    asked = treasurer.post("/admin/deposits", json=deposit, headers=headers)
    assert asked.status_code == 202, asked.text
    return {"packet": packet_id, "campaign": campaign_id}


def _until_answered(operator: Operator, name: str, path: str, body: Any) -> None:
    deadline = time.monotonic() + WAIT_S
    headers = {"Idempotency-Key": uuid.uuid4().hex}
    user = operator.as_user(name, nickname=name.title())
    while not (answer := user.post(path, json=body, headers=headers)).is_success:
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.5)


def _until_claimed(operator: Operator, name: str, packet_id: str) -> None:
    _until_answered(operator, name, f"/packets/{packet_id}/grab", {})


def test_answers_previews_and_exports_do_not_mention_yuan(
    stack: Stack, operator: Operator, played: dict[str, str]
) -> None:
    ids = operator.http.get("/admin/packets", params={"campaign_id": played["campaign"]}).json()
    ref = ids["items"][0]["packet_ref"]
    packet, campaign = f"/packets/{played['packet']}", f"/campaigns/{played['campaign']}"
    of_user = ["/me", "/me/sent", "/me/received", "/me/transfers", packet, f"{campaign}/draws"]
    public = [f"{packet}/feed", f"{packet}/preview", campaign, "/health", "/config.json"]
    lists = ["campaigns", "packets", "approvals", "journal", f"packets/{ref}/claims"]
    lists += [f"campaigns/{played['campaign']}/winners"]
    texts = {path: operator.as_user("ann").get(path).text for path in of_user}
    texts |= {path: httpx.get(f"{stack.api}{path}", trust_env=False).text for path in public}
    for path in lists:
        texts[path] = operator.http.get(f"/admin/{path}").text
        csv = operator.http.get(f"/admin/{path}", headers={"Accept": "text/csv"})
        assert csv.is_success or path == "approvals", (path, csv.text)
        texts[f"{path}.csv"] = csv.text

    found = {path: YUAN.findall(text) for path, text in texts.items() if YUAN.search(text)}

    assert found == {}
    unit = {"name": "points", "symbol": "pts", "decimals": 0}
    assert json.loads(texts["/config.json"])["unit"] == json.loads(texts["/health"])["unit"] == unit
    assert "100,000,001 pts" in texts["approvals"]
    shares = [claim["amount_fen"] for claim in json.loads(texts[packet])["claims"]]
    assert (sum(shares), {share % 100 for share in shares}) == (2_000, {0})


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_cli_does_not_mention_yuan(stack: Stack, played: dict[str, str], language: str) -> None:
    packet, campaign = played["packet"], played["campaign"]
    commands = [
        f"deposit user-{language} 1500",
        f"balance --as user-{language}",
        f"show {packet}",
        "campaign list",
        f"campaign show {campaign}",
        "approvals list",
        "journal list",
        "packets list",
        f"winners export {campaign}",
    ]
    env = {**os.environ, "REDPACKET_STATE": str(stack.state_dir), "REDPACKET_LANG": language}

    def run(words: str) -> subprocess.CompletedProcess[str]:
        command = [str(places.LOCAL / "bin" / "redpacket"), *words.split()]
        return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

    done = {words: run(words) for words in commands}
    tax = run("report tax --year 2026")

    assert {words: each.stderr for words, each in done.items() if each.returncode} == {}
    told = {words: each.stdout for words, each in done.items()}
    assert {words: text for words, text in told.items() if YUAN.search(text)} == {}
    assert told[f"balance --as user-{language}"] == "1,500 pts\n"
    assert tax.returncode == 3


@pytest.mark.parametrize("locale", ["zh-CN", "en-US"])
def test_the_page_and_the_console_do_not_mention_yuan(
    a_person: MakePerson, operator: Operator, played: dict[str, str], locale: str
) -> None:
    name = f"Dan{locale[:2]}"
    operator.fund(name.lower(), 5_000)
    packet_id = operator.send(total_fen=500, count=2)
    packet, campaign = played["packet"], played["campaign"]
    dan = a_person(name, "/", locale=locale)
    page, shown = dan.page, {}

    def read(view: str, ready: str) -> None:
        expect(page.locator(ready).first).to_be_visible()
        page.wait_for_load_state("networkidle")
        shown[view] = page.evaluate(_TEXTS)
        dan.shoot(f"points-{view}-{locale[:2]}")

    read("home", ".balance")
    expect(page.locator(".balance")).to_have_text("5,000 pts")
    dan.go("/send")
    page.locator("[name=amount]").fill("1,500")
    page.locator("[name=count]").fill("3")
    expect(page.locator(".send > .sum")).to_have_text("1,500 pts")
    read("send", ".send > .sum")
    page.locator("[name=amount]").fill("1.5")
    page.locator(".primary").click()
    read("refused", ".wrong")
    dan.go(f"/packets/{packet_id}")
    coin(page).click()
    read("opened", "red-packet .amount")
    assert re.search(r"\d+ pts", page.locator("red-packet .amount").inner_text())
    for view, path, ready in (
        ("proof", f"/packets/{packet}/proof", "details"),
        ("campaign", f"/campaigns/{campaign}", "h1"),
        ("wallet", "/wallet", ".balance"),
        ("transfers", "/?tab=transfers", ".fen"),
    ):
        dan.go(path)
        read(view, ready)
    boss = a_person("Operator", "/operator", locale=locale, viewport=DESK)
    dan, page = boss, boss.page
    for view, path, ready in (
        ("console", "/operator", "table"),
        ("console-campaign", f"/operator/campaigns/{campaign}", "h1"),
        ("console-edit", f"/operator/campaigns/{campaign}/edit", "form"),
        ("console-packets", "/operator/packets", "table"),
        ("console-approvals", "/operator/approvals", "h1"),
        ("console-deposits", "/operator/deposits", "form"),
        ("console-journal", "/operator/journal", "table"),
        ("wall", f"/operator/campaigns/{campaign}/wall", "h1"),
    ):
        boss.go(path)
        read(view, ready)

    found = {view: YUAN.findall(text) for view, text in shown.items() if YUAN.search(text)}

    assert found == {}
    assert "100,000,001 pts" in shown["console-approvals"]


def test_the_element_reads_the_unit_from_its_api(
    a_person: MakePerson, operator: Operator, played: dict[str, str]
) -> None:
    host = a_person(None, None)
    element = f'<red-packet packet-id="{played["packet"]}" api="/api"></red-packet>'
    body = f'<script type="module" src="/red-packet.js"></script>{element}'
    embed = re.compile(r"/embed$")
    host.page.route(embed, lambda route: route.fulfill(content_type="text/html", body=body))
    host.go("/embed")

    token = operator.token("ann")
    host.page.locator("red-packet").evaluate("(each, token) => { each.token = token; }", token)

    expect(host.page.locator("red-packet .amount")).to_have_text(re.compile(r"^\s*\d+ pts\s*$"))
    assert not YUAN.search(host.page.evaluate(_TEXTS))


def test_a_second_unit_turns_off_every_switch(stack: Stack, operator: Operator) -> None:
    table, key = stack.outputs["SwitchesTable"], {"pk": {"S": "switches"}}
    operator.fund("eve")
    dynamodb = stack.aws("dynamodb")
    fixed = dynamodb.get_item(TableName=table, Key=key)["Item"]["unit_of_account"]
    expression = "SET unit_of_account = :unit"

    def fix(unit: Any) -> None:
        values = {":unit": unit}
        dynamodb.update_item(
            TableName=table,
            Key=key,
            UpdateExpression=expression,
            ExpressionAttributeValues=values,
        )

    fix({"S": "CNY,2"})
    body = {"kind": "equal", "total_fen": 10, "count": 1}
    eve = operator.as_user("eve")

    def sent() -> httpx.Response:
        return eve.post("/packets", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})

    deadline = time.monotonic() + WAIT_S
    while (answer := sent()).is_success:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    switches = operator.http.get("/admin/switches").json()["items"]
    fix(fixed)

    assert (answer.status_code, answer.json()["code"]) == (503, "switched_off")
    assert {each["on"] for each in switches} == {False}
    assert "must be CNY,2" in switches[0]["reason"]
    assert fixed == {"S": "points,0"}
