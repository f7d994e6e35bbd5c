"""Reports about a campaign: they agree with its packets and prizes, and with users' balances."""

import json
import time
import uuid
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from local.stack import Stack
from tests.integration.conftest import Eventually, HttpUser, MakeUser
from tests.integration.test_command import Terminal

RAIN_FEN, CASH_FEN = 300, 70
ATTEMPTS = 3
"""Draws per user and day: one for the only unit of each prize (cash, goods and a code)."""


def _plan(now_ms: int) -> dict[str, Any]:
    prize = {"weight": 1, "total": 1, "status": "on"}
    return {
        "title": "报表",
        "starts_at_ms": now_ms - 1_000,
        "ends_at_ms": now_ms + 3_600_000,
        "status": "on",
        "budget_fen": RAIN_FEN,
        "miss_weight": 0,
        "rules": {"attempts_per_user_per_day": ATTEMPTS, "wins_per_user_per_day": 0},
        "prizes": {
            "cash": {**prize, "title": "现金", "kind": "packet", "amount_fen": CASH_FEN},
            "cup": {**prize, "title": "杯子", "kind": "goods"},
            "film": {**prize, "title": "影票", "kind": "code", "total": 0},
        },
    }


def _has(user: HttpUser, amount_fen: int) -> bool:
    return user.balance_fen() == amount_fen


def test_all_reports_of_a_campaign_add_up_to_the_ledger(
    stack: Stack, a_user: MakeUser, eventually: Eventually, tmp_path: Path
) -> None:
    terminal, campaign_id = Terminal(stack), f"sums-{uuid.uuid4().hex[:12]}"
    ann, bob = a_user(f"ann-{campaign_id}"), a_user(f"bob-{campaign_id}")
    a_user("operator", funds_fen=RAIN_FEN + CASH_FEN)
    plan, codes = tmp_path / "plan.yaml", tmp_path / "codes.txt"
    plan.write_text(json.dumps(_plan(int(time.time() * 1000))), encoding="utf-8")
    codes.write_text("A-1\n")
    terminal.run("campaign", "edit", campaign_id, str(plan))
    terminal.run("prize", "codes", campaign_id, "film", str(codes))
    rain_id = terminal.run("send", str(RAIN_FEN), "2", "--campaign", campaign_id)["packet_id"]

    claims = [user.grab(rain_id).json()["amount_fen"] for user in (ann, bob)]
    won = [ann.draw(campaign_id).json()["prize"] for _ in range(ATTEMPTS)]

    assert {prize["prize_id"] for prize in won} == {"cash", "cup", "film"}
    earned = {ann.host_id: claims[0] + CASH_FEN, bob.host_id: claims[1]}
    # The users are new, so their balances are only what they earned here.
    for user in (ann, bob):
        eventually(partial(_has, user, earned[user.host_id]))
    year = str(datetime.now(ZoneInfo("Asia/Shanghai")).year)
    taxed = terminal.run("report", "tax", "--year", year, "--campaign", campaign_id)["items"]
    assert {row["user"]: int(row["total_fen"]) for row in taxed} == earned
    packets = terminal.run("packets", "export", "--campaign", campaign_id)["items"]
    assert sum(packet["total_fen"] for packet in packets) == RAIN_FEN + CASH_FEN
    assert {packet["prize_id"] for packet in packets} == {None, "cash"}
    assert terminal.run("reconcile")["differences"] == []
    spent = [
        row for row in terminal.run("report", "spend")["items"] if row["campaign_id"] == campaign_id
    ]
    assert sum(int(row["sent_fen"]) for row in spent) == RAIN_FEN + CASH_FEN
    assert sum(int(row["claimed_fen"]) for row in spent) == sum(earned.values())
    winners = [
        row["prize_id"]
        for row in terminal.run("report", "winners")["items"]
        if row["campaign_id"] == campaign_id
    ]
    assert sorted(winners) == ["cash", "cup", "film"]
