"""Payments and withdrawals through a provider that fails: a smaller run of `make
faults-payments`.
"""

from tests.faults.thousand_payments import IN_FEN, OUT_FEN, figures_of

COUNT = 300


def test_provider_balances_match_the_ledger_and_nothing_is_paid_twice_except_by_the_control() -> (
    None
):
    figures, wrong = figures_of(COUNT, seed=7)

    assert wrong == []
    assert list(figures) == [
        *("payments", "withdrawals", "outside_fen", "ledger_fen"),
        *("twice", "lost", "stuck", "naive_twice"),
    ]
    assert figures["payments"] == figures["withdrawals"] == COUNT
    assert figures["outside_fen"] == figures["ledger_fen"] == COUNT * (IN_FEN - OUT_FEN)
    assert (figures["twice"], figures["lost"], figures["stuck"]) == (0, 0, 0)
    assert figures["naive_twice"] > COUNT // 20
