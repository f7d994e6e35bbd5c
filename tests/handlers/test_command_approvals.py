"""Command `redpacket`, with the approval limits that are the default on AWS."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from local.places import ROOT
from redpacket_cli.main import app
from redpacket_cli.session import Session
from redpacket_cli.show import Screen
from redpacket_cli.target import Target
from testing.in_memory_system import InMemorySystem
from testing.platform.handlers import APPROVAL_FEN, HandlerTransport, handlers_of

LARGE_FEN = int(APPROVAL_FEN.split(",")[0]) + 1
UNITS = LARGE_FEN // 10_000 + 1
"""Number of 100-yuan units whose sum exceeds one operator's limit for a campaign."""
WAITS = 6
HOUR_MS = 3_600_000


class Terminal:
    """Terminal in which an operator runs commands against the handlers."""

    def __init__(self, system: InMemorySystem, folder: Path) -> None:
        self._system, self._folder = system, folder

    def run(self, *words: str, code: int = 0, operator: str = "operator") -> Result:
        claims = {"sub": operator, "scope": "hongbao/admin"}
        target = Target(url="https://api.example", token="t", transport=HandlerTransport(claims))
        result = CliRunner().invoke(app, list(words), obj=Session(target, Screen()))
        assert result.exit_code == code, result.output
        return result

    def ask(self, *words: str, code: int = 0, operator: str = "operator") -> dict[str, Any]:
        lines = self.run("--json", *words, code=code, operator=operator).stdout.splitlines()
        # The handlers also log to stdout.
        told = [line for line in lines if not line.startswith('{"level"')]
        asked: dict[str, Any] = json.loads("\n".join(told))
        return asked

    def approve(self, waiting: dict[str, Any]) -> None:
        done = self.ask("approvals", "approve", waiting["approval_id"], operator="other")
        assert done["status"] == "approved"

    def edit(self, campaign_id: str, *, code: int = 0, **changes: Any) -> dict[str, Any]:
        """Write a campaign file, and run `campaign edit` with it."""
        now_ms = self._system.clock.now_ms()
        plan = {"title": "活动", "status": "on", "budget_fen": 300}
        plan |= {"starts_at_ms": now_ms + 60_000, "ends_at_ms": now_ms + HOUR_MS, **changes}
        return self.ask("campaign", "edit", campaign_id, str(self.file(plan)), code=code)

    def file(self, document: dict[str, Any]) -> Path:
        path = self._folder / f"{uuid.uuid4().hex}.json"
        path.write_text(json.dumps(document), "utf-8")
        return path


@pytest.fixture
def system() -> Iterator[InMemorySystem]:
    system = InMemorySystem()
    with handlers_of(system):
        yield system
        assert system.differences() == []


@pytest.fixture
def terminal(system: InMemorySystem, tmp_path: Path) -> Terminal:
    made = Terminal(system, tmp_path)
    made.ask("deposit", "operator", str(LARGE_FEN - 1), operator="treasurer")
    return made


CUP = {"title": "杯子", "kind": "goods", "weight": 1, "total": 5}


def test_a_large_new_campaign_waits_and_none_of_its_file_is_saved(terminal: Terminal) -> None:
    waiting = terminal.edit("large", code=WAITS, budget_fen=LARGE_FEN, prizes={"cup": CUP})

    assert waiting["status"] == "awaiting"
    terminal.run("campaign", "show", "large", code=3)


@pytest.mark.parametrize("prizes", [{}, {"cup": CUP}])
def test_a_large_budget_of_a_campaign_waits_and_keeps_the_old_one(
    terminal: Terminal, prizes: dict[str, Any]
) -> None:
    terminal.edit("spring", prizes=prizes)

    waiting = terminal.edit("spring", code=WAITS, budget_fen=LARGE_FEN + 300, prizes=prizes)

    assert waiting["status"] == "awaiting"
    assert terminal.ask("campaign", "show", "spring")["budget_fen"] == 300


def test_an_expensive_cash_prize_waits_and_is_not_in_the_campaign(terminal: Terminal) -> None:
    terminal.edit("spring", prizes={"cup": CUP})
    cash = {"title": "现金", "kind": "packet", "weight": 1, "total": UNITS, "amount_fen": 10_000}

    waiting = terminal.edit("spring", code=WAITS, prizes={"cup": CUP, "cash": cash})
    alone = terminal.ask("prize", "edit", "spring", "more", str(terminal.file(cash)), code=WAITS)

    assert waiting["status"] == alone["status"] == "awaiting"
    shown = terminal.ask("campaign", "show", "spring")["prizes"]
    assert [each["prize_id"] for each in shown] == ["cup"]


def test_adding_more_cash_than_one_operator_may_waits(terminal: Terminal) -> None:
    cash = {"title": "现金", "kind": "packet", "weight": 1, "total": 1, "amount_fen": 10_000}
    terminal.edit("spring", prizes={"cash": cash})

    waiting = terminal.ask("prize", "stock", "spring", "cash", str(UNITS), code=WAITS)

    assert waiting["status"] == "awaiting"
    (shown,) = terminal.ask("campaign", "show", "spring")["prizes"]
    assert shown["total"] == 1


def test_a_large_deposit_waits_for_another_operator_and_then_moves_money(
    terminal: Terminal,
) -> None:
    told = terminal.run("deposit", "rich", str(LARGE_FEN), code=WAITS)
    waiting = terminal.ask("deposit", "rich", str(LARGE_FEN), code=WAITS)
    terminal.run("approvals", "approve", waiting["approval_id"], code=3)  # the requester

    terminal.approve(waiting)

    assert "Another operator must run: redpacket approvals approve" in told.output
    balance = terminal.ask("balance", "--user-token", "t", operator="rich")
    assert balance["balance_fen"] == LARGE_FEN


def test_a_large_transfer_of_campaign_money_waits_and_moves_nothing(
    terminal: Terminal,
) -> None:
    deposit = "deposit", "acme", str(LARGE_FEN), "--for-campaigns"
    terminal.approve(terminal.ask(*deposit, code=WAITS))

    moved = terminal.ask("money", "move", "acme", "beta", "--reason", "it ends", code=WAITS)

    assert moved["status"] == "awaiting"
    shown = terminal.ask("balance", "--user-token", "t", operator="acme")
    assert shown["balance_fen"] == LARGE_FEN


def test_switches_and_webhooks_need_no_approval(terminal: Terminal) -> None:
    off = terminal.ask("switch", "off", "send", "drill")
    on = terminal.ask("switch", "on", "send")

    assert (off["on"], on["on"]) == (False, True)
    routes = json.loads((ROOT / "openapi.json").read_text("utf-8"))["paths"]
    answers = [
        status
        for path, methods in routes.items()
        if path.startswith(("/admin/switches", "/admin/webhooks"))
        for operation in methods.values()
        for status in operation["responses"]
    ]
    assert "200" in answers
    assert "202" not in answers
