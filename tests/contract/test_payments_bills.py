"""Daily statements: each is read completely and exactly, or not at all."""

import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import (
    Payee,
    RefundOrder,
    StatementKind,
    StatementLine,
    TransferState,
    statement_day,
)
from redpacket.payments.model.withdrawals import WithdrawalStatus
from redpacket.platform.difference import Difference
from redpacket.platform.errors import Unavailable
from testing.payments.gateways import DAY_MS, Side, WeChatSide, a_number
from testing.payments.payment_system import PaymentSystem

HOUR_MS = 60 * 60 * 1_000

IN_MEMORY_TOO = True


def _at_noon(side: Side) -> str:
    """Set the clock to noon tomorrow in Beijing, because today has other scenarios' payments."""
    day_ms = (side.now_ms() + 8 * HOUR_MS) % DAY_MS
    side.advance(DAY_MS - day_ms + 12 * HOUR_MS)
    return statement_day(side.now_ms())


def _paid(side: Side, amount_fen: int) -> StatementLine:
    order = side.order(amount_fen=amount_fen)
    side.payments_in.order(order)
    side.fake.do("pay", payment_id=order.number)
    (paid,) = side.payments_in.query(order.number).transactions
    return StatementLine(
        StatementKind.PAYMENT, order.number, paid.transaction_id, amount_fen, paid.paid_at_ms
    )


def _refunded(side: Side, paid: StatementLine, amount_fen: int) -> str:
    number = a_number()
    side.payments_in.refund(
        RefundOrder(number, paid.number, paid.outside_no, amount_fen, paid.amount_fen)
    )
    return number


def _paid_out(side: Side, amount_fen: int) -> str:
    order = side.transfer(amount_fen=amount_fen)
    transfer = side.payments_out.transfer(order)
    if transfer.confirmation:
        side.fake.do("confirm", withdrawal_id=order.transfer_no)
    return order.transfer_no


def _seconds(lines: list[StatementLine]) -> set[tuple[StatementKind, str, str, int, int]]:
    return {
        (line.kind, line.number, line.outside_no, line.amount_fen, line.moved_at_ms // 1_000)
        for line in lines
    }


def test_a_statement_has_every_payment_and_refund_of_its_day(side: Side) -> None:
    day = _at_noon(side)
    paid = [_paid(side, amount_fen) for amount_fen in (1, 10, 99, 100, 123_456_789)]
    refund_no = _refunded(side, paid[3], 57)
    side.payments_in.order(side.order())
    side.advance(DAY_MS)
    _paid(side, 5)
    side.advance(DAY_MS)

    lines = side.payments_in.read_statement(day)

    assert lines is not None
    assert _seconds([line for line in lines if line.kind is StatementKind.PAYMENT]) == _seconds(
        paid
    )
    (refund,) = [line for line in lines if line.kind is StatementKind.REFUND]
    assert (refund.number, refund.amount_fen, refund.of_number) == (refund_no, 57, paid[3].number)
    assert refund.outside_no


def test_a_statement_has_every_transfer_that_moved_money(side: Side) -> None:
    day = _at_noon(side)
    numbers = {_paid_out(side, amount_fen): amount_fen for amount_fen in (10, 101, 12_345)}
    side.fake.do("mode", mode="refuses")
    side.payments_out.transfer(side.transfer())
    side.fake.do("mode", mode="ok")
    side.advance(2 * DAY_MS)

    lines = side.payments_out.read_statement(day)

    assert lines is not None
    returned = {line.number for line in lines if line.is_return}
    paid = [line for line in lines if line.number not in returned]
    assert {line.number: line.amount_fen for line in paid} == numbers
    assert {line.kind for line in lines} == {StatementKind.TRANSFER}
    assert {line.outside_no for line in paid} == {
        side.payments_out.query(number).outside_no for number in numbers
    }


def test_an_unconfirmed_transfer_is_locked_and_returned(wechat: WeChatSide) -> None:
    day = _at_noon(wechat)
    order = wechat.transfer(amount_fen=300)
    wechat.payments_out.transfer(order)
    wechat.advance(DAY_MS)
    assert wechat.payments_out.query(order.transfer_no).state is TransferState.FAILED
    next_day = statement_day(wechat.now_ms())
    wechat.advance(DAY_MS)

    lock, back = (wechat.payments_out.read_statement(each) for each in (day, next_day))

    assert lock is not None
    assert back is not None
    assert [(line.number, line.amount_fen, line.is_return) for line in (*lock, *back)] == [
        (order.transfer_no, 300, False),
        (order.transfer_no, 300, True),
    ]


def test_a_day_has_no_statement_before_its_end(side: Side) -> None:
    day = _at_noon(side)
    _paid(side, 100)

    assert side.payments_in.read_statement(day) is None
    assert side.payments_out.read_statement(day) is None


def test_a_late_statement_does_not_count_as_empty(side: Side) -> None:
    day = _at_noon(side)
    _paid(side, 100)
    side.advance(2 * DAY_MS)
    side.fake.do("mode", mode="bill_late")

    assert side.payments_in.read_statement(day) is None
    assert side.payments_out.read_statement(day) is None

    side.fake.do("mode", mode="bill_line_twice")
    lines = side.payments_in.read_statement(day)
    assert lines is not None
    assert [line.amount_fen for line in lines] == [100, 100]


def test_a_day_without_movements_has_an_empty_statement(side: Side) -> None:
    day = _at_noon(side)
    side.advance(2 * DAY_MS)

    assert side.payments_in.read_statement(day) == []
    assert side.payments_out.read_statement(day) == []


@pytest.mark.parametrize("mode", ["bill_line_missing", "bill_line_changed"])
def test_a_statement_is_read_unchanged_even_if_it_is_wrong(side: Side, mode: str) -> None:
    day = _at_noon(side)
    paid, number = [_paid(side, 100), _paid(side, 200)], _paid_out(side, 300)
    side.advance(2 * DAY_MS)
    side.fake.do("mode", mode=mode)

    incoming, outgoing = side.payments_in.read_statement(day), side.payments_out.read_statement(day)

    assert incoming is not None
    assert outgoing is not None
    amounts = {line.number: line.amount_fen for line in (*incoming, *outgoing)}
    if mode == "bill_line_missing":
        assert amounts == {paid[1].number: 200}
    else:
        assert amounts == {paid[0].number: 101, paid[1].number: 200, number: 301}


def test_a_statement_without_an_answer_is_unknown(side: Side) -> None:
    day = _at_noon(side)
    side.advance(2 * DAY_MS)
    side.fake.do("mode", mode="fails")

    for read in (side.payments_in.read_statement, side.payments_out.read_statement):
        with pytest.raises(Unavailable):
            read(day)


def test_a_file_with_another_hash_is_not_read(wechat: WeChatSide) -> None:
    day = _at_noon(wechat)
    _paid(wechat, 100)
    _paid_out(wechat, 300)
    wechat.advance(2 * DAY_MS)
    wechat.fake.do("mode", mode="bill_damaged")

    for read in (wechat.payments_in.read_statement, wechat.payments_out.read_statement):
        with pytest.raises(Unavailable, match="hash"):
            read(day)


def test_a_statement_in_preparation_is_not_available(wechat: WeChatSide) -> None:
    day = _at_noon(wechat)
    _paid(wechat, 100)
    # It is now three in the morning.
    wechat.advance(15 * HOUR_MS)

    assert wechat.payments_in.read_statement(day) is None
    wechat.advance(7 * HOUR_MS)
    assert wechat.payments_in.read_statement(day)


def test_a_file_on_another_host_is_not_fetched(wechat: WeChatSide) -> None:
    with pytest.raises(Unavailable, match="another host"):
        wechat.client.download("https://elsewhere.example/v3/billdownload/file?token=1")
    with pytest.raises(Unavailable, match="another host"):
        wechat.client.download(f"{wechat.fake.url}.elsewhere.example/file")


def test_a_statement_with_locks_and_returns_agrees_with_our_rows(wechat: WeChatSide) -> None:
    day = _at_noon(wechat)
    town = PaymentSystem(
        gates_in={ProviderName.WECHAT: wechat.payments_in},
        gates_out={ProviderName.WECHAT: wechat.payments_out},
        details=wechat.payments_out.details(),
    )
    town.clock.at_ms = wechat.now_ms()
    account = wechat.accounts.seal(wechat.name("alice"), "user")
    town.payees.bound["user"] = Payee(account)
    town.system.deposit("user", 1_000)
    paid, unconfirmed = town.withdraw("user", 300), town.withdraw("user", 200)
    town.dispatch(1_000)
    lines, differences = 0, list[Difference]()
    for hours in (20, 7, 24, 24):
        wechat.advance(hours * HOUR_MS)
        town.sweep_after(hours * HOUR_MS)
        if hours == 20:
            wechat.fake.do("confirm", withdrawal_id=paid.transfer_no)
        elif report := town.compare_statement(day):
            lines += report.line_count
            differences += report.differences
            day = statement_day(wechat.now_ms())

    statuses = [town.find(each).status for each in (paid, unconfirmed)]
    assert statuses == [WithdrawalStatus.PAID, WithdrawalStatus.FAILED]
    assert (lines, differences) == (3, [])
    assert town.balance_fen() == 700
