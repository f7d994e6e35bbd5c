"""Payouts: the same scenarios for each provider's adapter, over HTTP to simulated providers."""

from dataclasses import replace

import pytest

from local.gateways.core import CANCELLING_MS
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import (
    ProviderEventKind,
    Refusal,
    TransferOrder,
    TransferState,
)
from redpacket.platform.errors import Unavailable
from testing.payments.gateways import DAY_MS, Side, WeChatSide, a_number

IN_MEMORY_TOO = True


def _awaiting(side: Side) -> TransferOrder:
    """Request a transfer that the user has to confirm."""
    if side.channel is ProviderName.HOST:
        side.fake.do("mode", mode="asks_confirmation")
    order = side.transfer()
    transfer = side.payments_out.transfer(order)
    assert transfer.state is TransferState.AWAITING_CONFIRMATION
    side.fake.do("mode", mode="ok")
    return order


def _consent(side: Side) -> str:
    """Let alice consent to transfers; return the number of her consent."""
    number = a_number()
    if isinstance(side, WeChatSide):
        side.authorizations.ask(number, side.account("alice"), "alice")
        side.fake.do("confirm", authorization_no=number)
    return number


def test_a_transfer_is_confirmed_reported_and_found(side: Side) -> None:
    order = _awaiting(side)

    transfer = side.payments_out.transfer(order)
    side.fake.do("confirm", withdrawal_id=order.transfer_no)
    (notice,) = side.notices(1)
    reported = side.payments_out.query(order.transfer_no)

    assert transfer.confirmation
    assert (notice.kind, notice.number) == (ProviderEventKind.TRANSFER, order.transfer_no)
    assert reported.state is TransferState.SUCCEEDED
    assert reported.outside_no == notice.outside_no == transfer.outside_no
    assert reported.amount_fen == order.amount_fen
    assert reported.payee_hash == order.payee.name_hash
    assert abs(reported.decided_at_ms - side.now_ms()) < 60_000
    assert not reported.confirmation


def test_a_transfer_with_consent_needs_no_tap(side: Side) -> None:
    order = side.transfer(authorization_no=_consent(side))

    transfer = side.payments_out.transfer(order)

    assert transfer.state is TransferState.SUCCEEDED
    assert transfer.decided_at_ms
    assert side.payments_out.query(order.transfer_no).payee_hash == order.payee.name_hash
    assert side.fake.paid_out()[order.transfer_no]["amount_fen"] == order.amount_fen


def test_a_repeated_transfer_pays_once(side: Side) -> None:
    order = side.transfer(authorization_no=_consent(side))

    transfers = [side.payments_out.transfer(order) for _ in range(3)]

    assert {transfer.state for transfer in transfers} == {TransferState.SUCCEEDED}
    assert len({transfer.outside_no for transfer in transfers}) == 1
    assert list(side.fake.paid_out()) == [order.transfer_no]


def test_a_number_with_another_content_is_not_paid_again(side: Side) -> None:
    order = side.transfer(authorization_no=_consent(side))
    side.payments_out.transfer(order)

    # WeChat Pay answers that the number exists; the host's wallet returns an unsigned error. The
    # in-process simulator raises an AssertionError.
    if isinstance(side, WeChatSide):
        again = side.payments_out.transfer(replace(order, amount_fen=900))
        assert again.state is TransferState.PROCESSING
    else:
        with pytest.raises((Unavailable, AssertionError)):
            side.payments_out.transfer(replace(order, amount_fen=900))

    assert side.fake.paid_out()[order.transfer_no]["amount_fen"] == order.amount_fen
    assert len(side.fake.paid_out()) == 1


@pytest.mark.parametrize("mode", ["pays_and_times_out", "pays_and_fails"])
def test_a_transfer_with_a_lost_answer_is_found_by_a_query(side: Side, mode: str) -> None:
    order = side.transfer(authorization_no=_consent(side))
    side.fake.do("mode", mode=mode)

    with pytest.raises(Unavailable):
        side.payments_out.transfer(order)
    side.fake.do("mode", mode="ok")

    assert side.payments_out.query(order.transfer_no).state is TransferState.SUCCEEDED
    assert side.payments_out.transfer(order).state is TransferState.SUCCEEDED
    assert len(side.fake.paid_out()) == 1


def test_an_unmade_transfer_is_unknown_until_a_query_finds_none(side: Side) -> None:
    order = side.transfer(authorization_no=_consent(side))
    side.fake.do("mode", mode="fails")

    with pytest.raises(Unavailable):
        side.payments_out.transfer(order)
    side.fake.do("mode", mode="ok")

    assert side.payments_out.query(order.transfer_no).state is TransferState.NOT_FOUND
    assert not side.fake.paid_out()


def test_a_transfer_can_be_found_late(side: Side) -> None:
    order = side.transfer(authorization_no=_consent(side))
    side.fake.do("mode", mode="not_found_then_found")
    with pytest.raises(Unavailable):
        side.payments_out.transfer(order)

    states = [side.payments_out.query(order.transfer_no).state for _ in range(3)]

    assert states == [TransferState.NOT_FOUND, TransferState.NOT_FOUND, TransferState.SUCCEEDED]


def test_a_throttled_transfer_was_not_made(side: Side) -> None:
    order = side.transfer(authorization_no=_consent(side))
    side.fake.do("mode", mode="throttles")

    # WeChat Pay states that it accepted nothing; a host's 429 does not prove this.
    if side.channel is ProviderName.WECHAT:
        transfer = side.payments_out.transfer(order)
        assert (transfer.state, transfer.refusal) == (TransferState.REFUSED, Refusal.THROTTLED)
        assert transfer.reason == "FREQUENCY_LIMITED"
    else:
        with pytest.raises(Unavailable):
            side.payments_out.transfer(order)

    assert not side.fake.paid_out()
    with pytest.raises(Unavailable):
        side.payments_out.query(order.transfer_no)


def test_a_gateway_without_funds_refuses_the_call(side: Side) -> None:
    order = side.transfer()
    side.fake.do("mode", mode="refuses_calls")

    transfer = side.payments_out.transfer(order)

    assert (transfer.state, transfer.refusal) == (TransferState.REFUSED, Refusal.OUT_OF_FUNDS)
    assert side.payments_out.query(order.transfer_no).state is TransferState.NOT_FOUND


def test_a_transfer_that_the_gateway_refuses_has_failed_permanently(side: Side) -> None:
    order = side.transfer()
    side.fake.do("mode", mode="refuses")

    called = side.payments_out.transfer(order)
    side.fake.do("mode", mode="ok")
    again, transfer = side.payments_out.transfer(order), side.payments_out.query(order.transfer_no)

    assert {called.state, again.state, transfer.state} == {TransferState.FAILED}
    assert transfer.reason.lower() == "account_frozen"
    assert transfer.decided_at_ms
    (notice,) = side.notices(1)
    assert (notice.kind, notice.number) == (ProviderEventKind.TRANSFER, order.transfer_no)


def test_a_user_can_confirm_late(side: Side) -> None:
    order = _awaiting(side)

    side.advance(DAY_MS - 60_000)
    still = side.payments_out.query(order.transfer_no)
    side.fake.do("confirm", withdrawal_id=order.transfer_no)

    assert still.state is TransferState.AWAITING_CONFIRMATION
    assert side.payments_out.query(order.transfer_no).state is TransferState.SUCCEEDED


def test_an_unconfirmed_transfer_fails_after_a_day(side: Side) -> None:
    order = _awaiting(side)

    side.advance(DAY_MS + 1)

    transfer = side.payments_out.query(order.transfer_no)
    assert transfer.state is TransferState.FAILED
    assert transfer.reason
    (notice,) = side.notices(1)
    assert notice.number == order.transfer_no


def test_a_cancellation_is_a_request_and_a_query_decides(side: Side) -> None:
    order = _awaiting(side)

    side.payments_out.cancel(order.transfer_no)
    side.payments_out.cancel(order.transfer_no)
    transfer = side.payments_out.query(order.transfer_no)
    side.advance(CANCELLING_MS)

    assert transfer.state is TransferState.CANCELLING
    assert side.payments_out.query(order.transfer_no).state is TransferState.CANCELLED
    assert side.payments_out.transfer(order).state is TransferState.CANCELLED


def test_a_confirmation_wins_over_a_cancellation_in_progress(side: Side) -> None:
    order = _awaiting(side)
    side.payments_out.cancel(order.transfer_no)

    side.fake.do("confirm", withdrawal_id=order.transfer_no)
    side.advance(CANCELLING_MS)

    assert side.payments_out.query(order.transfer_no).state is TransferState.SUCCEEDED


def test_canceling_a_final_or_unknown_transfer_changes_nothing(side: Side) -> None:
    order = side.transfer(authorization_no=_consent(side))
    side.payments_out.transfer(order)

    side.payments_out.cancel(order.transfer_no)
    side.payments_out.cancel(a_number())

    assert side.payments_out.query(order.transfer_no).state is TransferState.SUCCEEDED


def test_a_revoked_consent_is_a_distinct_refusal(side: Side) -> None:
    order = side.transfer(authorization_no=_consent(side))
    side.fake.do("mode", mode="authorization_withdrawn")

    transfer = side.payments_out.transfer(order)
    side.fake.do("mode", mode="ok")

    assert (transfer.state, transfer.refusal) == (TransferState.REFUSED, Refusal.NOT_AUTHORIZED)
    assert side.payments_out.query(order.transfer_no).state is TransferState.NOT_FOUND
    # With a new number, the user must confirm again.
    assert side.payments_out.transfer(side.transfer()).state is not TransferState.REFUSED


def test_a_permanent_refusal_has_its_reason(wechat: WeChatSide) -> None:
    transfer = wechat.payments_out.transfer(wechat.transfer(amount_fen=1))

    assert transfer.state is TransferState.REFUSED
    assert (transfer.refusal, transfer.reason) == (Refusal.OTHER, "PARAM_ERROR")


def test_a_repeat_after_a_deployment_sends_the_same_request(wechat: WeChatSide) -> None:
    order = wechat.transfer(details=wechat.payments_out.details().replace("提现", "发放"))

    first, again = wechat.payments_out.transfer(order), wechat.payments_out.transfer(order)

    assert first.state is again.state is TransferState.AWAITING_CONFIRMATION
    assert first.confirmation == again.confirmation
