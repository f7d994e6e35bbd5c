"""Every route is called by users or operators, and no response shows an internal id to users."""

import json
import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from local.stack import Stack
from testing.pictures import jpeg
from testing.reconciliation.checks import Told
from tests.integration.conftest import HttpUser, MakeUser

CONTRACT = json.loads((Path(__file__).parents[2] / "openapi.json").read_text())
ROUTES = {f"{method.upper()} {path}" for path, item in CONTRACT["paths"].items() for method in item}

# These routes accept only signed calls, never users (test_payments.py, test_chat.py).
OF_GATEWAYS = {"POST /gateway/wechat/callback", "POST /gateway/host/callback"}
OF_GATEWAYS |= {"POST /chat/telegram", "POST /chat/lark"}

# This route needs a payment whose return waits for an operator (test_resolve_return.py).
NEVER_ANSWERED = OF_GATEWAYS | {"POST /admin/payments/returns"}

# These routes return users' host ids to operators, and refuse everyone else.
NAMES_PEOPLE = {
    "GET /admin/packets",
    "GET /admin/packets/{packet_id}/claims",
    "GET /admin/packets/{packet_id}/sharers",
    "GET /admin/campaigns/{campaign_id}/winners",
    "GET /admin/journal",
    "GET /admin/approvals",
    "POST /admin/approvals/{approval_id}/approve",
    "POST /admin/approvals/{approval_id}/reject",
    "GET /admin/withdrawals",
    "GET /admin/withdrawals/{withdrawal_id}",
}
OF_TEA = {"prize_id": "tea"}

DAY_MS = 24 * 3_600_000

# No token, packet id or nickname has this format.
ANN, BOB, BOSS = "internal-id-of-ann", "internal-id-of-bob", "internal-id-of-boss"


class Walk:
    """Client that calls routes by name and stores every answer."""

    def __init__(self) -> None:
        self.answers: dict[str, list[httpx.Response]] = {}

    def call(
        self, user: HttpUser, route: str, /, body: Any = None, query: str = "", **path: str
    ) -> httpx.Response:
        method, _, template = route.partition(" ")
        headers = {"Idempotency-Key": f"{user.user_id} {time.time_ns()}"}
        answer = user.http.request(
            method, template.format(**path) + query, json=body, headers=headers
        )
        self.answers.setdefault(route, []).append(answer)
        return answer


@pytest.fixture(scope="module")
def boss(stack: Stack, told: list[Told]) -> Iterator[HttpUser]:
    user = HttpUser(stack, BOSS, told, scope="hongbao/admin")
    yield user
    user.http.put("/admin/switches/draw", json={"on": True})
    user.http.close()


def test_no_answer_of_any_route_contains_an_internal_id(
    a_user: MakeUser, boss: HttpUser, approver: HttpUser
) -> None:
    ann, bob = a_user(ANN, nickname="Ann"), a_user(BOB)
    walk = Walk()
    call = walk.call
    call(boss, "POST /admin/deposits", {"user": ANN, "amount_fen": 10_000})
    a_user(BOSS, funds_fen=10_000)
    for decide in ("approve", "reject"):
        large = {"user": ANN, "amount_fen": 100_000_001}
        waits = call(boss, "POST /admin/deposits", large).json()["approval_id"]
        for other in (bob, approver):
            decision = f"POST /admin/approvals/{{approval_id}}/{decide}"
            call(other, decision, approval_id=waits)
    walk_campaign_money(walk, ann, boss, approver)
    call(ann, "PUT /me/profile", {"nickname": "安"})
    token = call(bob, "GET /me").json()["user_token"]
    order = {"kind": "lucky", "total_fen": 200, "count": 2, "recipients": [token]}
    plain = call(ann, "POST /packets", {**order, "opening": "two_step"}).json()["packet_id"]
    in_campaign = walk_campaign(walk, ann, bob, boss)
    walk_payments(walk, ann, bob, boss)
    ended = call(ann, "POST /packets", {**order, "recipients": None}).json()["packet_id"]
    call(bob, "POST /packets/{packet_id}/end", packet_id=ended)
    call(ann, "POST /packets/{packet_id}/end", packet_id=ended)
    call(boss, "POST /admin/packets/{packet_id}/end", {"reason": "walk"}, packet_id=ended)
    yesterday = time.strftime("%Y%m%d", time.gmtime(time.time() - DAY_MS / 1000 - 12 * 3600))

    grab, opened = "POST /packets/{packet_id}/grab", "POST /packets/{packet_id}/open"
    call(ann, grab, packet_id=plain)
    ticket = call(bob, grab, packet_id=plain).json()["grab_token"]
    call(ann, opened, {"grab_token": ticket}, packet_id=plain)
    call(bob, opened, {"grab_token": ticket}, packet_id=plain)
    call(bob, grab, packet_id=in_campaign)
    call(ann, grab, packet_id=in_campaign)
    for user in (ann, bob):
        call(
            user,
            "POST /packets/{packet_id}/thanks",
            {"emoji": "🎉", "text": "谢谢"},
            packet_id=in_campaign,
        )
    for user in (ann, boss):
        removed = "DELETE /admin/packets/{packet_id}/thanks/{share_no}"
        call(user, removed, packet_id=in_campaign, share_no="1")
    for reader in (ann, bob, boss):
        walk_reads(walk, reader, [plain, in_campaign], [yesterday, time.strftime("%Y%m%d")])

    assert walk.answers.keys() == ROUTES, "a new route joins the walk"
    for route, answers in walk.answers.items():
        is_answered = any(answer.is_success for answer in answers)
        told = [answer.text for answer in answers]
        assert is_answered is (route not in NEVER_ANSWERED), (route, told)
        for answer in answers:
            if route in NAMES_PEOPLE and answer.is_success:
                continue
            shown = answer.text + str(answer.headers)
            assert "internal-id-of" not in shown, (route, shown)


def walk_campaign_money(walk: Walk, ann: HttpUser, boss: HttpUser, approver: HttpUser) -> None:
    """Move all money out of a campaign account, and remove the account's campaign mark."""
    chest, till = (f"internal-id-of-{name}-{time.time_ns()}" for name in ("chest", "till"))
    for user in (chest, till):
        deposit = {"user": user, "amount_fen": 100, "is_for_campaigns": True}
        approver.approve(walk.call(boss, "POST /admin/deposits", deposit))
    route, move = "/admin/accounts/{user}/campaign-money", {"user": till, "reason": "walk"}
    for asker in (ann, boss):
        walk.call(asker, f"POST {route}", move, user=chest)
        walk.call(asker, f"DELETE {route}", user=chest)


def walk_campaign(walk: Walk, ann: HttpUser, bob: HttpUser, boss: HttpUser) -> str:
    """Run a campaign with prizes and a list of users; return the id of its first packet."""
    call = walk.call
    now_ms = int(time.time() * 1000)
    plan = {"title": "walk", "starts_at_ms": now_ms - 3 * DAY_MS, "ends_at_ms": now_ms + 60_000}
    plan = {**plan, "status": "on", "budget_fen": 1_000, "passphrase": "walk"}
    call(boss, "PUT /admin/campaigns/{campaign_id}", plan, campaign_id="walk")
    listed = {"add": [BOB], "mode": "deny"}
    call(boss, "POST /admin/campaigns/{campaign_id}/audience", listed, campaign_id="walk")
    check = "GET /admin/campaigns/{campaign_id}/audience/{user}"
    call(boss, check, campaign_id="walk", user=BOB)
    unlisted = {"remove": [BOB]}
    call(boss, "POST /admin/campaigns/{campaign_id}/audience", unlisted, campaign_id="walk")
    verdict = {"user": "somebody", "verdict": "deny", "until_ms": now_ms + 60_000}
    call(boss, "POST /admin/risk", verdict)
    for asker in (ann, boss):
        call(asker, "DELETE /admin/users/{user}", user="somebody")
    rain = {"kind": "equal", "total_fen": 100, "count": 1, "campaign_id": "walk"}
    in_campaign = call(boss, "POST /packets", rain).json()["packet_id"]
    call(boss, "POST /admin/packets", rain)
    planned = {"starts_at_ms": now_ms + 30_000, "seconds": 5, "rounds": 1, "packets": 1}
    planned |= {"total_fen": 100, "count": 1}
    call(boss, "POST /admin/campaigns/{campaign_id}/rains", planned, campaign_id="walk")
    prize = {"title": "cash", "kind": "packet", "weight": 1, "total": 3, "amount_fen": 1}
    named = {"campaign_id": "walk", "prize_id": "cash"}
    call(boss, "PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}", prize, **named)
    tea = {"title": "tea", "kind": "goods", "weight": 10**6, "total": 3}
    call(boss, "PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}", tea, **{**named, **OF_TEA})
    stock = "POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/stock"
    call(boss, stock, {"delta": 1}, **named)
    voucher = {"title": "voucher", "kind": "code", "weight": 0, "total": 0}
    named = {**named, "prize_id": "voucher"}
    call(boss, "PUT /admin/campaigns/{campaign_id}/prizes/{prize_id}", voucher, **named)
    added = "POST /admin/campaigns/{campaign_id}/prizes/{prize_id}/codes"
    call(boss, added, {"add": ["TEA-1"]}, **named)
    call(boss, "POST /admin/campaigns/{campaign_id}/preheat", campaign_id="walk")
    for _ in range(2):
        body = call(ann, "POST /campaigns/{campaign_id}/draws", campaign_id="walk").json()
        place = {"campaign_id": "walk", "draw_id": body.get("draw_id", "0" * 32)}
        home = {"name": "安", "phone": "13800138000", "address": "世纪大道 1 号"}
        for user in (ann, bob):
            call(user, "PUT /campaigns/{campaign_id}/draws/{draw_id}/address", home, **place)
            call(user, "GET /campaigns/{campaign_id}/draws/{draw_id}/address", **place)
    decide = "PUT /admin/campaigns/{campaign_id}/winners/{unit}"
    call(boss, decide, {"status": "handed_over"}, campaign_id="walk", unit="tea.1")
    help_ = {"inviter_token": bob.user_token(), "transcript": "walk"}
    for friend in (ann, bob):
        call(friend, "POST /campaigns/{campaign_id}/helps", help_, campaign_id="walk")
    return str(in_campaign)


def walk_reads(walk: Walk, reader: HttpUser, packet_ids: list[str], days: list[str]) -> None:
    """Call the reading routes as *reader*, and the routes whose changes harm no other test."""
    call = walk.call
    for packet_id in packet_ids:
        call(reader, "GET /packets/{packet_id}", packet_id=packet_id)
        call(reader, "GET /packets/{packet_id}/feed", packet_id=packet_id)
        call(reader, "GET /packets/{packet_id}/preview", packet_id=packet_id)
        call(reader, "GET /packets/{packet_id}/proof", packet_id=packet_id)
    picture = call(reader, "POST /me/pictures", {"picture": b64encode(jpeg()).decode()}).json()
    call(reader, "POST /admin/pictures", {"picture": b64encode(jpeg()).decode()})
    shown = {"picture_id": str(picture.get("cover_url", "A" * 22)).rpartition("/")[2]}
    call(reader, "GET /pictures/{picture_id}", **shown)
    call(reader, "DELETE /admin/pictures/{picture_id}", **shown)
    for route in ("GET /me", "GET /admin/me"):
        call(reader, route)
    for page in ("sent", "received", "transfers", "notices"):
        call(reader, f"GET /me/{page}")
    call(reader, "GET /campaigns/{campaign_id}", campaign_id="walk")
    call(reader, "GET /campaigns/{campaign_id}/draws", campaign_id="walk")
    for day in days:
        proof = "GET /campaigns/{campaign_id}/proof"
        call(reader, proof, query=f"?day={day}", campaign_id="walk")
    call(reader, "GET /admin/campaigns/{campaign_id}", campaign_id="walk")
    call(reader, "GET /admin/packets/{packet_id}/audit", packet_id=packet_ids[0])
    call(reader, "PUT /admin/switches/{name}", {"on": False, "reason": "walk"}, name="draw")
    call(reader, "GET /admin/switches")
    call(reader, "PUT /admin/limits/{name}", {"value": None}, name="sends_per_day")
    call(reader, "GET /admin/limits")
    call(reader, "GET /admin/refusals")
    target = {"url": "http://127.0.0.1:9/events", "events": ["redpacket.draw.won"], "is_on": False}
    call(reader, "PUT /admin/webhooks/{name}", target, name="walk")
    for part in ("test", "secret", "replay"):
        call(reader, f"POST /admin/webhooks/{{name}}/{part}", name="walk")
    call(reader, "GET /admin/webhooks/{name}", name="walk")
    call(reader, "GET /admin/webhooks")
    chat = "/admin/chats/{connector}/{chat_id}", {"connector": "lark", "chat_id": "oc_walk"}
    call(reader, f"PUT {chat[0]}", {"title": "walk", "day_fen": 1}, **chat[1])
    call(reader, "GET /admin/chats")
    call(reader, f"DELETE {chat[0]}", **chat[1])
    call(reader, "GET /admin/payments/returns")
    resolution = {"payment_id": "0" * 32, "transaction_id": "none", "by": "outside"}
    resolution |= {"reference": "walk", "reason": "walk"}
    call(reader, "POST /admin/payments/returns", resolution)
    call(reader, "GET /admin/payments/debts")
    run_id = call(reader, "POST /admin/reconcile").json().get("run_id", "0" * 32)
    call(reader, "GET /admin/reconcile/{run_id}", run_id=run_id)
    call(reader, "GET /admin/journal")
    call(reader, "GET /admin/me")
    call(reader, "GET /admin/approvals")
    call(reader, "GET /admin/campaigns")
    call(reader, "GET /admin/packets", query="?campaign_id=walk")
    call(reader, "GET /admin/packets/{packet_id}/claims", packet_id=packet_ids[0])
    call(reader, "GET /admin/packets/{packet_id}/sharers", packet_id=packet_ids[0])
    call(reader, "GET /admin/campaigns/{campaign_id}/winners", campaign_id="walk")
    call(reader, "GET /health")
    walk_log(walk, reader)


def walk_log(walk: Walk, reader: HttpUser) -> None:
    """Read the public log, which gets its first entry a few seconds after the first send."""
    for _ in range(100):
        if entries := walk.call(reader, "GET /transparency").json().get("items"):
            break
        time.sleep(0.2)
    id_hash = entries[0]["id_hash"]
    walk.call(reader, "GET /transparency/proof", query=f"?id_hash={id_hash}")
    walk.call(reader, "GET /transparency/consistency", query="?from=1")
    size = int(walk.call(reader, "GET /transparency/checkpoint").text.splitlines()[1])
    tile = f"entries/000.p/{size}" if size < 256 else "entries/000"
    walk.call(reader, "GET /transparency/tile/{proxy}", proxy=tile)


def walk_payments(walk: Walk, ann: HttpUser, bob: HttpUser, boss: HttpUser) -> None:
    """Order a payment and a withdrawal as Ann; call the routes about them as others, too."""
    call = walk.call
    call(bob, "POST /auth/wechat", {"code": "code-walker"})
    origin = f"{bob.http.base_url}".rstrip("/")
    call(bob, "GET /wechat/js-config", query=f"?url={quote(origin, safe='')}%2Fhome")
    call(ann, "POST /me/wechat", {"code": "code-walk"})
    call(ann, "GET /me/wechat")
    agreement = "/me/wechat/authorization"
    call(ann, f"POST {agreement}", {"display_name": "安"})
    call(ann, f"DELETE {agreement}")
    order = {"amount_fen": 100, "channel": "wechat"}
    paid = call(ann, "POST /me/payments", {**order, "method": "native"}).json()
    held = call(ann, "POST /me/withdrawals", {**order, "channel": "host"}).json()
    named = {"withdrawal_id": held["withdrawal_id"]}
    for reader in (ann, boss):
        call(reader, "GET /admin/withdrawals")
        call(reader, "GET /admin/withdrawals/{withdrawal_id}", **named)
    for reader in (ann, bob):
        call(reader, "GET /me/payments/{payment_id}", payment_id=paid["payment_id"])
        call(reader, "GET /me/withdrawals")
        call(reader, "GET /me/withdrawals/{withdrawal_id}", **named)
        call(reader, "POST /me/withdrawals/{withdrawal_id}/cancel", **named)
        for route in OF_GATEWAYS:
            call(reader, route, {"user_id": ANN})
