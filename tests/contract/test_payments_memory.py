"""The gateway in memory, on which flows are tried, answers as the adapters do over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from redpacket.domain.gateway import (
    BillKind,
    Channel,
    OrderState,
    RefundFound,
    RefundOrder,
    RefundState,
    TransferOrder,
    TransferState,
    bill_day,
)
from testing.fakes.gateway import FakeGateway, FakePaymentsIn, FakePaymentsOut, an_account
from testing.fakes.services import FakeClock
from testing.gateways import DAY_MS, Fake, Inbox, Side, a_number


class MemoryFake(Fake):
    """What people do at the gateway in memory, by the names of the other ones' controls."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway

    def do(self, name: str, **body: Any) -> Any:
        gateway = self._gateway
        if name == "pay":
            payer = an_account(body.get("payer", "somebody")).name_hash
            late = body.get("late", False)
            assert gateway.pay(body["payment_id"], payer_hash=payer, is_forced=late)
        elif name == "confirm":
            made = gateway.transfers[body["withdrawal_id"]]
            gateway._move(made, TransferState.SUCCEEDED)
        elif name == "refund":
            return {"number": gateway.refund_outside(body["payment_id"], body["amount_fen"])}
        elif name == "advance":
            gateway.clock.sleep_ms(body["ms"])
        return None


class MemorySide(Side):
    def __init__(self) -> None:
        self.clock = FakeClock()
        # Only people move a transfer here, as at the other ones.
        self.gateway = FakeGateway(self.clock, next_state=lambda state: state)
        self.channel = Channel.WECHAT
        self.fake = MemoryFake(self.gateway)
        self.inbox = Inbox("")
        self.payments_in = FakePaymentsIn(self.gateway)
        self.payments_out = FakePaymentsOut(self.gateway, details="confirm")
        self.ahead_ms = 0

    def account(self, name: str) -> Any:
        return an_account(name)

    def now_ms(self) -> int:
        return self.clock.now_ms()


@pytest.fixture(params=["wechat", "host", "memory"])
def any_side(request: pytest.FixtureRequest) -> Side:
    if request.param == "memory":
        return MemorySide()
    found: Side = request.getfixturevalue(request.param)
    return found


def _paid(side: Side, amount_fen: int = 2_000) -> str:
    order = side.order(amount_fen=amount_fen)
    side.payments_in.order(order)
    side.fake.do("pay", payment_id=order.number, payer="bob")
    return order.number


def _asked(side: Side) -> TransferOrder:
    if side.channel is Channel.HOST:
        side.fake.do("mode", mode="asks_confirmation")
    order = side.transfer()
    side.payments_out.transfer(order)
    return order


def test_an_order_is_paid_and_found(any_side: Side) -> None:
    order = any_side.order(amount_fen=2_000)

    first, again = any_side.payments_in.order(order), any_side.payments_in.order(order)
    before = any_side.payments_in.query(order.number)
    any_side.fake.do("pay", payment_id=order.number, payer="bob")
    after = any_side.payments_in.query(order.number)

    assert first
    assert first == again
    assert (before.state, before.transactions) == (OrderState.UNPAID, ())
    assert after.state is OrderState.PAID
    (paid,) = after.transactions
    assert (paid.number, paid.amount_fen, paid.currency) == (order.number, 2_000, "CNY")
    assert paid.merchant == any_side.payments_in.merchant
    assert paid.payer_hash == any_side.account("bob").name_hash
    assert abs(paid.paid_at_ms - any_side.now_ms()) < 60_000
    assert any_side.payments_in.query_transaction(paid.transaction_id) == paid
    assert any_side.payments_in.order(order) is None


def test_what_was_never_ordered_is_not_found(any_side: Side) -> None:
    number = a_number()
    any_side.payments_in.close(number)
    any_side.payments_out.cancel(number)

    assert any_side.payments_in.query(number).state is OrderState.NOT_FOUND
    assert any_side.payments_in.query_transaction("42000") is None
    assert any_side.payments_in.query_refund(number) == RefundFound(number, RefundState.NOT_FOUND)
    assert any_side.payments_out.query(number).state is TransferState.NOT_FOUND


def test_a_closed_order_takes_only_a_payment_that_crossed(any_side: Side) -> None:
    order = any_side.order()
    any_side.payments_in.order(order)

    any_side.payments_in.close(order.number)
    closed = any_side.payments_in.query(order.number).state
    any_side.fake.do("pay", payment_id=order.number, late=True)

    assert closed is OrderState.CLOSED
    assert any_side.payments_in.order(order) is None
    assert any_side.payments_in.query(order.number).state is OrderState.PAID


def test_a_paid_order_stays_paid_where_it_is_closed(any_side: Side) -> None:
    number = _paid(any_side)

    any_side.payments_in.close(number)

    assert any_side.payments_in.query(number).state is OrderState.PAID


def test_a_refund_is_given_once(any_side: Side) -> None:
    number = _paid(any_side, 2_000)
    (paid,) = any_side.payments_in.query(number).transactions
    order = RefundOrder(a_number(), number, paid.transaction_id, 500, 2_000)

    for _ in range(2):
        any_side.payments_in.refund(order)
    by_hand = any_side.fake.do("refund", payment_id=number, amount_fen=300)["number"]

    for refund_no, amount_fen in ((order.refund_no, 500), (by_hand, 300)):
        found = any_side.payments_in.query_refund(refund_no)
        assert (found.refund_no, found.state) == (refund_no, RefundState.SUCCEEDED)
        assert (found.number, found.amount_fen) == (number, amount_fen)
        assert found.transaction_id == paid.transaction_id
        assert abs(found.refunded_at_ms - any_side.now_ms()) < 60_000
    assert any_side.payments_in.query(number).state is OrderState.PAID


def test_a_transfer_waits_for_its_user_and_pays_once(any_side: Side) -> None:
    order = _asked(any_side)

    asked = any_side.payments_out.transfer(order)
    waiting = any_side.payments_out.query(order.bill_no)
    any_side.fake.do("confirm", withdrawal_id=order.bill_no)
    found, again = any_side.payments_out.query(order.bill_no), any_side.payments_out.transfer(order)

    assert asked.state is waiting.state is TransferState.AWAITING_CONFIRMATION
    assert asked.confirmation
    assert found.state is again.state is TransferState.SUCCEEDED
    assert found.outside_no == asked.outside_no != ""
    assert (found.amount_fen, found.payee_hash) == (order.amount_fen, order.payee.name_hash)
    assert abs(found.decided_at_ms - any_side.now_ms()) < 60_000


def test_a_cancel_only_begins(any_side: Side) -> None:
    order = _asked(any_side)

    any_side.payments_out.cancel(order.bill_no)
    asked = any_side.payments_out.query(order.bill_no).state
    any_side.fake.do("confirm", withdrawal_id=order.bill_no)

    assert asked is TransferState.CANCELLING
    assert any_side.payments_out.query(order.bill_no).state is TransferState.SUCCEEDED


def test_a_bill_has_what_moved_on_its_day(any_side: Side) -> None:
    day, number = bill_day(any_side.now_ms()), _paid(any_side, 2_000)
    (paid,) = any_side.payments_in.query(number).transactions
    refund = RefundOrder(a_number(), number, paid.transaction_id, 500, 2_000)
    any_side.payments_in.refund(refund)
    order = _asked(any_side)
    any_side.fake.do("confirm", withdrawal_id=order.bill_no)
    early = any_side.payments_in.read_bill(day), any_side.payments_out.read_bill(day)

    any_side.advance(3 * DAY_MS)
    incoming, outgoing = any_side.payments_in.read_bill(day), any_side.payments_out.read_bill(day)

    assert early == (None, None)
    assert incoming is not None
    assert outgoing is not None
    assert [(one.kind, one.number, one.amount_fen, one.of_number) for one in incoming] == [
        (BillKind.PAYMENT, number, 2_000, ""),
        (BillKind.REFUND, refund.refund_no, 500, number),
    ]
    assert incoming[0].outside_no == paid.transaction_id
    assert [(one.kind, one.number, one.amount_fen) for one in outgoing] == [
        (BillKind.TRANSFER, order.bill_no, order.amount_fen)
    ]
    assert outgoing[0].outside_no == any_side.payments_out.query(order.bill_no).outside_no
