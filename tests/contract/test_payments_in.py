"""Payments: the same scenarios for each provider's adapter, over HTTP to simulated providers."""

import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model import provider as gateway
from redpacket.platform.errors import Unavailable
from testing.payments.gateways import Side, WeChatSide, a_number

IN_MEMORY_TOO = True


def _paid(side: Side, amount_fen: int = 2_000) -> gateway.Transaction:
    order = side.order(amount_fen=amount_fen)
    side.payments_in.order(order)
    side.fake.do("pay", payment_id=order.number, payer="bob")
    (transaction,) = side.payments_in.query(order.number).transactions
    return transaction


def _refund(paid: gateway.Transaction, amount_fen: int, **changes: str) -> gateway.RefundOrder:
    wanted = {"refund_no": a_number(), "transaction_id": paid.transaction_id} | changes
    return gateway.RefundOrder(
        number=paid.number, amount_fen=amount_fen, total_fen=paid.amount_fen, **wanted
    )


def test_an_order_is_paid_reported_and_found(side: Side) -> None:
    order = side.order(amount_fen=2_000)

    to_pay = side.payments_in.order(order)
    before = side.payments_in.query(order.number)
    side.fake.do("pay", payment_id=order.number, payer="bob")
    (notice,) = side.notices(1)
    after = side.payments_in.query(order.number)

    assert to_pay
    assert before.state is gateway.OrderState.UNPAID
    assert not before.transactions
    assert (notice.kind, notice.number) == (gateway.ProviderEventKind.PAYMENT, order.number)
    assert after.state is gateway.OrderState.PAID
    (paid,) = after.transactions
    assert paid.transaction_id == notice.outside_no
    assert (paid.number, paid.amount_fen, paid.currency) == (order.number, 2_000, "CNY")
    assert paid.merchant == side.payments_in.merchant
    assert paid.payer_hash == side.account("bob").name_hash
    assert abs(paid.paid_at_ms - side.now_ms()) < 60_000
    assert side.payments_in.query_transaction(paid.transaction_id) == paid


def test_an_in_app_order_is_for_its_payer_alone(side: Side) -> None:
    order = side.order(method=gateway.PayMethod.JSAPI, payer=side.account("alice"))

    to_pay = side.payments_in.order(order)
    side.fake.do("pay", payment_id=order.number, payer="mallory")

    assert to_pay
    (paid,) = side.payments_in.query(order.number).transactions
    assert paid.payer_hash == side.account("alice").name_hash


def test_a_repeated_order_changes_nothing(side: Side) -> None:
    order = side.order()

    first, again = side.payments_in.order(order), side.payments_in.order(order)

    assert first == again
    assert list(side.fake.paid_in()) == [order.number]


def test_a_number_with_another_content_is_not_executed(side: Side) -> None:
    order = side.order(amount_fen=2_000)
    side.payments_in.order(order)

    # Both providers refuse the used number; the in-process simulator raises an AssertionError.
    try:
        again = side.payments_in.order(side.order(number=order.number, amount_fen=3_000))
    except (Unavailable, AssertionError):
        again = None

    side.fake.do("pay", payment_id=order.number)
    assert again is None
    (paid,) = side.payments_in.query(order.number).transactions
    assert paid.amount_fen == 2_000


@pytest.mark.parametrize("mode", ["pays_and_times_out", "pays_and_fails"])
def test_an_order_with_a_lost_answer_is_found_by_a_query(side: Side, mode: str) -> None:
    side.fake.do("mode", mode=mode)
    order = side.order()

    with pytest.raises(Unavailable):
        side.payments_in.order(order)
    side.fake.do("mode", mode="ok")

    assert side.payments_in.query(order.number).state is gateway.OrderState.UNPAID
    assert side.payments_in.order(order)
    side.fake.do("pay", payment_id=order.number)
    assert side.payments_in.query(order.number).state is gateway.OrderState.PAID


@pytest.mark.parametrize("mode", ["times_out", "fails", "throttles", "refuses"])
def test_an_unmade_order_is_unknown_until_a_query_finds_none(side: Side, mode: str) -> None:
    side.fake.do("mode", mode=mode)
    order = side.order()

    with pytest.raises(Unavailable):
        side.payments_in.order(order)
    side.fake.do("mode", mode="ok")

    assert side.payments_in.query(order.number).state is gateway.OrderState.NOT_FOUND


def test_an_order_can_be_found_late(side: Side) -> None:
    side.fake.do("mode", mode="not_found_then_found")
    order = side.order()
    with pytest.raises(Unavailable):
        side.payments_in.order(order)

    states = [side.payments_in.query(order.number).state for _ in range(3)]

    assert states == [
        gateway.OrderState.NOT_FOUND,
        gateway.OrderState.NOT_FOUND,
        gateway.OrderState.UNPAID,
    ]


def test_a_slow_answer_is_accepted(side: Side) -> None:
    side.fake.do("mode", mode="slow", slow_ms=300)

    assert side.payments_in.order(side.order())


@pytest.mark.parametrize("mode", ["fails", "throttles"])
def test_a_query_without_an_answer_is_unknown(side: Side, mode: str) -> None:
    paid = _paid(side)
    side.fake.do("mode", mode=mode)

    for ask in (
        lambda: side.payments_in.query(paid.number),
        lambda: side.payments_in.query_transaction(paid.transaction_id),
        lambda: side.payments_in.query_refund("none"),
        lambda: side.payments_in.close(paid.number),
    ):
        with pytest.raises(Unavailable):
            ask()


def test_a_closed_order_takes_no_payment(side: Side) -> None:
    order = side.order()
    side.payments_in.order(order)

    side.payments_in.close(order.number)
    side.payments_in.close(order.number)

    assert side.payments_in.query(order.number).state is gateway.OrderState.CLOSED
    assert side.payments_in.order(order) is None


def test_closing_a_paid_or_unknown_order_changes_nothing(side: Side) -> None:
    paid = _paid(side)

    side.payments_in.close(paid.number)
    side.payments_in.close(a_number())

    assert side.payments_in.query(paid.number).state is gateway.OrderState.PAID


def test_an_order_expires(side: Side) -> None:
    order = side.order()
    side.payments_in.order(order)

    side.advance(16 * 60_000)

    assert side.payments_in.query(order.number).state is gateway.OrderState.CLOSED


def test_a_payment_can_overlap_with_the_close(side: Side) -> None:
    order = side.order()
    side.payments_in.order(order)
    side.payments_in.close(order.number)

    side.fake.do("pay", payment_id=order.number, late=True)

    assert side.payments_in.query(order.number).state is gateway.OrderState.PAID
    (notice,) = side.notices(1)
    assert notice.number == order.number


def test_a_second_payment_of_one_number_is_found_by_its_own_id(side: Side) -> None:
    first = _paid(side)
    side.fake.do("pay", payment_id=first.number, late=True)

    notices = side.notices(2)

    ids = {notice.outside_no for notice in notices}
    assert len(ids) == 2
    assert {notice.number for notice in notices} == {first.number}
    transactions = [side.payments_in.query_transaction(each) for each in ids]
    assert {transaction.transaction_id for transaction in transactions if transaction} == ids
    assert {transaction.number for transaction in transactions if transaction} == {first.number}


def test_an_id_that_the_gateway_never_issued_has_no_payment(side: Side) -> None:
    assert side.payments_in.query_transaction("4200000000000000000000000000") is None
    assert side.payments_in.query(a_number()).state is gateway.OrderState.NOT_FOUND


def test_a_payment_of_another_amount_has_that_amount(side: Side) -> None:
    order = side.order(amount_fen=2_000)
    side.payments_in.order(order)

    side.fake.do("pay", payment_id=order.number, amount_fen=1)

    (paid,) = side.payments_in.query(order.number).transactions
    assert paid.amount_fen == 1


def test_a_refund_number_is_refunded_once(side: Side) -> None:
    paid = _paid(side, 2_000)
    order = _refund(paid, 500)

    first, again = side.payments_in.refund(order), side.payments_in.refund(order)

    assert {first.state, again.state} <= {
        gateway.RefundState.PROCESSING,
        gateway.RefundState.SUCCEEDED,
    }
    refund = side.payments_in.query_refund(order.refund_no)
    assert refund.state is gateway.RefundState.SUCCEEDED
    assert (refund.number, refund.transaction_id) == (paid.number, paid.transaction_id)
    assert (refund.refund_no, refund.amount_fen) == (order.refund_no, 500)
    assert abs(refund.refunded_at_ms - side.now_ms()) < 60_000
    assert side.fake.paid_in()[paid.number]["refunded_fen"] == 500
    # The payment can still be queried.
    assert side.payments_in.query(paid.number).state is gateway.OrderState.PAID
    told = [notice for notice in side.notices(2) if notice.kind is gateway.ProviderEventKind.REFUND]
    assert [notice.number for notice in told] == [order.refund_no]


def test_refunds_never_exceed_the_payment(side: Side) -> None:
    paid = _paid(side, 2_000)
    side.payments_in.refund(_refund(paid, 1_500))
    too_much = _refund(paid, 501)

    # Our WeChat adapter takes a refusal for an unknown outcome; a host's wallet returns a failure.
    if side.channel is ProviderName.WECHAT:
        with pytest.raises(Unavailable):
            side.payments_in.refund(too_much)
        expected = gateway.RefundState.NOT_FOUND
    else:
        assert side.payments_in.refund(too_much).state is gateway.RefundState.FAILED
        expected = gateway.RefundState.FAILED

    assert side.payments_in.query_refund(too_much.refund_no).state is expected
    assert side.fake.paid_in()[paid.number]["refunded_fen"] == 1_500


def test_a_refund_with_a_lost_answer_is_found_by_a_query(side: Side) -> None:
    paid = _paid(side)
    order = _refund(paid, 700)
    side.fake.do("mode", mode="pays_and_fails")

    with pytest.raises(Unavailable):
        side.payments_in.refund(order)

    assert side.payments_in.query_refund(order.refund_no).state is gateway.RefundState.SUCCEEDED


def test_an_unknown_refund_is_not_found(side: Side) -> None:
    number = a_number()

    refund = side.payments_in.query_refund(number)

    assert refund == gateway.RefundFound(number, gateway.RefundState.NOT_FOUND)


def test_a_manual_refund_is_reported_and_found(side: Side) -> None:
    paid = _paid(side, 2_000)

    number = side.fake.do("refund", payment_id=paid.number, amount_fen=300)["number"]

    told = [notice for notice in side.notices(2) if notice.kind is gateway.ProviderEventKind.REFUND]
    assert [notice.number for notice in told] == [number]
    refund = side.payments_in.query_refund(number)
    assert (refund.number, refund.amount_fen) == (paid.number, 300)
    assert refund.state is gateway.RefundState.SUCCEEDED
    (refunded,) = side.payments_in.query(paid.number).transactions
    assert (paid.is_refunded, refunded.is_refunded) == (False, True)
    assert side.payments_in.query_transaction(paid.transaction_id) == refunded


def test_the_client_gets_parameters_that_the_merchant_signed(wechat: WeChatSide) -> None:
    order = wechat.order(method=gateway.PayMethod.JSAPI, payer=wechat.account("alice"))

    to_pay = wechat.payments_in.order(order)

    assert to_pay
    assert set(to_pay) == {"appId", "timeStamp", "nonceStr", "package", "signType", "paySign"}
    assert to_pay["appId"] == wechat.app_id
    assert to_pay["package"].startswith("prepay_id=wx")
    lines = [to_pay[name] for name in ("appId", "timeStamp", "nonceStr", "package")]
    # PKCS #1 v1.5 signatures of the same text are equal.
    assert to_pay["paySign"] == wechat.client.sign(*lines)
