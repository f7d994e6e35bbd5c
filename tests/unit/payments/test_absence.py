"""Missing rows, and transfers that are missing after a provider's horizon, prove nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from redpacket.payments.model.payments import PAYMENT_LIFE_MS, PaymentStatus, ReturnStatus
from redpacket.payments.model.provider import (
    Merchant,
    Refusal,
    StatementKind,
    TransferFound,
    TransferState,
    statement_day,
    statement_day_start_ms,
)
from redpacket.payments.model.withdrawals import (
    GIVEN_UP_AFTER_MS,
    LEASE_MS,
    Stop,
    Withdrawal,
    WithdrawalStatus,
)
from redpacket.payments.ports import QUERY_HORIZON_MS
from redpacket.payments.use_cases.forgotten import return_forgotten, settle_forgotten
from redpacket.payments.use_cases.return_payment import note_refund
from redpacket.payments.use_cases.transfer import sync_transfer
from redpacket.platform.difference import Difference
from redpacket.platform.errors import Contended, IdempotencyKeyReused, Unavailable
from redpacket.platform.idempotency import Request
from redpacket_cli.restore import asked_first
from testing.in_memory_system import a_person
from testing.payments.fake_gateway import CALL_MS_MAX, SETTLING_MS, FakePaymentsOut
from testing.payments.payment_system import WECHAT, PaymentSystem

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem()
    town.system.deposit("user", 1000)
    return town


def _paid_fen(town: PaymentSystem) -> int:
    return sum(line.amount_fen for line in town.gateway.lines(StatementKind.TRANSFER))


def _sweep_hours(town: PaymentSystem, hours: int) -> None:
    for _ in range(hours):
        town.sweep_after(HOUR_MS)
        town.dispatch(1_000)


# Restores


def _lost_alone(town: PaymentSystem, what_was_lost: Callable[[], object]) -> None:
    """Restore PaymentsTable alone to its state before *what_was_lost*."""
    rows = town.system.dynamo.rows()
    what_was_lost()
    town.system.pass_time(HOUR_MS)
    payments = {key: asked_first(row) for key, row in rows["payments"].items()}
    town.system.dynamo.hold(town.system.dynamo.rows() | {"payments": payments})


def _put_back(town: PaymentSystem, what_was_lost: Callable[[], object]) -> None:
    """Restore the rows that PaymentsTable had before *what_was_lost*, and keep newer ones."""
    rows = town.system.dynamo.rows()
    what_was_lost()
    town.system.pass_time(HOUR_MS)
    now = town.system.dynamo.rows()
    restored = {key: asked_first(row) for key, row in rows["payments"].items()}
    town.system.dynamo.hold(now | {"payments": now["payments"] | restored})


def test_a_paid_withdrawal_that_was_restored_beside_its_line_is_paid(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)
    _put_back(town, lambda: _pay_out(town))

    _sweep_hours(town, 2)

    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert (_paid_fen(town), town.balance_fen()) == (300, 700)
    assert town.differences() == []


def test_a_credited_payment_that_was_restored_beside_its_line_is_paid(town: PaymentSystem) -> None:
    payment = town.start("user", 300)
    town.gateway.pay(payment.number)
    _put_back(town, lambda: town.confirm(payment))

    again = town.confirm(payment)

    assert again.status is PaymentStatus.PAID
    assert town.balance_fen() == 1300
    assert town.differences() == []


def test_a_credit_lost_only_by_a_restore_is_not_posted_again(town: PaymentSystem) -> None:
    payment = town.start("user", 300)
    town.gateway.pay(payment.number)
    _lost_alone(town, lambda: town.confirm(payment))

    again = town.confirm(payment)

    assert again.status is PaymentStatus.PAID
    assert town.balance_fen() == 1300
    assert town.differences() == []


def test_a_second_payment_after_a_lost_credit_is_returned(town: PaymentSystem) -> None:
    payment = town.start("user", 300)
    town.gateway.pay(payment.number)
    _lost_alone(town, lambda: town.confirm(payment))

    town.pay_again(payment)

    (returned,) = town.returns.list_returns(payment.number)
    assert returned.status is ReturnStatus.DUE
    assert town.balance_fen() == 1300


def test_a_packet_credit_lost_only_by_a_restore_is_not_posted_again(
    town: PaymentSystem,
) -> None:
    packet = town.send_unpaid("user", total_fen=300, count=3)
    payment = town.start_packet(packet)
    town.gateway.pay(payment.number)
    _lost_alone(town, lambda: town.confirm(payment))

    town.confirm(payment)

    assert town.balance_fen() == 1000
    assert town.differences() == []


def test_a_reversal_lost_only_by_a_restore_is_not_posted_again(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 300)
    refund_no = town.gateway.refund_outside(payment.number, 300)
    _lost_alone(town, lambda: note_refund(WECHAT, refund_no, ports=town.payments))

    with pytest.raises(Contended):
        note_refund(WECHAT, refund_no, ports=town.payments)

    assert town.balance_fen() == 1000


def test_a_return_lost_only_by_a_restore_is_not_posted_again(town: PaymentSystem) -> None:
    town.gateway.next_state = lambda _: TransferState.FAILED
    withdrawal = town.withdraw("user", 300)

    def end() -> None:
        town.dispatch(1_000)
        _sweep_hours(town, 2)

    _lost_alone(town, end)
    assert town.balance_fen() == 1000

    _sweep_hours(town, 2)

    assert town.find(withdrawal).status is WithdrawalStatus.FAILED
    assert town.balance_fen() == 1000
    assert town.differences() == []


def test_a_withdrawal_whose_cancellation_a_restore_lost_is_not_called(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)

    def cancel() -> None:
        town.cancel(withdrawal)
        _sweep_hours(town, 1)

    _lost_alone(town, cancel)
    assert town.balance_fen() == 1000

    _sweep_hours(town, 3)

    assert _paid_fen(town) == 0
    assert town.find(withdrawal).returned_on == "not_found"
    assert town.balance_fen() == 1000
    assert town.differences() == []


def _restored_after(town: PaymentSystem, what_was_lost: Callable[[], object]) -> None:
    """Restore all tables, a day later, to their state before *what_was_lost*."""
    rows = town.system.dynamo.rows()
    what_was_lost()
    town.system.pass_time(DAY_MS)
    payments = {key: asked_first(row) for key, row in rows["payments"].items()}
    town.system.dynamo.hold({**rows, "payments": payments})


def _pay_out(town: PaymentSystem) -> None:
    town.dispatch(1_000)
    town.sweep_after(LEASE_MS)


def test_a_user_cancels_a_withdrawal_whose_payment_a_restore_lost(
    town: PaymentSystem,
) -> None:
    withdrawal = town.withdraw("user", 300)
    _restored_after(town, lambda: _pay_out(town))

    stopped = town.cancel(withdrawal)
    town.sweep()

    assert (stopped.status, stopped.call_count) == (WithdrawalStatus.CANCELLING, 0)
    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert (_paid_fen(town), town.balance_fen()) == (300, 700)
    assert town.differences(bound_ms=0) == []


def test_a_restored_withdrawal_is_canceled_though_it_was_paid(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)
    rows = town.system.dynamo.rows()
    _pay_out(town)
    # Restore all rows, but not with the tool that schedules a query of the withdrawal.
    town.system.dynamo.hold(rows)
    town.system.pass_time(GIVEN_UP_AFTER_MS)

    town.dispatch(1_000)
    stopped = town.find(withdrawal)
    town.sweep()

    assert stopped.stop is Stop.EXPIRED
    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert town.differences(bound_ms=0) == []


def test_a_restored_withdrawal_is_queried_before_it_is_called(town: PaymentSystem) -> None:
    paid, unpaid = town.withdraw("user", 300), town.withdraw("user", 200)

    def pay_one() -> None:
        town.gateway.refusal = lambda order: (
            Refusal.THROTTLED if order.transfer_no == unpaid.transfer_no else None
        )
        _pay_out(town)
        town.gateway.refusal = lambda _: None

    _restored_after(town, pay_one)
    assert town.withdrawals.list_to_call(WECHAT, town.clock.now_ms(), 10) == []
    town.gateway.called_at_ms.clear()

    town.sweep()
    is_called_first = bool(town.gateway.called_at_ms)
    town.dispatch(1_000)
    town.sweep_after(HOUR_MS)

    assert not is_called_first
    assert [town.find(each).status for each in (paid, unpaid)] == [WithdrawalStatus.PAID] * 2
    assert len(town.gateway.called_at_ms) == 1
    assert town.differences(bound_ms=0) == []


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_restored_withdrawal_that_was_paid_by_its_second_number_is_found(
    town: PaymentSystem, *, is_cancelled: bool
) -> None:
    town.payees.authorization_no = "consent"
    has_consent = [False]
    town.gateway.refusal = lambda order: (
        Refusal.NOT_AUTHORIZED if order.authorization_no and not has_consent[0] else None
    )
    withdrawal = town.withdraw("user", 300)

    def pay_by_second_number() -> None:
        _pay_out(town)
        _sweep_hours(town, 2)
        assert town.find(withdrawal).transfer_no == withdrawal.next_transfer_no

    _restored_after(town, pay_by_second_number)
    # From now on, the provider would execute the first number.
    has_consent[0] = True
    if is_cancelled:
        town.cancel(withdrawal)
    _sweep_hours(town, 2)

    stored = town.find(withdrawal)
    assert (stored.status, stored.attempt_no) == (WithdrawalStatus.PAID, 2)
    assert [line.number for line in town.gateway.book] == [stored.transfer_no]
    assert town.differences(bound_ms=0) == []


def test_a_payment_that_a_restore_marks_as_never_ordered_is_queried(town: PaymentSystem) -> None:
    town.gateway.is_away = True
    payment = town.start("user", 100)
    key = next(key for key in town.system.dynamo.tables["payments"] if "payment#" in key[0])
    town.system.dynamo.tables["payments"][key]["ordered_at_ms"] = {"N": "0"}
    rows = town.system.dynamo.rows()
    town.gateway.is_away = False
    town.repository.begin_order(town.paid(payment), town.clock.now_ms())
    town.gates_in[WECHAT].order(payment.order)
    town.gateway.pay(payment.number)
    town.system.dynamo.hold(rows)

    town.sweep_after(PAYMENT_LIFE_MS)

    assert town.paid(payment).status is PaymentStatus.PAID
    assert town.balance_fen() == 1100


def test_a_refund_of_ours_that_a_restore_lost_waits_for_no_operator(town: PaymentSystem) -> None:
    """Otherwise, an operator would have deposited money that the payer already got back."""
    payment = town.pay_in("user", 100)

    def pay_twice_and_return() -> None:
        town.pay_again(payment)
        town.sweep_after(HOUR_MS)

    _restored_after(town, pay_twice_and_return)
    day = statement_day(payment.created_at_ms)
    reports = [town.compare_statement(day) for _ in range(2)]

    (returned,) = town.returns.list_returns(payment.number)
    assert returned.status is ReturnStatus.REFUNDED
    assert town.lists.list_listed_returns(None, 10)[0] == []
    assert [report.differences for report in reports if report] == [()] * 2
    assert town.balance_fen() == 1100
    assert town.differences() == []


# Horizons


def _paid_without_answer(town: PaymentSystem) -> Withdrawal:
    class Losing(FakePaymentsOut):
        def transfer(self, order: object) -> TransferFound:
            super().transfer(order)  # type: ignore[arg-type]
            raise Unavailable("it timed out")

    withdrawal = town.withdraw("user", 300)
    town.gates_out = {WECHAT: Losing(town.gateway)}
    town.dispatch(1_000)
    for made in town.gateway.transfers.values():
        town.gateway.run(made)
    return withdrawal


@pytest.mark.parametrize("days", [28, 29, 31])
def test_a_provider_forgets_a_transfer_before_its_old_keys_return(
    town: PaymentSystem, days: int
) -> None:
    town.gateway.remembers_ms = 30 * DAY_MS
    withdrawal = _paid_without_answer(town)
    other = FakePaymentsOut(town.gateway)
    other.merchant = Merchant("app", "another")
    town.gates_out = {WECHAT: other}
    for _ in range(days):
        town.sweep_after(DAY_MS)

    town.gates_out = {WECHAT: FakePaymentsOut(town.gateway)}
    town.system.logger.events.clear()
    _sweep_hours(town, 13)

    stored = town.find(withdrawal)
    is_known = days < 30
    assert stored.status is (WithdrawalStatus.PAID if is_known else WithdrawalStatus.CANCELLING)
    assert (_paid_fen(town), town.balance_fen()) == (300, 700)
    # A missing transfer triggers the alarm about waiting withdrawals.
    assert ("transfer_late" in town.system.logger.events) is not is_known


def test_a_transfer_that_is_not_found_in_time_is_returned_and_the_row_has_the_reason(
    town: PaymentSystem,
) -> None:
    withdrawal = town.withdraw("user", 300)
    town.gates_out = {}
    town.cancel(withdrawal)
    town.sweep_after(QUERY_HORIZON_MS - DAY_MS)
    waiting = town.find(withdrawal)

    town.gates_out = {WECHAT: FakePaymentsOut(town.gateway)}
    town.sweep_after(HOUR_MS)

    stored = town.find(withdrawal)
    assert (waiting.status, waiting.returned_on) == (WithdrawalStatus.CANCELLING, "")
    assert (stored.status, stored.returned_on) == (WithdrawalStatus.CANCELLED, "not_found")
    assert town.balance_fen() == 1000


def test_a_forgotten_transfer_is_not_queried_each_minute(town: PaymentSystem) -> None:
    town.gateway.remembers_ms = 0
    withdrawal = _paid_without_answer(town)
    town.gates_out = {WECHAT: FakePaymentsOut(town.gateway)}
    town.cancel(withdrawal)
    town.system.pass_time(QUERY_HORIZON_MS)

    sync_transfer(withdrawal.withdrawal_id, ports=town.transfers)

    look_at_ms = town.find(withdrawal).next_at_ms
    assert look_at_ms == town.clock.now_ms() + 12 * HOUR_MS


# Forgotten transfers


@pytest.fixture
def forgetful(town: PaymentSystem) -> PaymentSystem:
    """Return a system whose provider forgets transfers; it is noon in China."""
    town.gateway.remembers_ms = 30 * DAY_MS
    town.clock.at_ms = statement_day_start_ms(statement_day(town.clock.now_ms())) + DAY_MS // 2
    return town


def _forget(town: PaymentSystem) -> None:
    """Advance 31 days without answers from the provider and without comparing statements."""
    town.gates_out = {}
    town.system.pass_time(DAY_MS)
    town.sweep_after(30 * DAY_MS)
    town.gates_out = {WECHAT: FakePaymentsOut(town.gateway)}
    town.sweep_after(13 * HOUR_MS)


def _settle(town: PaymentSystem) -> list[Difference]:
    stop_at_ms = town.clock.now_ms() + 60_000
    return settle_forgotten(WECHAT, ports=town.transfers, stop_at_ms=stop_at_ms)


def _return(town: PaymentSystem, withdrawal: Withdrawal) -> str:
    return return_forgotten(withdrawal.withdrawal_id, ports=town.transfers)


def test_a_forgotten_transfer_in_a_statement_is_paid(forgetful: PaymentSystem) -> None:
    withdrawal = _paid_without_answer(forgetful)
    _forget(forgetful)
    is_waiting = not forgetful.find(withdrawal).is_final
    refusal = _return(forgetful, withdrawal)

    left = _settle(forgetful)

    stored = forgetful.find(withdrawal)
    (line,) = forgetful.gateway.bill_lines()
    assert (is_waiting, left) == (True, [])
    assert (stored.status, stored.outside_no) == (WithdrawalStatus.PAID, line.outside_no)
    assert refusal == "not returned: the statements say that it was paid"
    assert _return(forgetful, withdrawal).startswith("not returned: it has ended")
    assert forgetful.differences(bound_ms=0) == []


@pytest.mark.parametrize("is_made", [False, True])
def test_a_forgotten_transfer_that_no_statement_has_is_returned_after_an_operator_decides(
    forgetful: PaymentSystem, *, is_made: bool
) -> None:
    forgetful.gateway.locks_money = True
    forgetful.gates_out = {WECHAT: FakePaymentsOut(forgetful.gateway, "confirm")}
    withdrawal = forgetful.withdraw("user", 300)
    if is_made:
        forgetful.gateway.next_state = lambda state: state
        forgetful.dispatch(1_000)
    _forget(forgetful)
    locks = [line.kind for line in forgetful.gateway.locks]

    left = [_settle(forgetful) for _ in range(2)]
    held = forgetful.find(withdrawal)
    result = _return(forgetful, withdrawal)

    stored = forgetful.find(withdrawal)
    difference = Difference("bill", withdrawal.transfer_no, "forgotten transfer", "not paid", 300)
    assert locks == (["lock", "unlock"] if is_made else [])
    assert left == [[difference]] * 2
    assert held.status is WithdrawalStatus.CANCELLING
    assert (stored.status, stored.reason, result) == (
        WithdrawalStatus.CANCELLED,
        "statements",
        "returned",
    )
    assert (_settle(forgetful), forgetful.balance_fen()) == ([], 1_000)
    assert forgetful.differences(bound_ms=0) == []


@pytest.mark.parametrize("is_deposited_first", [False, True])
def test_a_forgotten_transfer_is_either_returned_or_deposited(
    forgetful: PaymentSystem, *, is_deposited_first: bool
) -> None:
    withdrawal = forgetful.withdraw("user", 300)
    _forget(forgetful)

    def deposit() -> None:
        request = Request("treasurer", "key", "body")
        forgetful.system.process().deposit(
            a_person("user"), 300, request, case=withdrawal.withdrawal_id
        )

    if is_deposited_first:
        deposit()
        result = _return(forgetful, withdrawal)
    else:
        result = _return(forgetful, withdrawal)
        with pytest.raises(IdempotencyKeyReused):
            deposit()

    refused = "not returned: it has changed, or its case has a deposit"
    assert result == (refused if is_deposited_first else "returned")
    assert forgetful.balance_fen() == 1_000


@pytest.mark.parametrize(
    ("state", "end"),
    [
        (TransferState.PROCESSING, WithdrawalStatus.CANCELLING),
        (TransferState.FAILED, WithdrawalStatus.FAILED),
    ],
)
def test_a_lock_is_not_a_payment_while_the_provider_has_its_transfer(
    forgetful: PaymentSystem, state: TransferState, end: WithdrawalStatus
) -> None:
    forgetful.gateway.locks_money, forgetful.gateway.remembers_ms = True, 10**15
    withdrawal = forgetful.withdraw("user", 300)
    forgetful.gateway.next_state = lambda state: state
    forgetful.dispatch(1_000)
    forgetful.gateway.is_away = True
    forgetful.sweep_after(31 * DAY_MS)
    forgetful.gateway.is_away = False
    forgetful.gateway.next_state = lambda _: state

    left = _settle(forgetful)

    assert left == []
    assert forgetful.find(withdrawal).status is end


def test_a_transfer_that_a_wallet_paid_weeks_later_is_found_in_the_statement_of_that_day(
    forgetful: PaymentSystem,
) -> None:
    withdrawal = _paid_without_answer(forgetful)
    _forget(forgetful)
    forgetful.gates_out[WECHAT].locks_money = False
    (line,) = forgetful.gateway.book
    forgetful.gateway.book[0] = replace(line, moved_at_ms=line.moved_at_ms + 28 * DAY_MS)

    refusal = _return(forgetful, withdrawal)

    assert refusal == "not returned: the statements say that it was paid"
    assert (_settle(forgetful), forgetful.find(withdrawal).status) == ([], WithdrawalStatus.PAID)


def test_a_transfer_that_a_query_still_decides_is_not_returned_manually(
    forgetful: PaymentSystem,
) -> None:
    withdrawal = forgetful.withdraw("user", 300)
    forgetful.gates_out = {}
    forgetful.sweep_after(28 * DAY_MS)

    assert _return(forgetful, withdrawal).startswith("not returned: it has ended, or the provider")
    assert (_settle(forgetful), forgetful.balance_fen()) == ([], 700)


def test_a_transfer_that_its_provider_still_processes_is_not_returned_manually(
    town: PaymentSystem,
) -> None:
    town.gateway.next_state = lambda state: state
    withdrawal = town.withdraw("user", 300)
    town.dispatch(1_000)
    town.sweep_after(4 * DAY_MS)
    town.sweep_after(26 * DAY_MS)

    result = _return(town, withdrawal)

    assert result == "not returned: the provider answers processing"
    assert town.balance_fen() == 700


@pytest.mark.parametrize("missing", [-1, 0, 5])
def test_nothing_is_decided_without_the_statement_of_each_day(
    forgetful: PaymentSystem, missing: int
) -> None:
    start_ms = forgetful.clock.now_ms()
    withdrawal = _paid_without_answer(forgetful)
    _forget(forgetful)
    gone = statement_day(start_ms + missing * DAY_MS)
    forgetful.gateway.edit_statement = lambda day, _kinds, lines: None if day == gone else lines

    left = _settle(forgetful)

    is_needed = missing >= 0
    assert [each.expected for each in left] == [f"there is no statement of {gone}"] * is_needed
    assert forgetful.find(withdrawal).is_final is not is_needed
    if is_needed:
        with pytest.raises(Unavailable):
            _return(forgetful, withdrawal)


@pytest.mark.parametrize("forged", ["amount", "twice", "number", "unlock"])
def test_a_statement_that_contradicts_a_forgotten_transfer_decides_nothing(
    forgetful: PaymentSystem, forged: str
) -> None:
    withdrawal = _paid_without_answer(forgetful)
    _forget(forgetful)
    (line,) = book = forgetful.gateway.book
    if forged == "amount":
        book[0] = replace(line, amount_fen=301)
    elif forged == "twice":
        book.append(line)
    elif forged == "number":
        book.append(replace(line, number=f"{withdrawal.withdrawal_id}09"))
    else:
        book[0] = replace(line, kind="unlock")

    (left,) = _settle(forgetful)

    assert (left.subject, left.actual) == (withdrawal.transfer_no, 300)
    assert isinstance(left.expected, str)
    assert not forgetful.find(withdrawal).is_final


def test_a_forgotten_second_number_of_a_restored_row_is_paid(forgetful: PaymentSystem) -> None:
    withdrawal = _paid_without_answer(forgetful)
    _forget(forgetful)
    (line,) = forgetful.gateway.book
    forgetful.gateway.book[0] = replace(line, number=withdrawal.next_transfer_no)
    refusal = _return(forgetful, withdrawal)

    first = _settle(forgetful)
    forgetful.sweep_after(HOUR_MS)
    second = _settle(forgetful)

    stored = forgetful.find(withdrawal)
    assert (first, second) == ([], [])
    assert (stored.status, stored.attempt_no) == (WithdrawalStatus.PAID, 2)
    assert refusal == "not returned: the statements say that it was paid"


def test_the_schedule_of_statements_settles_and_reports_forgotten_transfers(
    forgetful: PaymentSystem,
) -> None:
    paid, unpaid = _paid_without_answer(forgetful), forgetful.withdraw("user", 200)
    other_merchant = forgetful.withdraw("user", 100)
    _forget(forgetful)
    key = next(
        key
        for key in forgetful.system.dynamo.tables["payments"]
        if key[0] == f"withdrawal#{other_merchant.withdrawal_id}"
    )
    forgetful.system.dynamo.tables["payments"][key]["mch_id"] = {"S": "another"}
    process = forgetful.system.process(
        payment_ports=forgetful.payments, withdrawal_ports=forgetful.transfers
    )

    process.compare_statements(stop_at_ms=forgetful.clock.now_ms() + 60_000)

    told = [line for line in forgetful.system.logger.lines if line.startswith("bill_differs")]
    assert forgetful.find(paid).status is WithdrawalStatus.PAID
    assert all(each.transfer_no in str(told) for each in (unpaid, other_merchant))
    assert paid.transfer_no not in str(told)


# Orders


def test_an_order_that_arrived_late_is_closed_at_the_provider(town: PaymentSystem) -> None:
    """A call that is in progress when a payment ends may still create the order."""
    town.gateway.is_away = True
    payment = town.start("user", 100)
    town.gateway.is_away = False
    town.system.pass_time(PAYMENT_LIFE_MS)

    first = town.confirm(payment)
    town.gates_in[WECHAT].order(payment.order)
    town.confirm(payment)
    is_closed = town.gateway.orders[payment.number].is_closed
    last = town.confirm(payment)

    assert (first.status, is_closed) == (PaymentStatus.PENDING, True)
    assert last.status is PaymentStatus.CLOSED


def test_an_order_that_never_arrived_is_closed_once_no_call_can_be_in_progress(
    town: PaymentSystem,
) -> None:
    town.gateway.is_away = True
    payment = town.start("user", 100)
    town.gateway.is_away = False
    town.clock.at_ms = payment.expires_at_ms + SETTLING_MS + CALL_MS_MAX - 1

    early = town.confirm(payment)
    town.clock.at_ms += 1
    late = town.confirm(payment)

    assert (early.status, late.status) == (PaymentStatus.PENDING, PaymentStatus.CLOSED)
