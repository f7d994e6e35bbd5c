"""Rows whose provider was turned off, or now acts for another merchant."""

from collections.abc import Callable, Iterator

import pytest

from redpacket.erasure.errors import AccountNotEmpty
from redpacket.packets.model.packet import PacketStatus
from redpacket.payments.errors import ProviderChanged
from redpacket.payments.model.payments import PAYMENT_LIFE_MS, PaymentStatus, ReturnStatus
from redpacket.payments.model.provider import Merchant, StatementKind, TransferFound, TransferOrder
from redpacket.payments.model.withdrawals import GIVEN_UP_AFTER_MS, Stop, WithdrawalStatus
from redpacket.payments.use_cases.return_payment import note_refund
from redpacket.payments.use_cases.start_payment import find_payment
from redpacket.payments.use_cases.sweep_payments import UNASKED_MS_MAX
from redpacket.platform.errors import Unavailable
from testing.payments.fake_gateway import MERCHANT, FakeGateway, FakePaymentsIn, FakePaymentsOut
from testing.payments.outside_checks import held_fen
from testing.payments.payment_system import WECHAT, PaymentSystem

MINUTE_MS = 60_000
OTHER = Merchant("app", "another")


@pytest.fixture
def town() -> PaymentSystem:
    town = PaymentSystem()
    town.system.deposit("user", 1000)
    return town


def _act_for(town: PaymentSystem, merchant: Merchant, gateway: FakeGateway) -> FakeGateway:
    """Deploy with the keys of *merchant*, whose transactions *gateway* holds."""
    gate_in, gate_out = FakePaymentsIn(gateway), FakePaymentsOut(gateway)
    gate_in.merchant = gate_out.merchant = merchant
    town.gates_in, town.gates_out = {WECHAT: gate_in}, {WECHAT: gate_out}
    return gateway


def _another(town: PaymentSystem) -> FakeGateway:
    return _act_for(town, OTHER, FakeGateway(town.clock))


def _pass_minutes(town: PaymentSystem, count: int = 4) -> None:
    for _ in range(count):
        town.sweep_after(MINUTE_MS)
        town.dispatch(3_000)


def _told(town: PaymentSystem) -> set[str]:
    """Return the logged events that trigger an alarm about a mismatch."""
    names = {name for name, _ in town.system.logger.errors}
    return names & {"payment_mismatched", "transfer_mismatched"}


def test_a_doubtful_transfer_is_never_called_at_another_merchant(
    town: PaymentSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    withdrawal = town.withdraw("user", 500)
    transfer = FakePaymentsOut.transfer

    def lose_answer(gate: FakePaymentsOut, order: TransferOrder) -> TransferFound:
        transfer(gate, order)
        raise Unavailable("timed out after paying")

    with monkeypatch.context() as patch:
        patch.setattr(FakePaymentsOut, "transfer", lose_answer)
        town.dispatch(3_000)
    town.gateway.move(town.gateway.transfers[withdrawal.transfer_no], "succeeded", "PAID")
    other = _another(town)
    _pass_minutes(town)
    town.system.pass_time(GIVEN_UP_AFTER_MS)
    _pass_minutes(town)

    assert other.transfers == {}
    assert held_fen(town.find(withdrawal)) == 500
    assert _told(town) == {"transfer_mismatched"}

    _act_for(town, MERCHANT, town.gateway)
    town.system.pass_time(60 * MINUTE_MS)
    _pass_minutes(town)

    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert town.differences() == []


def test_an_uncalled_withdrawal_waits_for_its_own_merchant(
    town: PaymentSystem,
) -> None:
    withdrawal = town.withdraw("user", 500)
    other = _another(town)
    _pass_minutes(town)

    assert (town.find(withdrawal).status, town.balance_fen()) == (WithdrawalStatus.QUEUED, 500)
    assert _told(town) == {"transfer_mismatched"}

    town.system.pass_time(GIVEN_UP_AFTER_MS)
    _pass_minutes(town)

    assert (town.find(withdrawal).status, town.balance_fen()) == (WithdrawalStatus.CANCELLING, 500)
    assert other.transfers == {}

    _act_for(town, MERCHANT, town.gateway)
    town.system.pass_time(60 * MINUTE_MS)
    _pass_minutes(town)

    assert (town.find(withdrawal).status, town.balance_fen()) == (WithdrawalStatus.FAILED, 1000)
    assert town.gateway.transfers == {}
    assert town.differences() == []


def test_a_refused_withdrawal_blocks_no_other(town: PaymentSystem) -> None:
    town.withdraw("user", 500)
    other = _another(town)
    later = town.withdraw("user", 100)
    town.dispatch(3_000)

    assert list(other.transfers) == [later.transfer_no]
    assert town.withdrawals.list_to_call(WECHAT, town.clock.now_ms(), 10) == []


def test_a_payment_is_queried_and_closed_only_at_its_own_merchant(town: PaymentSystem) -> None:
    payment = town.start("user", 100)
    town.gateway.pay(payment.number)
    _another(town)
    town.system.pass_time(PAYMENT_LIFE_MS)
    _pass_minutes(town)

    assert town.paid(payment).status is PaymentStatus.PENDING
    assert _told(town) == {"payment_mismatched"}

    _act_for(town, MERCHANT, town.gateway)
    _pass_minutes(town)

    assert town.paid(payment).status is PaymentStatus.PAID
    assert town.differences(bound_ms=0) == []


def test_no_other_merchant_is_called_about_a_refund(town: PaymentSystem) -> None:
    payment = town.pay_in("user", 100)
    town.pay_again(payment)
    (returned,) = town.returns.list_returns(payment.number)
    other = _another(town)
    other.orders |= town.gateway.orders
    _pass_minutes(town)

    (kept,) = town.returns.list_returns(payment.number)
    assert (kept.merchant, kept.status) == (MERCHANT, ReturnStatus.DUE)
    assert (other.refunds, kept.order) == ({}, returned.order)
    assert _told(town) == {"payment_mismatched"}

    refund_no = other.refund_outside(payment.number, 100)
    with pytest.raises(ProviderChanged):
        note_refund(WECHAT, refund_no, ports=town.payments)

    assert town.balance_fen() == 1100


def test_an_interrupted_order_is_not_placed_at_another_merchant(town: PaymentSystem) -> None:
    town.gateway.is_away = True
    payment = town.start("user", 100)
    other = _another(town)
    shown = find_payment(payment.number, "user", ports=town.payments, payees=town.payees)

    assert (shown.status, shown.prompt) == (PaymentStatus.PENDING, "")
    assert other.orders == {}


def test_an_unpaid_packet_of_another_merchant_is_canceled_after_a_day(town: PaymentSystem) -> None:
    packet = town.send_unpaid()
    town.start_packet(packet)
    _another(town)
    town.sweep_after(PAYMENT_LIFE_MS + MINUTE_MS)
    assert town.system.stored(packet).status is PacketStatus.UNPAID
    town.sweep_after(UNASKED_MS_MAX)

    assert town.system.stored(packet).status is PacketStatus.CANCELLED


# A provider that is turned off.


@pytest.fixture
def off(town: PaymentSystem) -> Iterator[Callable[[], None]]:
    """Turn WeChat Pay off, as a deployment without its parameters does."""
    gates = town.gates_in, town.gates_out

    def turn_off() -> None:
        town.gates_in, town.gates_out = {}, {}

    yield turn_off
    town.gates_in, town.gates_out = gates
    town.system.pass_time(60 * MINUTE_MS)
    _pass_minutes(town)
    assert town.differences() == []


def test_an_unpaid_packet_frees_its_place_without_its_gateway(
    town: PaymentSystem, off: Callable[[], None]
) -> None:
    packet = town.send_unpaid("sender")
    town.start_packet(packet)
    off()
    town.sweep_after(UNASKED_MS_MAX)

    assert town.system.stored(packet).status is PacketStatus.CANCELLED
    assert town.system.ledger_state().open_counts.get("user:sender", 0) == 0


def test_an_uncalled_withdrawal_stays_held_until_its_gateway_is_called(
    town: PaymentSystem, off: Callable[[], None]
) -> None:
    withdrawal = town.withdraw("user", 500)
    off()
    town.sweep_after(GIVEN_UP_AFTER_MS - MINUTE_MS)
    first = town.find(withdrawal)
    town.sweep_after(MINUTE_MS)

    assert (first.status, _told(town)) == (WithdrawalStatus.QUEUED, {"transfer_mismatched"})
    assert (town.find(withdrawal).stop, town.balance_fen()) == (Stop.EXPIRED, 500)


def test_a_withdrawal_with_a_possible_call_stays_and_is_reported(
    town: PaymentSystem, off: Callable[[], None]
) -> None:
    withdrawal, payment = town.called(500, is_away=True), town.start("user", 100)
    town.gateway.pay(payment.number)
    off()
    for _ in range(2):
        town.sweep_after(GIVEN_UP_AFTER_MS)

    assert held_fen(town.find(withdrawal)) == 500
    assert town.paid(payment).status is PaymentStatus.PENDING
    assert _told(town) == {"payment_mismatched", "transfer_mismatched"}
    late = town.differences(bound_ms=0)
    assert {(difference.rule, difference.subject) for difference in late} >= {
        ("I8", f"payment:{payment.number}"),
        ("I8", f"withdrawal:{withdrawal.withdrawal_id}"),
    }
    with pytest.raises(AccountNotEmpty):
        town.system.process().erase_user("user", bool)


def test_rows_without_a_merchant_are_followed(town: PaymentSystem) -> None:
    withdrawal = town.withdraw("user", 300)
    for row in town.system.dynamo.tables["payments"].values():
        row.pop("mch_id", None)
        row.pop("app_id", None)
    town.dispatch()
    town.sweep_after(MINUTE_MS)

    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert len(town.gateway.lines(StatementKind.TRANSFER)) == 1
