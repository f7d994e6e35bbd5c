"""Payments in and withdrawals out through a gateway that fails: `make faults-payments`, smaller."""

from __future__ import annotations

import json

import pytest

from tests.faults import thousand_payments
from tests.faults.thousand_payments import IN_FEN, OUT_FEN, run, run_naively

COUNT = 300


def test_outside_is_the_ledger_and_nothing_is_paid_twice() -> None:
    town, differences = run(COUNT, seed=7)

    figures = town.figures()

    assert differences == []
    assert town.failed_count > COUNT // 2
    assert town.tables.died_count > 3
    assert figures.payments == figures.withdrawals == COUNT
    assert figures.outside_fen == figures.ledger_fen
    assert figures.ledger_fen == COUNT * (IN_FEN - OUT_FEN)
    assert (figures.twice, figures.lost, figures.stuck) == (0, 0, 0)


def test_a_control_that_calls_and_then_marks_pays_twice() -> None:
    figures = run_naively(COUNT, seed=7).figures()

    assert figures.twice > COUNT // 20
    assert figures.outside_fen < figures.ledger_fen


def test_the_last_line_is_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["thousand_payments", "--count", "40"])

    thousand_payments.main()

    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["outside_fen"] == figures["ledger_fen"]
    assert list(figures) == [
        *("payments", "withdrawals", "outside_fen", "ledger_fen"),
        *("twice", "lost", "stuck", "naive_twice"),
    ]
