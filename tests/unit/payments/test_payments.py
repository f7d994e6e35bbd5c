import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest

from redpacket.ledger.dynamodb import keys
from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.errors import PacketExpired, PacketNotStarted
from redpacket.packets.model.packet import PacketStatus
from redpacket.payments.dynamodb import keys as payment_keys
from redpacket.payments.dynamodb.items import return_row
from redpacket.payments.dynamodb.payments import DynamoPayments
from redpacket.payments.errors import PayeeNotBound, SignatureInvalid
from redpacket.payments.model import payments
from redpacket.payments.model.provider import (
    Merchant,
    PayMethod,
    ProviderEvent,
    ProviderEventKind,
    statement_day,
)
from redpacket.payments.use_cases.handle_callback import CallbackPorts, handle_callback
from redpacket.payments.use_cases.return_payment import note_refund
from redpacket.payments.use_cases.start_payment import PaymentAsk, start_payment
from redpacket.platform import errors
from redpacket.platform.dynamodb.client import Dynamo, to_wire
from redpacket.platform.idempotency import Request
from testing.builders import a_claim
from testing.in_memory_system import an_order
from testing.payments.fake_gateway import FakeNoticeQueue
from testing.payments.payment_system import PaymentSystem
from testing.platform.fake_tables import TABLE_NAMES

WECHAT = ProviderName.WECHAT


def test_a_payment_is_credited_once_regardless_of_repeated_notices(town: PaymentSystem) -> None:
    payment = town.start()
    assert town.confirm(payment).status is payments.PaymentStatus.PENDING
    assert town.balance_fen() == 0
    town.gateway.pay(payment.number)

    for _ in range(4):
        assert town.confirm(payment).status is payments.PaymentStatus.PAID

    assert town.balance_fen() == 100
    assert town.differences() == []


def test_a_repeat_has_the_same_number_and_prompt(town: PaymentSystem) -> None:
    first, second = (town.start(key="key") for _ in range(2))

    assert (first.number, first.prompt) == (second.number, second.prompt)
    assert first.prompt == f'{{"code_url": "pay://{first.number}"}}'
    assert town.prompts.open_text(town.paid(first).prompt, first.number) == first.prompt


def test_the_next_request_places_an_interrupted_order(town: PaymentSystem) -> None:
    town.gateway.is_away = True
    first = town.start(key="key")
    town.gateway.is_away = False

    second = town.start(key="key")

    assert first.prompt == ""
    assert second.number == first.number
    assert second.prompt


def test_an_in_app_client_needs_an_account_there(town: PaymentSystem) -> None:
    ask = PaymentAsk("user", 100, WECHAT, PayMethod.JSAPI, Request("user", "k", "b"))
    town.payees.bound["user"] = None

    with pytest.raises(PayeeNotBound):
        start_payment(ask, payees=town.payees, ports=town.payments)

    assert town.system.dynamo.tables.get("payments", {}) == {}


def test_an_invented_transaction_in_a_callback_is_not_queried_twice(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 100)
    other = town.start("other", 50)
    stolen = town.gateway.pay(other.number)
    assert stolen

    town.confirm(payment, stolen.transaction_id)

    assert town.returns.list_returns(payment.number) == []
    assert town.confirm(other).status is payments.PaymentStatus.PAID
    assert town.differences() == []


@pytest.mark.parametrize("field", ["amount", "merchant", "payer"])
def test_a_transaction_that_differs_from_its_order_is_listed_and_not_credited(
    town: PaymentSystem, field: str
) -> None:
    payment = town.start("user", 100)
    if field == "merchant":
        town.gateway.merchant = Merchant("app", "somebody else")
    town.gateway.pay(
        payment.number,
        amount_fen=99 if field == "amount" else None,
        payer_hash="hash-thief" if field == "payer" else None,
    )

    town.confirm(payment)
    town.sweep_after(payments.PAYMENT_LIFE_MS + 60_000)

    (listed,) = town.returns.list_returns(payment.number)
    assert listed.reason is payments.ReturnReason.MISMATCHED
    assert town.balance_fen() == 0
    assert town.gateway.refunds == {}
    assert [name for name, _ in town.system.logger.errors][:1] == ["payment_mismatched"]


def test_any_user_can_pay_a_native_order(town: PaymentSystem) -> None:
    payment = town.start("user", 100, method=PayMethod.NATIVE)
    town.gateway.pay(payment.number, payer_hash="hash-friend")

    town.confirm(payment)

    assert town.balance_fen() == 100


def test_an_unpaid_order_is_first_closed_at_the_gateway(town: PaymentSystem) -> None:
    payment = town.start()
    town.system.pass_time(payments.PAYMENT_LIFE_MS)

    first = town.confirm(payment)
    is_closed_there = town.gateway.orders[payment.number].is_closed
    second = town.confirm(payment)

    assert first.status is payments.PaymentStatus.PENDING
    assert is_closed_there
    assert second.status is payments.PaymentStatus.CLOSED


def test_a_payment_that_is_credited_during_a_concurrent_close_is_paid(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = town.start()
    town.system.pass_time(payments.PAYMENT_LIFE_MS)
    town.confirm(payment)
    close = DynamoPayments.close

    def close_too_late(self: DynamoPayments, *seen: Any) -> bool:
        monkeypatch.setattr(DynamoPayments, "close", close)
        order = town.gateway.orders[payment.number]
        order.is_closed = False
        town.gateway.pay(payment.number)
        town.confirm(payment)
        return close(self, *seen)

    monkeypatch.setattr(DynamoPayments, "close", close_too_late)

    assert town.confirm(payment).status is payments.PaymentStatus.PAID
    assert town.balance_fen() == payment.amount_fen


def test_a_callback_about_our_own_refund_ends_it(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 100)
    town.pay_again(payment)
    (due,) = town.returns.list_returns(payment.number)
    town.gates_in[WECHAT].refund(due.order)

    for _ in range(2):
        note_refund(WECHAT, due.refund_no, ports=town.payments)

    (done,) = town.returns.list_returns(payment.number)
    assert (done.status, done.left_fen) == (payments.ReturnStatus.DONE, 0)
    assert town.balance_fen() == 100
    assert town.differences(bound_ms=0) == []


@pytest.mark.parametrize("what", ["transaction_id", "of_number"])
def test_a_refund_of_ours_that_the_gateway_assigns_to_another_payment_ends_nothing(
    town: PaymentSystem, what: str
) -> None:
    payment = town.pay_in("user", 100)
    town.pay_again(payment)
    (due,) = town.returns.list_returns(payment.number)
    town.gates_in[WECHAT].refund(due.order)
    made = town.gateway.refunds[due.refund_no]
    town.gateway.refunds[due.refund_no] = other = replace(made)
    setattr(other, what, "another")
    town.sweep()

    assert town.returns.list_returns(payment.number) == [due]
    assert [name for name, _ in town.system.logger.errors] == ["return_failed"]

    town.gateway.refunds[due.refund_no] = made
    assert town.sweep_after(120_000).failed_count == 0


def test_a_refund_is_tied_to_the_transaction_that_it_was_noted_with(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 100)
    first = town.gateway.orders[payment.number].transactions[0]
    town.refund(payment, 40)
    town.pay_again(payment)
    (noted,) = town.returns.list_refunds(payment.number)
    second = town.gateway.orders[payment.number].transactions[1]
    made = town.gateway.refunds[noted.refund_no]
    town.gateway.refunds[noted.refund_no] = replace(made, transaction_id=second.outside_no)

    with pytest.raises(errors.InvariantViolated, match="another transaction"):
        note_refund(WECHAT, noted.refund_no, ports=town.payments)

    assert noted.transaction_id == first.outside_no
    assert town.balance_fen() == 60


def _closed(town: PaymentSystem) -> payments.Payment:
    payment = town.start()
    town.system.pass_time(payments.PAYMENT_LIFE_MS)
    for _ in range(2):
        payment = town.confirm(payment)
    assert payment.status is payments.PaymentStatus.CLOSED
    return payment


def test_a_payment_that_always_fails_blocks_no_other(town: PaymentSystem) -> None:
    town.start("broken")
    payment = town.start("user")
    town.gateway.pay(payment.number)
    query = town.payments.providers[WECHAT].query
    gate = town.gates_in[WECHAT]

    def fails_for_the_first(number: str) -> object:
        if number != payment.number:
            raise errors.Unavailable("never")
        return query(number)

    gate.query = fails_for_the_first  # type: ignore[method-assign, assignment]
    town.sweep()

    assert town.balance_fen() == 100
    assert town.repository.list_waiting(WECHAT, town.clock.now_ms(), 10) == []


def test_partial_refunds_are_debited_up_to_the_paid_amount(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 100)

    for _ in range(2):
        town.refund(payment, 30)

    paid = town.paid(payment)
    assert paid.refunded_fen == 60
    assert paid.shown_status is payments.PaymentStatus.PAID
    assert town.differences() == []
    with pytest.raises(errors.InvariantViolated):
        town.refund(payment, 41)
    assert town.balance_fen() == 40


@pytest.mark.parametrize("is_told", [True, False])
def test_a_payment_that_was_refunded_before_its_credit_is_not_credited(
    town: PaymentSystem, *, is_told: bool
) -> None:
    payment = town.start("user", 100)
    town.gateway.pay(payment.number)
    refund_no = town.gateway.refund_outside(payment.number, 100)

    for _ in range(2):
        if is_told:
            town.follow(ProviderEvent(ProviderEventKind.REFUND, "n1", refund_no))
    town.sweep_after(60_000)
    town.system.pass_time(36 * 3_600_000)
    report = town.compare_statement(statement_day(payment.created_at_ms))

    (returned,) = town.returns.list_returns(payment.number)
    assert report is not None
    assert report.differences == ()
    assert town.balance_fen() == 0
    assert (returned.reason, returned.status) == (
        payments.ReturnReason.REFUNDED,
        payments.ReturnStatus.REFUNDED,
    )
    assert town.paid(payment).shown_status is payments.PaymentStatus.REFUNDED
    assert town.lists.list_listed_returns(None, 10)[0] == []
    assert [name for name, _ in town.system.logger.errors] == ["payment_mismatched"]
    assert town.differences() == []
    assert not town.system.reconcile().differences


def test_an_operator_decides_about_the_rest_of_a_payment_that_was_partly_refunded_before_its_credit(
    town: PaymentSystem,
) -> None:
    payment = town.start("user", 100)
    town.gateway.pay(payment.number)

    town.refund(payment, 30)
    (listed,), _ = town.lists.list_listed_returns(None, 10)
    town.refund(payment, 30)
    (still,), _ = town.lists.list_listed_returns(None, 10)
    town.refund(payment, 40)

    assert (listed.status, listed.refunded_fen) == (payments.ReturnStatus.LISTED, 30)
    assert (still.status, still.refunded_fen) == (payments.ReturnStatus.LISTED, 60)
    assert town.lists.list_listed_returns(None, 10)[0] == []
    assert town.paid(payment).refunded_fen == 100
    assert town.balance_fen() == 0
    assert town.differences() == []
    with pytest.raises(errors.InvariantViolated):
        town.refund(payment, 1)


def test_a_packet_whose_payment_was_already_refunded_does_not_open(town: PaymentSystem) -> None:
    packet = town.send_unpaid(total_fen=1000, count=4)
    payment = town.start_packet(packet)
    town.gateway.pay(payment.number)
    town.gateway.refund_outside(payment.number, 300)

    town.confirm(payment)
    town.sweep_after(payments.PAYMENT_LIFE_MS)

    stored = town.system.packets.find_packet(packet.packet_id)
    assert stored
    assert stored.status is PacketStatus.CANCELLED
    assert town.balance_fen("sender") == 0


@pytest.mark.parametrize(
    ("fen", "status", "told"),
    [
        (40, payments.ReturnStatus.LISTED, ["refund_by_gateway_failed"]),
        (100, payments.ReturnStatus.REFUNDED, []),
    ],
)
def test_a_second_transaction_that_was_partly_refunded_manually_is_left_to_an_operator(
    town: PaymentSystem, fen: int, status: payments.ReturnStatus, told: list[str]
) -> None:
    payment = town.pay_in("user", 100)
    town.pay_again(payment)
    second = town.gateway.orders[payment.number].transactions[1]
    refund_no = town.gateway.refund_paid(second, fen)

    note_outside, lost = town.returns.note_outside, iter([False])

    def lose_once(*row: Any) -> bool:
        assert not town.system.logger.errors, "a person is told before the refund is noted"
        return next(lost, True) and note_outside(*row)

    with patch.object(town.returns, "note_outside", lose_once):
        note_refund(WECHAT, refund_no, ports=town.payments)
    town.sweep_after(120_000)

    (listed,) = town.returns.list_returns(payment.number)
    assert (listed.status, listed.refunded_fen) == (status, fen)
    assert len(town.gateway.refunds) == 1
    assert town.balance_fen() == 100
    assert [name for name, _ in town.system.logger.errors] == told
    assert town.differences() == []


def test_a_query_from_before_the_refund_can_still_credit(town: PaymentSystem) -> None:
    """The refund then debits the user's account."""
    payment = town.start("user", 100)
    town.gateway.pay(payment.number)
    before = town.gates_in[WECHAT].query(payment.number)
    (paid,) = before.transactions
    refund_no = town.gateway.refund_outside(payment.number, 100)
    put_return = town.returns.put_return

    def too_late(*arguments: Any) -> Any:
        now_ms = town.clock.now_ms()
        assert town.repository.credit(payment, paid, now_ms)
        return put_return(*arguments)

    with patch.object(town.returns, "put_return", too_late):
        note_refund(WECHAT, refund_no, ports=town.payments)

    assert town.balance_fen() == 0
    assert town.paid(payment).reversed_fen == 100
    assert town.differences() == []


# ---- packets that a payment funds


def test_an_unpaid_packet_takes_no_money_and_gives_out_nothing(town: PaymentSystem) -> None:
    packet = town.send_unpaid()

    with pytest.raises(PacketNotStarted):
        town.system.grab(packet, "user-1")

    assert packet.status is PacketStatus.UNPAID
    assert town.system.ledger_state().open_counts == {"user:sender": 1}
    assert town.differences() == []


def _mark(town: PaymentSystem, user: str, key: str = "key") -> None:
    town.system.deposit_for_campaigns(user, 6_000, Request("treasurer", key, "body"))


def test_campaign_money_funds_no_private_packet_with_another_one_open(town: PaymentSystem) -> None:
    _mark(town, "chest")
    # Deployments before 1.0 let an account with the mark send unpaid packets.
    town.system.row("accounts", keys.account("user:chest"))["open_count"] = {"N": "1"}
    order = an_order("chest", key="private", total_fen=1_000, count=1)

    with pytest.raises(errors.Forbidden):
        town.system.send_order(order)

    assert town.balance_fen("chest") == 6_000


def test_an_account_of_campaign_money_accepts_no_payment(town: PaymentSystem) -> None:
    _mark(town, "chest")

    with pytest.raises(errors.Forbidden, match="campaign money"):
        town.pay_in("chest", 300)
    with pytest.raises(errors.Forbidden, match="campaign money"):
        town.send_unpaid("chest")

    assert town.gateway.orders == {}
    assert town.balance_fen("chest") == 6_000
    assert town.differences() == []


def test_a_pending_payment_keeps_an_account_from_campaign_money(town: PaymentSystem) -> None:
    payment = town.start("ann", 300)

    with pytest.raises(errors.InvalidRequest) as refused:
        _mark(town, "ann")
    town.gateway.pay(payment.number)
    town.confirm(payment)

    assert [error["field"] for error in refused.value.errors] == ["is_for_campaigns"]
    assert town.balance_fen("ann") == 300
    assert town.differences() == []


def test_an_unpaid_packet_keeps_an_account_from_campaign_money(town: PaymentSystem) -> None:
    packet = town.send_unpaid("ann", count=1, total_fen=300)

    with pytest.raises(errors.InvalidRequest):
        _mark(town, "ann")
    town.pay_packet(packet)

    assert town.system.stored(packet).status is PacketStatus.OPEN
    assert town.differences() == []


def test_a_share_that_an_account_of_campaign_money_claims_is_campaign_money(
    town: PaymentSystem,
) -> None:
    _mark(town, "chest")
    packet = town.system.send("sue", count=1, total_fen=500)

    town.system.grab(packet, "chest")
    town.system.settle()

    assert town.balance_fen("chest") == 6_500
    with pytest.raises(errors.Forbidden):
        town.withdraw("chest", 100)
    with pytest.raises(errors.Forbidden):
        town.system.send_order(an_order("chest", key="own", total_fen=500, count=1))
    assert town.differences() == []


def test_a_packet_lives_from_its_payment_on(town: PaymentSystem) -> None:
    packet = town.send_unpaid(total_fen=1000, count=4)
    payment = town.start_packet(packet)
    town.system.pass_time(5 * 60_000)
    town.gateway.pay(payment.number)
    town.confirm(payment)

    claim = town.system.grab(packet, "user-1")
    town.system.settle()
    paid = town.system.stored(packet)

    assert paid.status is PacketStatus.OPEN
    assert paid.paid_at_ms == town.clock.now_ms()
    assert paid.expires_at_ms - paid.starts_at_ms == packet.expires_at_ms - packet.starts_at_ms
    assert town.balance_fen("user-1") == claim.share.amount_fen
    assert town.balance_fen("sender") == 0
    kinds = [entry.kind for entry in town.system.ledger.list_entries("user:sender", None, 10)[0]]
    assert sorted(kinds) == ["payment", "send"]
    assert town.differences() == []


@pytest.mark.parametrize("ahead_ms", [60_000, 24 * 3_600_000])
def test_a_packet_starts_at_the_later_of_its_requested_start_and_its_payment(
    town: PaymentSystem, ahead_ms: int
) -> None:
    asked_ms = town.clock.now_ms() + ahead_ms
    packet = town.send_unpaid(total_fen=1000, count=4, starts_at_ms=asked_ms)
    payment = town.start_packet(packet)
    town.system.pass_time(5 * 60_000)
    town.gateway.pay(payment.number)
    town.confirm(payment)

    paid = town.system.stored(packet)

    assert paid.paid_at_ms == town.clock.now_ms()
    assert paid.starts_at_ms == max(asked_ms, paid.paid_at_ms)
    assert paid.expires_at_ms - paid.starts_at_ms == packet.expires_at_ms - packet.starts_at_ms
    if asked_ms > paid.paid_at_ms:
        with pytest.raises(PacketNotStarted):
            town.system.grab(paid, "user-1")
        town.system.pass_time(asked_ms - paid.paid_at_ms)
    town.system.grab(paid, "user-1")
    town.system.settle()
    assert town.differences() == []


def test_an_unpaid_packet_is_canceled_after_15_minutes_and_later_money_goes_to_the_balance(
    town: PaymentSystem,
) -> None:
    packet = town.send_unpaid(total_fen=1000, count=4)
    payment = town.start_packet(packet)

    town.sweep_after(payments.PAYMENT_LIFE_MS)
    with pytest.raises(PacketExpired):
        town.system.grab(packet, "user-1")
    assert town.system.ledger_state().open_counts == {"user:sender": 0}
    assert town.differences() == []
    town.gateway.pay(payment.number, is_forced=True)
    town.confirm(payment)

    assert town.system.stored(packet).status is PacketStatus.CANCELLED
    assert town.balance_fen("sender") == 1000
    assert town.differences() == []


def test_a_packet_is_canceled_only_after_its_payment_was_queried(town: PaymentSystem) -> None:
    """A payment that is made at the last moment funds the packet."""
    packet = town.send_unpaid()
    town.gateway.pay(town.start_packet(packet).number)
    town.system.pass_time(payments.PAYMENT_LIFE_MS)

    town.sweep()

    stored = town.system.stored(packet)
    assert stored.status is PacketStatus.OPEN
    assert not town.system.ledger.cancel_unpaid(stored, town.clock.now_ms())
    assert town.differences() == []


def test_an_unpaid_packet_is_never_due_and_not_in_the_list_of_sent_packets(
    town: PaymentSystem,
) -> None:
    packet = town.send_unpaid()
    town.system.pass_time(10 * 60_000)

    closing = town.system.packets.begin_close(packet, town.clock.now_ms())
    town.system.sweep()

    assert closing.status is PacketStatus.UNPAID
    assert town.system.packets.list_sent("sender", None, None, 10)[0] == []
    assert town.differences() == []
    town.pay_packet(packet)
    ((sent,), _) = town.system.packets.list_sent("sender", None, None, 10)
    assert sent.packet_id == packet.packet_id


# Callbacks


class _Callbacks:
    """CallbackVerifier for bodies that are numbers."""

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> ProviderEvent:
        if "signature" not in headers:
            raise SignatureInvalid("not signed")
        return ProviderEvent(ProviderEventKind.PAYMENT, f"notice-{body.decode()}", body.decode())


def _call_back(town: PaymentSystem, queue: FakeNoticeQueue, number: str, **headers: str) -> None:
    handle_callback(
        WECHAT,
        headers,
        number.encode(),
        ports=CallbackPorts({WECHAT: _Callbacks()}, queue, town.repository, town.clock),
    )


def test_a_callback_is_queued_once_and_leads_to_a_query(town: PaymentSystem) -> None:
    queue, payment = FakeNoticeQueue(), town.start()
    town.gateway.pay(payment.number)

    for _ in range(2):
        _call_back(town, queue, payment.number, signature="right")
    for notice in queue.notices:
        town.follow(notice)

    assert len(queue.notices) == 1
    assert town.balance_fen() == 100


def test_a_callback_that_was_not_queued_is_accepted_again_and_moves_no_money_alone(
    town: PaymentSystem,
) -> None:
    queue, payment = FakeNoticeQueue(), town.start()
    queue.is_away = True
    with pytest.raises(errors.Unavailable):
        _call_back(town, queue, payment.number, signature="right")
    queue.is_away = False

    _call_back(town, queue, payment.number, signature="right")
    (notice,) = queue.notices
    town.follow(notice)

    assert town.balance_fen() == 0


def test_a_callback_from_another_sender_leaves_nothing_behind(town: PaymentSystem) -> None:
    queue, payment = FakeNoticeQueue(), town.start()

    with pytest.raises(SignatureInvalid):
        _call_back(town, queue, payment.number)

    assert queue.notices == []
    assert not town.repository.has_notice(WECHAT, f"notice-{payment.number}")


def test_a_claim_of_an_unpaid_packet_is_not_paid(town: PaymentSystem) -> None:
    packet = town.send_unpaid()
    share = a_claim(packet, 1, "thief")
    town.system.recorder.record_claim(share)

    unpaid = town.system.settle([share.ref])

    assert unpaid == {share.ref}
    assert town.balance_fen("thief") == 0


def test_every_field_of_an_order_is_compared(town: PaymentSystem) -> None:
    payment = town.start("user", 100)
    paid = town.gateway.pay(payment.number)
    assert paid
    merchant = town.gates_in[WECHAT].merchant

    def named(**changes: object) -> list[str]:
        return payments.mismatches(payment, replace(paid, **changes), merchant, "CNY")  # type: ignore[arg-type]

    assert named() == []
    assert named(amount_fen=101) == ["amount_fen"]
    assert named(currency="USD") == ["currency"]
    assert named(number="other") == ["number"]
    assert named(merchant=Merchant("other", merchant.mch_id)) == ["app_id"]
    assert named(merchant=Merchant(merchant.app_id, "other")) == ["mch_id"]
    assert named(payer_hash=None) == ["payer"]


def test_unpaid_packets_count_as_open(town: PaymentSystem) -> None:
    town.system.funding = DynamoFunding(
        Dynamo(lambda: town.system.dynamo, TABLE_NAMES), open_packets_max=2
    )
    for _ in range(2):
        town.send_unpaid()

    with pytest.raises(errors.RateLimited):
        town.send_unpaid()
    town.sweep_after(payments.PAYMENT_LIFE_MS)

    assert town.send_unpaid().status is PacketStatus.UNPAID


def test_a_repeat_of_an_unpaid_send_is_the_same_packet(town: PaymentSystem) -> None:
    first, second = (town.send_unpaid(key="key") for _ in range(2))

    assert first.packet_id == second.packet_id
    assert second.payment_id == first.payment_id


def test_a_payment_that_keeps_changing_is_credited_by_a_later_query(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = town.start()
    town.gateway.pay(payment.number)
    with monkeypatch.context() as patch:
        patch.setattr(type(town.repository), "credit", lambda *_, **__: False)
        with pytest.raises(errors.Unavailable):
            town.confirm(payment)

    assert town.confirm(payment).status is payments.PaymentStatus.PAID


def test_a_notice_is_stored_for_whole_seconds(town: PaymentSystem) -> None:
    town.repository.note_notice(WECHAT, "notice", 5_000_999)

    rows = town.system.dynamo.tables["payments"].values()
    assert [row["expires_at_s"] for row in rows if "expires_at_s" in row] == [{"N": "5000"}]


def test_a_queried_payment_waits_for_its_next_query(town: PaymentSystem) -> None:
    payment = town.start()
    town.system.pass_time(60_000)
    assert town.repository.list_waiting(WECHAT, town.clock.now_ms(), 10) == [payment.number]

    town.confirm(payment)

    assert town.repository.list_waiting(WECHAT, town.clock.now_ms(), 10) == []


def _listed(town: PaymentSystem, payment: payments.Payment) -> list[str]:
    """Return the reasons why transactions of a payment wait for an operator."""
    returns = town.returns.list_returns(payment.number)
    return [each.reason for each in returns if each.status is payments.ReturnStatus.LISTED]


def test_a_payment_is_credited_only_to_the_sender_of_its_packet(town: PaymentSystem) -> None:
    packet = town.send_unpaid("alice")
    payment = town.start_packet(packet)
    row = town.system.row("payments", payment_keys.payment(payment.number))
    row["user_id"] = {"S": "mallory"}
    town.gateway.pay(payment.number)

    town.confirm(payment)

    assert town.balance_fen("mallory") == 0
    assert town.paid(payment).credited_at_ms is None
    assert _listed(town, payment) == ["mismatched"]


def test_a_payment_of_an_unknown_packet_waits_for_an_operator(
    town: PaymentSystem,
) -> None:
    payment = town.start("alice", 500)
    row = town.system.row("payments", payment_keys.payment(payment.number))
    row |= {"user_id": {"S": "mallory"}, "packet_id": {"S": "nowhere"}}
    town.gateway.pay(payment.number)

    for _ in range(2):
        town.confirm(payment)
    town.sweep_after(payments.PAYMENT_LIFE_MS)

    assert town.balance_fen("mallory") == 0
    assert _listed(town, payment) == ["mismatched"]
    assert "payment_mismatched" in dict(town.system.logger.errors)


def test_a_credited_transaction_is_not_returned_under_another_number(town: PaymentSystem) -> None:
    credited, other = town.pay_in("mallory", 500), town.pay_in("accomplice", 500)
    forged = payments.PaymentReturn(
        number=other.number,
        transaction_id=credited.transaction_id,
        amount_fen=500,
        reason=payments.ReturnReason.MISMATCHED,
        channel=WECHAT,
        noted_at_ms=town.clock.now_ms(),
        status=payments.ReturnStatus.DUE,
        merchant=other.merchant,
    )
    town.system.dynamo.put_item(TableName="payments", Item=to_wire(return_row(forged)))

    town.sweep_after(60_000)

    assert [line.kind for line in town.gateway.book] == ["payment", "payment"]


@pytest.mark.parametrize(
    ("fen", "status"),
    [(99, payments.PaymentStatus.PAID), (100, payments.PaymentStatus.REFUNDED)],
)
def test_a_payment_is_shown_as_refunded_once_all_of_it_is(
    town: PaymentSystem, fen: int, status: payments.PaymentStatus
) -> None:
    payment = town.pay_in("user", 100)

    town.refund(payment, fen)

    assert town.paid(payment).shown_status is status


def test_numbers_of_refunds_stay_those_that_the_provider_has() -> None:
    number = payments.refund_no_of("pm1", "4200001")

    assert number == "rf" + hashlib.sha256(b"pm1 4200001").hexdigest()[:30]
