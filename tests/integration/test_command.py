"""Command `redpacket` against the deployed stack: an operator's typical work."""

import json
import time
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
from openpyxl import load_workbook
from typer.testing import CliRunner

from local.stack import Stack
from redpacket_cli.main import app
from tests.integration.conftest import HttpUser, MakeUser


class Terminal:
    """Terminal in which an operator runs commands against a stack."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self._state = str(stack.state_dir)

    def run(self, *words: str, code: int = 0) -> Any:
        result = CliRunner().invoke(app, ["--state", self._state, "--json", *words])
        assert result.exit_code == code, result.output
        return json.loads(result.stdout or "null")


@pytest.fixture
def terminal(stack: Stack) -> Terminal:
    return Terminal(stack)


def test_an_operator_sends_monitors_and_audits_a_packet(terminal: Terminal) -> None:
    sender, key = f"sender-{uuid.uuid4().hex}", uuid.uuid4().hex
    for _ in range(2):
        terminal.run("deposit", sender, "600", "--key", key)

    sent = terminal.run("send", "600", "6", "--as", sender, "--greeting", "恭喜")
    packet_id = sent["packet_id"]
    crowd = terminal.run("load", packet_id, "--users", "8", "--parallel", "4", "--prefix", sender)
    look = terminal.run("watch", packet_id, "--looks", "1")

    assert crowd["outcomes"] == {"claimed": 6, "packet_emptied": 2}
    assert crowd["claimed_fen"] == 600
    assert (look["claimed_count"], look["remaining_count"]) == (6, 0)
    assert terminal.run("show", packet_id)["claimed_count"] == 6
    assert terminal.run("audit", packet_id)["ok"]
    # The first send spent the deposit.
    terminal.run("send", "600", "6", "--as", sender, code=3)


def test_a_campaign_from_a_file_is_for_the_users_on_its_list(
    terminal: Terminal, a_user: MakeUser, tmp_path: Path
) -> None:
    campaign_id, now_ms = f"list-{uuid.uuid4().hex[:12]}", int(time.time() * 1000)
    ann, bob, cat = (a_user() for _ in range(3))
    a_user("operator", funds_fen=300)
    plan = {
        "title": "名单",
        "starts_at_ms": now_ms - 1_000,
        "ends_at_ms": now_ms + 3_600_000,
        "status": "on",
        "budget_fen": 300,
        "quota_per_user": 2,
        "prizes": {"cup": {"title": "杯子", "kind": "goods", "weight": 1, "total": 5}},
    }
    file, users = tmp_path / "campaign.yaml", tmp_path / "users.csv"
    file.write_text(json.dumps(plan), encoding="utf-8")
    users.write_text(f"{ann.host_id}\n{bob.host_id},Bob\n")

    edited = terminal.run("campaign", "edit", campaign_id, str(file))
    listed = terminal.run("audience", "import", campaign_id, str(users), "--mode", "allow")
    packet_id = terminal.run("send", "300", "3", "--campaign", campaign_id)["packet_id"]
    heated = terminal.run("campaign", "preheat", campaign_id)

    assert (len(edited["prizes"]), listed["size"], heated["loaded_count"]) == (1, 2, 1)
    assert _outcome(ann, packet_id) == "claimed"
    assert _code(cat.grab(packet_id)) == _code(cat.draw(campaign_id)) == "not_in_audience"
    assert ann.draw(campaign_id).status_code == 200
    # Starting with the next call, a removed or denied user gets nothing new.
    terminal.run("audience", "remove", campaign_id, ann.host_id)
    assert _code(ann.draw(campaign_id)) == "not_in_audience"
    assert _outcome(ann, packet_id) == "already_claimed"
    terminal.run("risk", bob.host_id, "deny", "--hours", "1")
    assert _code(bob.grab(packet_id)) == _code(bob.draw(campaign_id)) == "not_in_audience"
    terminal.run("risk", bob.host_id, "allow")
    assert _outcome(bob, packet_id) == "claimed"
    year = str(datetime.now(ZoneInfo("Asia/Shanghai")).year)
    taxed = terminal.run("report", "tax", "--year", year, "--campaign", campaign_id)["items"]
    claimed = terminal.run("claims", "export", packet_id)["items"]
    assert {(each["user"], each["total_fen"], each["withholding"]) for each in taxed} == {
        (each["user"] or "", str(each["amount_fen"]), "") for each in claimed
    }
    assert len(taxed) == 2
    sheet = tmp_path / "claims.xlsx"
    terminal.run("claims", "export", packet_id, "--to", str(sheet))
    head, *rows = load_workbook(sheet).active.values
    assert [dict(zip(head, row, strict=True))["amount_fen"] for row in rows] == [
        each["amount_fen"] for each in claimed
    ]


def test_a_budget_above_the_limit_waits_and_changes_nothing(
    terminal: Terminal, a_user: MakeUser, tmp_path: Path
) -> None:
    campaign_id, now_ms = f"large-{uuid.uuid4().hex[:12]}", int(time.time() * 1000)
    a_user("operator", funds_fen=300)
    plan = {
        "title": "大活动",
        "status": "on",
        "starts_at_ms": now_ms,
        "ends_at_ms": now_ms + 3_600_000,
        "budget_fen": 300,
        "prizes": {"cup": {"title": "杯子", "kind": "goods", "weight": 1, "total": 5}},
    }
    file = tmp_path / "campaign.json"
    file.write_text(json.dumps(plan), encoding="utf-8")
    terminal.run("campaign", "edit", campaign_id, str(file))
    file.write_text(json.dumps(plan | {"budget_fen": 100_000_301}), encoding="utf-8")

    waiting = terminal.run("campaign", "edit", campaign_id, str(file), code=6)

    assert waiting["status"] == "awaiting"
    assert terminal.run("campaign", "show", campaign_id)["budget_fen"] == 300
    terminal.run("approvals", "reject", waiting["approval_id"], code=3)  # the requester
    other = terminal.stack.token("treasurer", scope="hongbao/treasury")
    rejected = terminal.run("--token", other, "approvals", "reject", waiting["approval_id"])
    assert rejected["status"] == "rejected"


def _outcome(user: HttpUser, packet_id: str) -> str:
    answer = user.grab(packet_id)
    if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
        # On a busy machine, the API may return 503; the retry gets the outcome.
        answer = user.grab(packet_id)
    assert answer.is_success, answer.text
    return str(answer.json()["outcome"])


def _code(answer: httpx.Response) -> str:
    assert answer.status_code == httpx.codes.FORBIDDEN, answer.text
    return str(answer.json()["code"])


def test_an_incident_is_investigated_from_the_terminal(terminal: Terminal) -> None:
    sender = f"sender-{uuid.uuid4().hex}"
    terminal.run("deposit", sender, "100", "--key", sender)
    packet_id = terminal.run("send", "100", "1", "--as", sender)["packet_id"]
    terminal.run("load", packet_id, "--users", "1", "--prefix", sender)

    rows = terminal.run("ledger", "packet", packet_id)["items"]
    (share,) = [row for row in rows if row["sk"] == "share#0000001"]

    assert (share["fate"], share["amount_fen"]) == ("claimed", 100)
    assert terminal.run("run", "sweep")["failed_count"] == 0
    assert terminal.run("ledger", "account", f"user:{share['user_id']}")["balance_fen"] in {0, 100}
    assert terminal.run("work", "list", "due") == {"items": []}
    assert terminal.run("payments", "returns") == terminal.run("payments", "debts") == {"items": []}
    assert terminal.run("cache", "PING") == {"answer": "PONG"}
    assert terminal.run("resource", "GrabLogs")["value"]
    assert terminal.run("logs", "grab", packet_id)["items"] is not None


def test_dead_letters_and_switches_are_visible_from_the_terminal(terminal: Terminal) -> None:
    assert {"grab", "payout"} <= {each["name"] for each in terminal.run("switch", "list")["items"]}
    assert "count" in terminal.run("dlq", "list", "payout")
    assert terminal.run("dlq", "redrive", "notices") == {"moved": 0}
