"""Suite for payment and withdrawal rows, on the fake and on the emulator."""

import itertools
import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.model.packet import PacketStatus
from redpacket.packets.use_cases.send_packet import funding_of
from redpacket.payments.errors import WithdrawalLimitReached
from redpacket.payments.model import provider as gateway
from redpacket.payments.model.payments import (
    PaymentRefund,
    PaymentReturn,
    Resolution,
    ResolvedBy,
    ReturnReason,
    ReturnStatus,
)
from redpacket.payments.model.withdrawals import (
    Stop,
    Withdrawal,
    WithdrawalLimits,
    WithdrawalStatus,
)
from redpacket.payments.use_cases.return_payment import collect_owed, note_refund
from redpacket.platform import errors
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.idempotency import Request
from testing.builders import a_user_id
from testing.in_memory_system import InMemorySystem
from testing.payments.payment_system import PaymentSystem
from testing.platform.fake_tables import TABLE_NAMES
from tests.contract.tables import KINDS, a_client

WECHAT = ProviderName.WECHAT
MISSING = gateway.TransferFound(gateway.TransferState.NOT_FOUND)


@pytest.fixture(params=KINDS)
def town(request: pytest.FixtureRequest) -> Iterator[PaymentSystem]:
    with a_client(request.param, request) as client:
        system = InMemorySystem()
        system.dynamo = client
        system.stand_on(client)
        # The emulator's tables outlive a test, so each test has its own ids.
        system._ids = itertools.count(secrets.randbelow(10**12))
        town = PaymentSystem(system, dynamo=Dynamo(lambda: client, TABLE_NAMES))
        town.ids = itertools.count(secrets.randbelow(10**12) * 1000)
        yield town


def _pay(town: PaymentSystem, number: str, **how: Any) -> gateway.Transaction:
    paid = town.gateway.pay(number, **how)
    assert paid
    return paid


@pytest.fixture
def user() -> str:
    return a_user_id("user")


def test_a_payment_is_credited_once_and_its_line_is_stored(town: PaymentSystem, user: str) -> None:
    payment = town.start(user, 100)
    paid = _pay(town, payment.number)

    credited = [
        town.repository.credit(payment, paid, town.clock.now_ms() + late) for late in (0, 1)
    ]

    stored = town.repository.find(payment.number)
    assert stored
    assert credited == [True, False]
    assert (stored.status, stored.transaction_id) == ("paid", paid.transaction_id)
    assert town.balance_fen(user) == 100
    lines = town.repository.list_lines(WECHAT, gateway.statement_day(town.clock.now_ms()))
    assert [line.amount_fen for line in lines if line.number == payment.number] == [100]


def test_a_closed_payment_is_credited(town: PaymentSystem, user: str) -> None:
    payment = town.start(user, 100)
    paid = _pay(town, payment.number)
    now_ms = town.clock.now_ms()

    assert town.repository.close(payment, now_ms, now_ms + 5)
    assert not town.repository.close(payment, now_ms, None)
    assert not town.repository.credit(replace(payment, number="unknown"), paid, now_ms)
    assert town.repository.credit(payment, paid, now_ms)


def test_a_transaction_is_either_credited_or_returned(town: PaymentSystem, user: str) -> None:
    payment = town.start(user, 100)
    paid = _pay(town, payment.number)
    now_ms = town.clock.now_ms()
    late = PaymentReturn(
        payment.number, paid.transaction_id, 100, ReturnReason.LATE, WECHAT, now_ms
    )

    noted = [town.returns.put_return(late, paid) for _ in range(2)]
    is_credited = town.repository.credit(payment, paid, now_ms)

    assert noted == [late, late]
    with pytest.raises(errors.InvariantViolated):
        town.returns.put_return(replace(late, number="unknown"), paid)
    assert not is_credited
    assert town.balance_fen(user) == 0
    assert town.returns.list_returns(payment.number) == [late]


def test_a_number_is_credited_with_one_transaction(town: PaymentSystem, user: str) -> None:
    payment = town.start(user, 100)
    paid = [_pay(town, payment.number, is_forced=True) for _ in range(2)]
    now_ms = town.clock.now_ms()

    credited = [
        town.repository.credit(payment, transaction, now_ms + late)
        for late, transaction in enumerate(paid)
    ]

    assert credited == [True, False]
    assert town.balance_fen(user) == 100


def test_a_payment_that_is_listed_for_review_is_not_credited(
    town: PaymentSystem, user: str
) -> None:
    payment = town.start(user, 100)
    paid = _pay(town, payment.number)
    now_ms = town.clock.now_ms()
    number, name = payment.number, paid.transaction_id
    reason, status = ReturnReason.MISMATCHED, ReturnStatus.LISTED
    town.returns.put_return(PaymentReturn(number, name, 100, reason, WECHAT, now_ms, status), paid)

    assert not town.repository.credit(payment, paid, now_ms)
    assert (number, name) not in town.returns.list_returns_due(WECHAT, now_ms, 10**4)


@pytest.mark.parametrize(
    ("reason", "status"),
    [(ReturnReason.MISMATCHED, ReturnStatus.LISTED), (ReturnReason.SECOND, ReturnStatus.DUE)],
)
def test_a_credited_payment_is_neither_listed_nor_returned(
    town: PaymentSystem, user: str, reason: ReturnReason, status: ReturnStatus
) -> None:
    payment = town.pay_in(user, 100)
    (paid,) = town.gates_in[WECHAT].query(payment.number).transactions
    number, name = payment.number, paid.transaction_id

    with pytest.raises(errors.InvariantViolated):
        town.returns.put_return(PaymentReturn(number, name, 100, reason, WECHAT, 1, status), paid)


def test_a_return_ends_once(town: PaymentSystem, user: str) -> None:
    payment = town.pay_in(user, 100)
    second = _pay(town, payment.number, is_forced=True)
    town.confirm(payment, second.transaction_id)
    (returned,) = town.returns.list_returns(payment.number)
    town.returns.delay_return(returned, town.clock.now_ms() + 5)
    day_ms = 86_400_000

    def end(late_ms: int) -> bool:
        number, name, now_ms = payment.number, second.transaction_id, town.clock.now_ms()
        done, no = gateway.RefundState.SUCCEEDED, returned.refund_no
        refund = gateway.RefundFound(no, done, number, name, 100, now_ms + late_ms)
        return town.returns.end_return(returned, refund, now_ms)

    ended = [end(late_ms) for late_ms in (0, day_ms)]

    stored = town.repository.find(payment.number)
    (done,) = town.returns.list_returns(payment.number)
    assert stored
    assert ended == [True, False]
    assert (stored.returned_fen, done.status) == (100, ReturnStatus.DONE)


def test_a_failed_return_is_listed(town: PaymentSystem, user: str) -> None:
    payment = town.pay_in(user, 100)
    second = _pay(town, payment.number, is_forced=True)
    town.confirm(payment, second.transaction_id)
    (returned,) = town.returns.list_returns(payment.number)

    town.returns.list_return(returned)

    (listed,) = town.returns.list_returns(payment.number)
    assert listed.status is ReturnStatus.LISTED
    assert (payment.number, second.transaction_id) not in town.returns.list_returns_due(
        WECHAT, town.clock.now_ms() + 10**9, 10**4
    )


def test_a_listed_return_is_resolved_once(town: PaymentSystem, user: str) -> None:
    payment = town.pay_in(user, 100)
    second = _pay(town, payment.number, is_forced=True)
    town.confirm(payment, second.transaction_id)
    (returned,) = town.returns.list_returns(payment.number)
    town.returns.list_return(returned)
    resolution = Resolution(
        payment.number, second.transaction_id, ResolvedBy.OUTSIDE, f"bank-{user}", "closed account"
    )

    for _ in range(2):
        town.resolve(resolution)

    (resolved,) = town.returns.list_returns(payment.number)
    assert (resolved.status, resolved.reference) == (ReturnStatus.RESOLVED, f"bank-{user}")


def test_provider_refunds_are_debited_once_and_debts_are_collected(
    town: PaymentSystem, user: str
) -> None:
    payment = town.pay_in(user, 100)
    town.withdraw(user, 70)
    refund_no = town.gateway.refund_outside(payment.number, 60)

    for _ in range(2):
        note_refund(WECHAT, refund_no, ports=town.payments)
    owed_fen = -town.system.ledger.balance_fen(f"receivable:{user}")
    town.system.deposit(user, 50)
    left_fen = collect_owed(user, ports=town.payments)

    (refund,) = town.returns.list_refunds(payment.number)
    assert (refund.wallet_fen, refund.owed_fen) == (30, 30)
    assert owed_fen == 30
    assert left_fen == 0
    assert town.balance_fen(user) == 20
    assert not town.returns.collect(user, 1, town.clock.now_ms(), "again")


def test_of_two_refunds_that_read_the_same_payment_one_is_debited(
    town: PaymentSystem, user: str
) -> None:
    payment = town.pay_in(user, 100)
    taken = []
    for _ in range(2):
        refund_no = town.gateway.refund_outside(payment.number, 40)
        reported = town.gates_in[WECHAT].query_refund(refund_no)
        refund = PaymentRefund(payment.number, refund_no, user, 40, 0, town.clock.now_ms())
        taken.append(town.returns.reverse(payment, refund, reported))

    assert taken == [True, False]
    assert town.balance_fen(user) == 60


def test_a_packet_is_either_paid_or_canceled(town: PaymentSystem, user: str) -> None:
    first, second = (town.send_unpaid(user) for _ in range(2))
    payments = [town.start_packet(packet) for packet in (first, second)]
    for payment in payments:
        town.gateway.pay(payment.number)
    now_ms = town.clock.now_ms()

    assert town.system.ledger.cancel_unpaid(first, now_ms)
    assert not town.system.ledger.cancel_unpaid(first, now_ms)
    for payment in payments:
        town.confirm(payment)

    packets = [town.system.packets.find_packet(packet.packet_id) for packet in (first, second)]
    assert [packet and packet.status for packet in packets] == [
        PacketStatus.CANCELLED,
        PacketStatus.OPEN,
    ]
    assert not town.system.ledger.cancel_unpaid(second, now_ms)
    assert town.balance_fen(user) == 1000
    assert second.packet_id in town.system.work.list_unloaded(now_ms, 10**4)
    assert town.system.packets.list_sent(user, None, None, 5)[0][0].packet_id == second.packet_id


def test_a_payment_that_read_its_packet_unpaid_does_not_open_a_canceled_one(
    town: PaymentSystem, user: str
) -> None:
    packet = town.send_unpaid(user)
    payment = town.start_packet(packet)
    paid = _pay(town, payment.number)
    now_ms = town.clock.now_ms()
    opened = replace(packet, status=PacketStatus.OPEN, paid_at_ms=now_ms)
    assert town.system.ledger.cancel_unpaid(packet, now_ms)

    is_credited = town.repository.credit(
        payment, paid, now_ms, funding=(opened, funding_of(opened))
    )

    assert not is_credited
    assert town.balance_fen(user) == 0


def test_a_packet_has_one_intent(town: PaymentSystem, user: str) -> None:
    packet = town.send_unpaid(user)

    first, second = (town.start_packet(packet) for _ in range(2))

    assert first == second
    assert packet.packet_id in town.system.work.list_unpaid(town.clock.now_ms(), 10**4)


def test_the_number_of_a_payment_identifies_its_packet(town: PaymentSystem, user: str) -> None:
    packet = town.send_unpaid(user)
    assert packet.payment_id

    packet_of_payment = town.system.packets.find_packet_of_payment(packet.payment_id)

    assert packet_of_payment == packet
    assert (packet.pay_channel, packet.pay_method) == ("wechat", "jsapi")
    assert town.system.packets.find_packet_of_payment("unknown") is None


def test_a_condition_limits_the_payments_of_a_day(town: PaymentSystem, user: str) -> None:
    packet = town.send_unpaid(user)
    town.payments_per_day_max = 1
    first = town.start(user, 100, "key")

    with pytest.raises(errors.RateLimited):
        town.start(user, 100, "other")
    with pytest.raises(errors.RateLimited):
        town.start_packet(packet)

    assert town.start(user, 100, "key").number == first.number


def test_reviews_are_listed_newest_first(town: PaymentSystem, user: str) -> None:
    now_ms = town.clock.now_ms() + secrets.randbelow(10**10)
    numbers = []
    for late in range(3):
        payment = town.start(user, 100)
        paid = _pay(town, payment.number, amount_fen=99)
        status, at_ms = ReturnStatus.DUE if late else ReturnStatus.LISTED, now_ms + late
        number, name, why = payment.number, paid.transaction_id, ReturnReason.SECOND
        returned = PaymentReturn(number, name, 99, why, WECHAT, at_ms, status)
        town.returns.put_return(returned, paid)
        town.returns.list_return(returned)
        numbers.append(number)

    after = f"{now_ms + 3:013d}#~"
    first, cursor = town.lists.list_listed_returns(after, 2)
    rest, _ = town.lists.list_listed_returns(cursor, 1)

    assert [payment_return.number for payment_return in first + rest] == numbers[::-1]
    assert {payment_return.status for payment_return in first} == {ReturnStatus.LISTED}
    with pytest.raises(errors.InvalidRequest):
        town.lists.list_listed_returns("else", 2)


def test_a_refund_that_leaves_a_debt_is_listed(town: PaymentSystem, user: str) -> None:
    payment, other = town.pay_in(user, 100), town.pay_in(user, 50)
    town.withdraw(user, 100)
    for each in (other, payment):
        town.clock.at_ms += 1_000
        refund_no = town.gateway.refund_outside(each.number, each.amount_fen)
        note_refund(WECHAT, refund_no, ports=town.payments)

    after = f"{town.clock.now_ms():013d}#~"
    payment_refunds, _ = town.lists.list_debts(after, 1)

    assert [(refund.number, refund.owed_fen) for refund in payment_refunds] == [
        (payment.number, 100)
    ]


def test_a_key_with_another_amount_is_refused(town: PaymentSystem, user: str) -> None:
    town.start(user, 100, "key")
    town.system.deposit(user, 500)
    town.withdraw(user, 100, "key")

    with pytest.raises(errors.IdempotencyKeyReused):
        town.start(user, 101, "key")
    with pytest.raises(errors.IdempotencyKeyReused):
        town.withdraw(user, 101, "key")
    with pytest.raises(errors.IdempotencyKeyReused):
        town.withdrawals.find_held(Request(user, "key", "101"))


def test_payments_wait_until_they_are_polled(town: PaymentSystem, user: str) -> None:
    payment = town.start(user, 100)
    now_ms = town.clock.now_ms()

    def is_waiting(until_ms: int) -> bool:
        return payment.number in town.repository.list_waiting(WECHAT, until_ms, 10**4)

    assert is_waiting(now_ms)
    town.repository.look_again(payment.number, now_ms + 5)
    assert not is_waiting(now_ms)
    assert is_waiting(now_ms + 5)
    town.repository.look_again(payment.number, None)
    assert not is_waiting(now_ms + 10**9)
    town.repository.look_again(payment.number, now_ms)
    assert not is_waiting(now_ms + 10**9)


def test_a_notice_is_stored(town: PaymentSystem) -> None:
    name = secrets.token_hex(8)

    before = town.repository.has_notice(WECHAT, name)
    for _ in range(2):
        town.repository.note_notice(WECHAT, name, 10**12)

    assert (before, town.repository.has_notice(WECHAT, name)) == (False, True)


# Withdrawals


@pytest.fixture
def held(town: PaymentSystem, user: str) -> Withdrawal:
    town.system.deposit(user, 500)
    return town.withdraw(user, 100)


def test_a_withdrawal_stores_everything_that_its_request_needs(
    town: PaymentSystem, held: Withdrawal
) -> None:
    withdrawal = town.find(held)

    assert withdrawal.order == held.order
    assert withdrawal.expected_at_ms == held.expected_at_ms
    assert town.balance_fen(held.user_id) == 400


def test_conditions_enforce_the_limits_of_a_day(town: PaymentSystem, held: Withdrawal) -> None:
    request = Request(held.user_id, "other", "body")
    for limits in (WithdrawalLimits(1, 500), WithdrawalLimits(5, 199)):
        with pytest.raises(WithdrawalLimitReached):
            town.withdrawals.hold(_again(town, held), request, limits)

    assert town.withdrawals.hold(_again(town, held), request, WithdrawalLimits(2, 200)) is None
    assert town.balance_fen(held.user_id) == 300


def _again(town: PaymentSystem, held: Withdrawal) -> Withdrawal:
    return replace(held, withdrawal_id=f"again{next(town.ids):025d}", expected_at_ms=0)


def test_a_lease_belongs_to_one_worker(town: PaymentSystem, held: Withdrawal) -> None:
    seen, now_ms = town.find(held), town.clock.now_ms()

    first = town.withdrawals.lease(seen, now_ms + 10, now_ms)
    again = town.withdrawals.lease(seen, now_ms + 20, now_ms)
    assert first
    early = town.withdrawals.lease(first, now_ms + 30, now_ms + 9)
    later = town.withdrawals.lease(first, now_ms + 30, now_ms + 10)

    assert (again, early) == (None, None)
    assert later
    assert (later.call_count, later.lease_until_ms) == (2, now_ms + 30)
    to_look = town.withdrawals.list_to_look(WECHAT, now_ms + 30, 10**4)
    assert held.withdrawal_id in to_look
    assert held.withdrawal_id not in town.withdrawals.list_to_call(WECHAT, now_ms + 30, 10**4)


def test_a_stopped_withdrawal_is_neither_leased_nor_called(
    town: PaymentSystem, held: Withdrawal
) -> None:
    seen, now_ms = town.find(held), town.clock.now_ms()

    older = replace(seen, lease_until_ms=seen.lease_until_ms - 1)
    assert town.withdrawals.stop(older, Stop.CANCELLED, "asked", now_ms) is None

    stopped = town.withdrawals.stop(seen, Stop.CANCELLED, "asked", now_ms)

    assert stopped
    assert stopped.status is WithdrawalStatus.CANCELLING
    assert town.withdrawals.stop(seen, Stop.REFUSED, "late", now_ms) is None
    assert town.withdrawals.lease(stopped, now_ms + 10, now_ms) is None
    assert not town.withdrawals.call_again(stopped, now_ms)
    assert not town.withdrawals.renumber(seen, now_ms)
    town.withdrawals.await_confirmation(
        stopped, gateway.TransferFound(gateway.TransferState.AWAITING_CONFIRMATION), now_ms
    )
    assert town.find(held).status is WithdrawalStatus.CANCELLING


def test_a_decision_from_before_a_lease_returns_nothing(
    town: PaymentSystem, held: Withdrawal
) -> None:
    seen, now_ms = town.find(held), town.clock.now_ms()
    town.withdrawals.lease(seen, now_ms + 10, now_ms)

    is_back = town.withdrawals.refund(seen, MISSING, is_cancelled=True, now_ms=now_ms)

    assert not is_back
    assert town.balance_fen(held.user_id) == 400


def test_money_is_returned_once(town: PaymentSystem, held: Withdrawal) -> None:
    seen, now_ms = town.find(held), town.clock.now_ms()

    failed = gateway.TransferFound(gateway.TransferState.FAILED, reason="why")
    back = [
        town.withdrawals.refund(seen, failed, is_cancelled=late > 0, now_ms=now_ms + late)
        for late in (0, 1)
    ]

    stored = town.find(held)
    assert back == [True, False]
    assert (stored.status, stored.reason) == (WithdrawalStatus.FAILED, "why")
    assert (seen.returned_on, stored.returned_on) == ("", "failed")
    assert town.balance_fen(held.user_id) == 500
    with pytest.raises(errors.InvariantViolated):
        town.withdrawals.post(
            seen, gateway.TransferFound(gateway.TransferState.SUCCEEDED, "bill"), now_ms
        )


def test_a_statement_is_posted_once(town: PaymentSystem, held: Withdrawal) -> None:
    seen, now_ms = town.find(held), town.clock.now_ms()
    transfer = gateway.TransferFound(gateway.TransferState.SUCCEEDED, "bill", decided_at_ms=now_ms)

    posted = [town.withdrawals.post(seen, transfer, now_ms) for _ in range(2)]

    assert posted == [True, False]
    assert not town.withdrawals.refund(seen, MISSING, is_cancelled=False, now_ms=now_ms)
    assert town.find(held).status is WithdrawalStatus.PAID
    lines = town.repository.list_lines(WECHAT, gateway.statement_day(now_ms))
    kinds = [line.kind for line in lines if line.number == held.transfer_no]
    assert kinds == [gateway.StatementKind.TRANSFER]


def test_a_new_number_drops_the_consent_and_keeps_the_lease(town: PaymentSystem, user: str) -> None:
    town.system.deposit(user, 500)
    town.payees.authorization_no = "consent"
    held = town.withdraw(user, 100)
    now_ms = town.clock.now_ms()
    leased = town.withdrawals.lease(town.find(held), now_ms + 10, now_ms)
    assert leased
    stopped = town.withdrawals.stop(leased, Stop.NOT_AUTHORIZED, "USER_NOT_AUTHORIZED", now_ms)
    assert stopped
    assert not town.withdrawals.renumber(leased, now_ms)

    renumbered = [town.withdrawals.renumber(stopped, now_ms + 20) for _ in range(2)]

    stored = town.find(held)
    assert renumbered == [True, False]
    assert (stored.attempt_no, stored.authorization_no, stored.stop) == (2, None, None)
    assert stored.lease_until_ms == now_ms + 10
    assert held.withdrawal_id in town.withdrawals.list_to_call(WECHAT, now_ms + 20, 10**4)


def test_a_cancellation_survives_a_new_number_and_is_followed(
    town: PaymentSystem, user: str
) -> None:
    town.system.deposit(user, 500)
    town.payees.authorization_no = "consent"
    held = town.withdraw(user, 100)
    now_ms = town.clock.now_ms()
    stopped = town.withdrawals.stop(town.find(held), Stop.CANCELLED, "asked", now_ms)
    assert stopped

    assert town.withdrawals.renumber(stopped, now_ms + 20)

    stored = town.find(held)
    assert (stored.attempt_no, stored.authorization_no) == (2, None)
    assert (stored.stop, stored.status) == (Stop.CANCELLED, WithdrawalStatus.CANCELLING)
    assert held.withdrawal_id in town.withdrawals.list_to_look(WECHAT, now_ms + 20, 10**4)


def test_slots_advance_only_from_the_read_position(town: PaymentSystem) -> None:
    name = secrets.token_hex(8)

    assert town.store.find_slot(WECHAT, name) == 0
    assert town.store.take_slots(WECHAT, name, 0, 10)
    assert not town.store.take_slots(WECHAT, name, 0, 20)
    assert not town.store.take_slots(WECHAT, name, 5, 30)
    assert town.store.take_slots(WECHAT, name, 10, 20)
    assert town.store.find_slot(WECHAT, name) == 20


def test_all_processes_share_the_breaker(town: PaymentSystem) -> None:
    town.store.set_breaker(WECHAT, 77, 3)

    assert town.store.find_breaker(WECHAT) == (77, 3)
    town.store.set_breaker(WECHAT, 0, 0)
    assert town.store.find_breaker(WECHAT) == (0, 0)
    assert town.store.find_compared(WECHAT) is None
    town.store.note_compared(WECHAT, "2027-02-06")
    assert town.store.find_compared(WECHAT) == "2027-02-06"
    assert town.store.find_compared(ProviderName.HOST) is None


def test_all_use_cases_run_on_real_tables(town: PaymentSystem, user: str) -> None:
    town.pay_in(user, 300)
    withdrawal = town.withdraw(user, 100)
    cancelled = town.cancel(town.withdraw(user, 50))

    town.dispatch(2_000)
    town.clock.at_ms += 20_000
    town.sweep()

    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert town.find(cancelled).status is WithdrawalStatus.CANCELLED
    assert town.balance_fen(user) == 200
    page, cursor = town.withdrawals.list_of_user(user, None, 1)
    assert len(page) == 1
    assert cursor
