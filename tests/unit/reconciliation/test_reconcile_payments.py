"""Corruption of PaymentsTable that entries do not show, planted for the nightly run."""

from typing import TypeAlias

import pytest

from redpacket.ledger.model import Transfer, TransferKind
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import return_row
from redpacket.payments.model.payments import (
    Payment,
    PaymentReturn,
    PaymentStatus,
    ReturnReason,
    ReturnStatus,
)
from redpacket.payments.model.provider import StatementKind, TransferFound, TransferState
from redpacket.payments.model.withdrawals import LEASE_MS, Withdrawal
from redpacket.payments.ports import QUERY_HORIZON_MS
from redpacket.platform.dynamodb.client import to_wire
from redpacket.reconciliation.use_cases.statements import MOVING_MS
from testing.fakes import Item
from testing.payments.payment_system import PaymentSystem
from testing.platform.fake_services import FakeDeadLetters
from testing.reconciliation.planted import forge_transfer

DAY_MS = 86_400_000

Told: TypeAlias = set[tuple[str, str]]


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem()
    town.system.deposit("bob", 10_000)
    return town


def _told(town: PaymentSystem, after_ms: int = MOVING_MS + 1) -> Told:
    """Return the rules and subjects that a whole nightly run reports."""
    town.system.pass_time(after_ms)
    result = town.system.reconcile()
    return {(difference.rule, difference.subject) for difference in result.differences}


def _row(town: PaymentSystem, key: dict[str, str]) -> Item:
    return town.system.row("payments", key)


def _unlist(row: Item) -> None:
    del row["work_pk"], row["work_at_ms"]


def _paid_out(town: PaymentSystem) -> Withdrawal:
    withdrawal = town.withdraw("bob", 5_000)
    town.dispatch(1_000)
    town.sweep_after(LEASE_MS)
    return town.find(withdrawal)


def _second(town: PaymentSystem, *, is_done: bool = False) -> tuple[Payment, dict[str, str]]:
    """Pay a payment twice; return it, and the key of the second transaction's return."""
    payment = town.pay_in("alice", 900)
    town.pay_again(payment)
    if is_done:
        town.sweep_after(60_000)
    (returned,) = town.returns.list_returns(payment.number)
    return payment, payment_keys.payment_return(payment.number, returned.transaction_id)


def test_correct_rows_have_no_differences(town: PaymentSystem) -> None:
    _second(town, is_done=True)
    _paid_out(town)
    town.refund(town.pay_in("third", 70), 70)
    town.cancel(town.withdraw("bob", 1_000))
    town.start("alice", 5)
    mismatched = town.start("alice", 100)
    town.gateway.pay(mismatched.number, amount_fen=99)
    town.confirm(mismatched)
    town.send_unpaid("sue")
    paid = town.send_unpaid("sue")
    town.pay_packet(paid)

    assert _told(town, 60_000) == set()
    for _ in range(3):
        town.sweep_after(MOVING_MS + 60_000)
        town.system.sweep()
    assert _told(town) == set()


@pytest.mark.parametrize("status", ["pending", "closed"])
def test_a_payment_in_no_work_list_is_reported(town: PaymentSystem, status: str) -> None:
    payment = town.start("alice", 700)
    if status == "closed":
        for _ in range(3):
            town.sweep_after(MOVING_MS)
    assert town.paid(payment).status == status
    _unlist(_row(town, payment_keys.payment(payment.number)))

    assert _told(town) == {("I8", f"payment:{payment.number}")}
    # A closed payment is watched for a day.
    assert bool(_told(town, DAY_MS)) is (status == "pending")


def test_a_payment_that_ends_before_its_order_is_not_watched(town: PaymentSystem) -> None:
    packet = town.send_unpaid("sue")
    payment = town.start_packet(packet)
    _row(town, payment_keys.payment(payment.number))["ordered_at_ms"] = {"N": "0"}
    town.end_packet(packet)

    ended = town.paid(payment)

    assert (ended.status, ended.is_listed) == (PaymentStatus.CLOSED, False)
    assert _told(town) == set()
    assert town.differences() == []


def test_a_payment_that_stays_pending_is_reported(town: PaymentSystem) -> None:
    payment = town.start("alice", 700)

    assert _told(town, 3 * DAY_MS) == set()
    assert _told(town, DAY_MS) == {("I8", f"payment:{payment.number}")}


def test_a_return_that_is_late_or_in_no_work_list_is_reported(town: PaymentSystem) -> None:
    payment, key = _second(town)
    told = {("I8", f"payment:{payment.number}")}

    assert _told(town) == set()
    assert _told(town, 4 * DAY_MS) == told
    town.sweep()
    assert _told(town) == set()
    other, key = _second(town)
    _unlist(_row(town, key))
    assert _told(town) == {("I8", f"payment:{other.number}")}


def test_a_lost_return_is_reported(town: PaymentSystem) -> None:
    payment, key = _second(town)
    town.system.dynamo.tables["payments"].pop((key["pk"], key["sk"]))

    assert _told(town) == {("I6", f"payment:{payment.number}")}


def test_a_forged_return_of_a_credited_transaction_moves_no_money_and_is_reported(
    town: PaymentSystem,
) -> None:
    payment = town.pay_in("alice", 900)
    forged = PaymentReturn(
        number=payment.number,
        transaction_id=payment.transaction_id,
        amount_fen=900,
        reason=ReturnReason.SECOND,
        channel=payment.channel,
        noted_at_ms=town.system.clock.now_ms(),
        status=ReturnStatus.DUE,
        merchant=payment.merchant,
    )
    key = payment_keys.payment_return(payment.number, payment.transaction_id)
    row = return_row(forged)
    town.system.dynamo.put_item(TableName="payments", Item=to_wire(row))

    town.sweep_after(60_000)

    assert [line.kind for line in town.gateway.book] == [StatementKind.PAYMENT]
    assert _row(town, key)["return_status"] == {"S": "listed"}
    found = {difference.what for difference in town.system.differences()}
    assert "returned although credited" in found
    assert ("I1", f"payment:{payment.number}") in _told(town)


def test_a_refund_of_a_credited_transaction_is_debited_beside_a_forged_return(
    town: PaymentSystem,
) -> None:
    payment = town.pay_in("alice", 900)
    key = payment_keys.payment_return(payment.number, payment.transaction_id)
    _, other = _second(town)
    row = {**_row(town, other), **to_wire(key)}
    town.system.dynamo.put_item(TableName="payments", Item=row)

    town.refund(payment, 300)

    assert town.paid(payment).reversed_fen == 300


def test_a_payment_of_another_transaction_is_reported(town: PaymentSystem) -> None:
    payment = town.pay_in("alice", 900)
    _row(town, payment_keys.payment(payment.number))["transaction_id"] = {"S": "another"}

    assert _told(town) == {("I6", f"payment:{payment.number}")}


@pytest.mark.parametrize(
    ("answer", "late_ms", "is_told"),
    [
        ("not_found", 0, False),
        ("not_found", 1, True),
        ("failed", 1, False),
        ("cancelled", 1, False),
        ("processing", 0, True),
        ("", 0, True),
        # A row of an earlier version.
        (None, 0, False),
    ],
)
def test_money_that_was_returned_without_an_answer_of_its_provider_is_reported(
    town: PaymentSystem, answer: str | None, late_ms: int, *, is_told: bool
) -> None:
    withdrawal = town.cancel(town.withdraw("bob", 1_000))
    ended_at_ms = withdrawal.created_at_ms + QUERY_HORIZON_MS + late_ms
    missing = TransferFound(TransferState.NOT_FOUND)
    town.withdrawals.refund(withdrawal, missing, is_cancelled=True, now_ms=ended_at_ms)
    row = _row(town, payment_keys.withdrawal(withdrawal.withdrawal_id))
    del row["returned_on"]
    if answer is not None:
        row["returned_on"] = {"S": answer}

    told = _told(town, QUERY_HORIZON_MS + MOVING_MS + 10)

    assert told == ({("I6", f"withdrawal:{withdrawal.withdrawal_id}")} if is_told else set())
    by_python = town.system.differences()
    assert bool(by_python) is (is_told or answer is None)


@pytest.mark.parametrize("change", ["payment", "refund", "transfer", "amount", "no row"])
def test_a_statement_line_that_differs_from_its_row_is_reported(
    town: PaymentSystem, change: str
) -> None:
    payment, _ = _second(town, is_done=True)
    withdrawal = _paid_out(town)
    rows = town.system.dynamo.tables["payments"]
    lines = [
        key
        for key in rows
        if key[0].startswith(payment_keys.OUTSIDE_PREFIX)
        and ("#transfer#" if change not in {"payment", "refund"} else f"#{change}#") in key[0]
    ]
    if change == "amount":
        rows[lines[0]]["amount_fen"] = {"N": "4999"}
    elif change == "no row":
        forged = f"{withdrawal.withdrawal_id[:-1]}x01#bill"
        rows[lines[0][0], forged] = {**rows[lines[0]], "sk": {"S": forged}}
    else:
        del rows[lines[0]]

    subject = f"payment:{payment.number}"
    if change not in {"payment", "refund"}:
        of_id = withdrawal.withdrawal_id
        subject = f"withdrawal:{of_id[:-1]}x" if change == "no row" else f"withdrawal:{of_id}"
    assert _told(town) == {("I6", subject)}


@pytest.mark.parametrize("change", ["partition", "moved_at_ms"])
def test_a_line_outside_every_comparison_is_reported(town: PaymentSystem, change: str) -> None:
    town.pay_in("alice", 900)
    rows = town.system.dynamo.tables["payments"]
    key = next(key for key in rows if key[0].startswith(payment_keys.OUTSIDE_PREFIX))
    if change == "partition":
        rows["outside#x", key[1]] = {**rows.pop(key), "pk": {"S": "outside#x"}}
    else:
        rows[key]["moved_at_ms"] = {"N": str(town.system.clock.now_ms() - 40 * DAY_MS)}

    assert {rule for rule, _ in _told(town)} == {"I6"}


def test_a_paid_withdrawal_that_returns_is_reported_although_its_line_is_emptied(
    town: PaymentSystem,
) -> None:
    withdrawal = _paid_out(town)
    row = _row(town, payment_keys.withdrawal(withdrawal.withdrawal_id))
    row |= {"withdrawal_status": {"S": "failed"}, "returned_on": {"S": "failed"}}
    rows = town.system.dynamo.tables["payments"]
    for key in rows:
        if "#transfer#" in key[0]:
            rows[key]["amount_fen"] = {"N": "0"}

    told = _told(town)

    assert ("I6", f"withdrawal:{withdrawal.withdrawal_id}") in told
    assert "I7" in {rule for rule, _ in told}


def test_a_receivable_above_zero_is_reported(town: PaymentSystem) -> None:
    now_ms = town.system.clock.now_ms()
    debt = Transfer(
        *("collected:forged", TransferKind.PAYMENT_REFUNDED, "user:bob", "receivable:bob"),
        *(5_000, now_ms),
    )
    forge_transfer(town.system, debt)

    assert _told(town) == {("I7", "receivable:bob")}


def test_an_unknown_status_is_reported_by_the_next_run(town: PaymentSystem) -> None:
    payment, return_key = _second(town)
    queued = town.withdraw("bob", 1_000)
    packet = town.system.send("sue")
    for table, key, name in (
        ("payments", payment_keys.payment(payment.number), "payment_status"),
        ("payments", return_key, "return_status"),
        ("payments", payment_keys.withdrawal(queued.withdrawal_id), "withdrawal_status"),
        ("packets", packet_keys.packet(packet.packet_id), "status"),
    ):
        row = town.system.row(table, key)
        town.system.forge(table, key, **{name: {"S": f"{row[name]['S']}x"}})

    town.system.pass_time(MOVING_MS + 1)
    result = town.system.compare(FakeDeadLetters(0))

    unreadable = {
        difference.subject
        for difference in result.differences
        if difference.what == "row that can be read"
    }
    assert len(unreadable) == 4


def test_a_status_without_its_time_is_found(town: PaymentSystem) -> None:
    payment, withdrawal = town.start("alice", 900), town.withdraw("bob", 5_000)
    row = _row(town, payment_keys.payment(payment.number))
    row["payment_status"] = {"S": "paid"}
    _unlist(row)
    row = _row(town, payment_keys.withdrawal(withdrawal.withdrawal_id))
    row["withdrawal_status"] = {"S": "paid"}
    _unlist(row)

    told = _told(town)

    assert ("I1", f"payment:{payment.number}") in told
    assert ("I1", f"withdrawal:{withdrawal.withdrawal_id}") in told


@pytest.mark.parametrize(("place", "value"), [(1, "alipay"), (4, "999"), (4, "x")])
def test_a_line_that_no_comparison_reads_is_found(
    town: PaymentSystem, place: int, value: str
) -> None:
    town.pay_in("alice", 900)
    payments = town.system.dynamo.tables["payments"]
    ((pk, sk),) = [key for key in payments if key[0].startswith("outside#")]
    parts = pk.split("#")
    parts[place] = value
    moved = "#".join(parts)
    payments[moved, sk] = payments.pop((pk, sk)) | {"pk": {"S": moved}}

    assert ("I6", f"{moved} {sk}") in _told(town)
