"""Statements of a provider that locks the merchant's money when a transfer is requested."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from local.gateways.records import Line
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import (
    Refusal,
    TransferState,
    statement_day,
    statement_day_start_ms,
)
from redpacket.payments.model.withdrawals import LEASE_MS, Withdrawal, WithdrawalStatus
from testing.payments.payment_system import PaymentSystem

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

Told = list[tuple[int, str, str, int | str, int | str]]
"""Days from the lock to the compared day, number, kind of line, and the two amounts."""


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem(details="confirm")
    town.gateway.locks_money = True
    town.system.deposit("user", 1_000)
    # Noon in China.
    town.clock.at_ms = statement_day_start_ms(statement_day(town.clock.now_ms())) + DAY_MS // 2
    return town


def _locked(town: PaymentSystem) -> Withdrawal:
    """Request a transfer that waits for the user's confirmation."""
    town.gateway.next_state = lambda state: state
    withdrawal = town.withdraw("user", 300)
    town.dispatch(1_000)
    assert town.find(withdrawal).status is WithdrawalStatus.AWAITING_CONFIRMATION
    return withdrawal


def _end(town: PaymentSystem, state: TransferState, after_ms: int) -> None:
    """Let the transfer end in *state* after *after_ms*, and query it."""
    town.system.pass_time(after_ms)
    town.gateway.next_state = lambda _: state
    town.sweep_after(0)
    town.sweep_after(LEASE_MS)


def _compared(town: PaymentSystem, day: str, *, at_once: bool = False) -> Told:
    """Compare the days from the one before the lock, each at the next noon unless *at_once*."""
    told = []
    begin_ms = statement_day_start_ms(day)
    for offset in range(-1, 5):
        at_ms = begin_ms + offset * DAY_MS
        town.clock.at_ms = max(town.clock.at_ms, at_ms + DAY_MS + (0 if at_once else DAY_MS // 2))
        report = town.compare_statement(statement_day(at_ms))
        assert report
        told += [
            (
                offset,
                difference.subject.partition(" ")[0],
                difference.what.partition(" of ")[0],
                difference.expected,
                difference.actual,
            )
            for difference in report.differences
        ]
    return told


def _day(town: PaymentSystem) -> str:
    return statement_day(town.clock.now_ms())


@pytest.mark.parametrize("hours", [0, 11, 13, 22])
@pytest.mark.parametrize("state", [TransferState.SUCCEEDED, TransferState.FAILED])
def test_a_transfer_that_was_locked_and_ended_within_a_day_agrees(
    town: PaymentSystem, hours: int, state: TransferState
) -> None:
    day, withdrawal = _day(town), _locked(town)
    _end(town, state, hours * HOUR_MS)

    assert _compared(town, day) == []
    assert town.find(withdrawal).is_final
    assert town.differences() == []


@pytest.mark.parametrize("state", [TransferState.SUCCEEDED, TransferState.FAILED])
def test_a_statement_before_the_end_of_a_locked_transfer_agrees(
    town: PaymentSystem, state: TransferState
) -> None:
    day, withdrawal = _day(town), _locked(town)
    town.system.pass_time(20 * HOUR_MS)
    early = town.compare_statement(day)
    is_waiting = not town.find(withdrawal).is_final
    _end(town, state, 2 * HOUR_MS)

    assert early
    assert (is_waiting, early.line_count, early.followed_count) == (True, 1, 0)
    assert (early.differences, _compared(town, day)) == ((), [])


@pytest.mark.parametrize("hours", [0, 20, 44])
def test_a_lock_that_is_paid_on_its_day_or_up_to_two_days_later_agrees(
    town: PaymentSystem, hours: int
) -> None:
    day = _day(town)
    _locked(town)
    _end(town, TransferState.SUCCEEDED, hours * HOUR_MS)

    compared_ms = statement_day_start_ms(day) + 2 * DAY_MS
    town.clock.at_ms = compared_ms + DAY_MS + DAY_MS // 2

    told = town.compare_statement(statement_day(compared_ms))

    assert told
    assert told.differences == ()


def test_a_transfer_that_is_booked_on_payment_agrees(town: PaymentSystem) -> None:
    town.gateway.locks_money = False
    day = _day(town)
    _locked(town)
    _end(town, TransferState.SUCCEEDED, 20 * HOUR_MS)

    assert _compared(town, day) == []


def test_money_that_was_returned_a_day_late_agrees(town: PaymentSystem) -> None:
    day = _day(town)
    _locked(town)
    _end(town, TransferState.CANCELLED, 20 * HOUR_MS)
    _edit_locks(town, lambda line: _later(line, DAY_MS) if line.kind == "unlock" else line)

    assert _compared(town, day) == []


def _later(line: Line, by_ms: int) -> Line:
    return replace(line, moved_at_ms=line.moved_at_ms + by_ms)


def _edit_locks(town: PaymentSystem, edit: Callable[[Line], Line | None]) -> None:
    edited = [edit(line) for line in town.gateway.locks]
    town.gateway.locks[:] = [line for line in edited if line]


@pytest.mark.parametrize("late_ms", [2 * DAY_MS, 0])
def test_a_lock_whose_money_was_not_returned_is_reported_after_two_days(
    town: PaymentSystem, late_ms: int
) -> None:
    day, withdrawal = _day(town), _locked(town)
    _end(town, TransferState.CANCELLED, 20 * HOUR_MS)
    _edit_locks(
        town,
        lambda line: line if line.kind == "lock" else _later(line, late_ms) if late_ms else None,
    )

    told = _compared(town, day)

    number = withdrawal.transfer_no
    lock, late = (2, number, "transfer", 300, 0), (3, number, "returned transfer", 300, 0)
    assert town.find(withdrawal).status is WithdrawalStatus.CANCELLED
    assert told == ([lock, late] if late_ms else [lock])


def test_the_difference_of_a_lock_names_its_own_day(town: PaymentSystem) -> None:
    day = _day(town)
    _locked(town)
    town.clock.at_ms += 3 * DAY_MS

    report = town.compare_statement(statement_day(statement_day_start_ms(day) + 2 * DAY_MS))

    assert report
    assert [difference.what for difference in report.differences] == [f"transfer of {day}"]


def test_returned_money_of_a_paid_transfer_is_reported(town: PaymentSystem) -> None:
    day, withdrawal = _day(town), _locked(town)
    _end(town, TransferState.SUCCEEDED, HOUR_MS)
    town.gateway.locks.append(replace(town.gateway.locks[0], kind="unlock"))

    assert _compared(town, day) == [(0, withdrawal.transfer_no, "returned transfer", 300, 0)]


def test_returned_money_ends_its_withdrawal_if_no_query_has(town: PaymentSystem) -> None:
    day, withdrawal = _day(town), _locked(town)
    made = town.gateway.transfers[withdrawal.transfer_no]
    town.gateway.move(made, "failed", "OVERDUE_CLOSE")

    told = _compared(town, day)

    assert town.find(withdrawal).status is WithdrawalStatus.FAILED
    assert (told, town.balance_fen()) == ([], 1_000)


def test_returned_money_of_a_pending_transfer_is_reported(town: PaymentSystem) -> None:
    day, withdrawal = _day(town), _locked(town)
    town.gateway.locks.append(replace(town.gateway.locks[0], kind="unlock"))

    told = _compared(town, day)

    assert not town.find(withdrawal).is_final
    assert told == [(0, withdrawal.transfer_no, "returned transfer", 300, 0)]


def test_a_return_without_a_lock_is_reported_once(town: PaymentSystem) -> None:
    day, withdrawal = _day(town), _locked(town)
    _end(town, TransferState.FAILED, HOUR_MS)
    _edit_locks(town, lambda line: line if line.kind == "unlock" else None)

    assert _compared(town, day) == [(0, withdrawal.transfer_no, "returned transfer", 300, 0)]


@pytest.mark.parametrize("kind", ["lock", "unlock"])
@pytest.mark.parametrize("days", [0, 1, 2])
def test_a_lock_or_a_return_in_two_places_is_reported(
    town: PaymentSystem, kind: str, days: int
) -> None:
    day, withdrawal = _day(town), _locked(town)
    _end(town, TransferState.FAILED, HOUR_MS)
    line = next(line for line in town.gateway.locks if line.kind == kind)
    town.gateway.locks.append(_later(line, days * DAY_MS))

    told = [each for each in _compared(town, day) if each[3:] == (600, 300)]

    what = "transfer" if kind == "lock" else "returned transfer"
    assert told == [(days, withdrawal.transfer_no, what, 600, 300)]


@pytest.mark.parametrize("kind", ["lock", "unlock"])
def test_a_lock_or_a_return_of_another_amount_is_reported(town: PaymentSystem, kind: str) -> None:
    day, withdrawal = _day(town), _locked(town)
    _end(town, TransferState.FAILED, HOUR_MS)
    _edit_locks(town, lambda line: replace(line, amount_fen=301) if line.kind == kind else line)

    told = _compared(town, day)

    assert (withdrawal.transfer_no, 301, 0) in [(number, *fen) for _, number, _, *fen in told]


def test_a_lock_of_an_unknown_transfer_is_reported_at_once(town: PaymentSystem) -> None:
    day, withdrawal = _day(town), _locked(town)
    _end(town, TransferState.SUCCEEDED, HOUR_MS)
    (lock,) = town.gateway.locks
    strangers = ("wdsomebodyelses", withdrawal.next_transfer_no, f"{withdrawal.withdrawal_id}00")
    town.gateway.locks += [replace(lock, number=number) for number in strangers]

    assert _compared(town, day) == [(0, number, "transfer", 300, 0) for number in strangers]


def test_a_replaced_number_is_locked_and_returned(town: PaymentSystem) -> None:
    town.payees.authorization_no = "consent"
    town.gateway.refusal = lambda order: Refusal.NOT_AUTHORIZED if order.authorization_no else None
    day, withdrawal = _day(town), town.withdraw("user", 300)
    town.dispatch(1_000)
    for _ in range(3):
        town.sweep_after(10 * 60_000)
        town.dispatch(1_000)
    paid = town.find(withdrawal)
    (lock,) = town.gateway.locks
    first = replace(lock, number=withdrawal.transfer_no)
    town.gateway.locks.append(first)

    alone = _compared(town, day)
    town.gateway.locks.append(replace(first, kind="unlock"))
    both = _compared(town, day)

    assert (paid.status, paid.attempt_no) == (WithdrawalStatus.PAID, 2)
    assert alone == [(2, withdrawal.transfer_no, "transfer", 300, 0)]
    assert both == []


def test_a_provider_that_books_only_payments_has_no_locks(town: PaymentSystem) -> None:
    """A line in this provider's statement means that the payee has the money."""
    gate = town.gates_out[ProviderName.WECHAT]
    gate.locks_money = False
    day, withdrawal = _day(town), _locked(town)

    assert _compared(town, day)[0] == (0, withdrawal.transfer_no, "transfer", 300, 0)
