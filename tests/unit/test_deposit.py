"""Deposits: how much, and for whom."""

from __future__ import annotations

import pytest

from redpacket.domain.errors import Forbidden, IdempotencyKeyReused, InvalidRequest
from redpacket.flows.accounts.deposit import deposit
from redpacket.ports.accounts import Request
from testing.in_memory_system import DEPOSIT_FEN_MAX, InMemorySystem, a_person


def _deposit(
    system: InMemorySystem,
    user_id: str,
    amount_fen: int,
    *,
    operator: str = "boss",
    key: str = "key",
    amount_fen_max: int = DEPOSIT_FEN_MAX,
) -> tuple[str, int]:
    return deposit(
        a_person(user_id),
        amount_fen,
        Request(operator, key, str(amount_fen)),
        amount_fen_max=amount_fen_max,
        deposits=system.deposits,
        ledger=system.ledger,
        four_eyes=system.process().four_eyes,
        clock=system.clock,
    )


def test_a_deposit_above_the_cap_was_taken(system: InMemorySystem) -> None:
    assert _deposit(system, "ann", DEPOSIT_FEN_MAX)[1] == DEPOSIT_FEN_MAX

    with pytest.raises(InvalidRequest) as refused:
        _deposit(system, "ann", DEPOSIT_FEN_MAX + 1, key="another")

    assert refused.value.errors == [{"field": "amount_fen", "message": "is above 10000000000"}]
    assert system.balance_fen("ann") == DEPOSIT_FEN_MAX


def test_an_operator_credited_themselves(system: InMemorySystem) -> None:
    with pytest.raises(Forbidden):
        _deposit(system, "boss", 1)

    assert system.ledger_state().balances_fen == {}
    assert _deposit(system, "boss", 1, operator="other")[1] == 1


def test_a_repeat_after_the_cap_was_lowered_gets_its_first_answer(system: InMemorySystem) -> None:
    first = _deposit(system, "ann", 1000)

    assert _deposit(system, "ann", 1000, amount_fen_max=10) == first
    with pytest.raises(IdempotencyKeyReused):
        _deposit(system, "ann", 1001, amount_fen_max=10)
    with pytest.raises(InvalidRequest):
        _deposit(system, "ann", 1000, key="new", amount_fen_max=10)
    assert system.balance_fen("ann") == 1000
