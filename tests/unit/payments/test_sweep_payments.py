"""Payment sweeps with slow provider calls: no provider or step waits for another."""

from functools import partial
from typing import Any

import pytest

from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.payments.model.payments import PAYMENT_LIFE_MS, PaymentStatus, ReturnStatus
from redpacket.payments.model.provider import PayMethod
from redpacket.payments.model.withdrawals import Withdrawal, WithdrawalStatus
from redpacket.payments.use_cases.rate_limiter import FAILURES_MAX
from redpacket.payments.use_cases.start_payment import PaymentAsk, start_payment
from redpacket.payments.use_cases.sweep_payments import (
    ROWS_PER_SWEEP,
    UNASKED_MS_MAX,
    _cancel_unpaid,
    _run_lane,
)
from redpacket.platform.errors import Unavailable
from redpacket.platform.idempotency import Request
from testing.builders import a_packet_id
from testing.payments.fake_gateway import FakeGateway, FakePaymentsIn
from testing.payments.payment_system import WECHAT, PaymentSystem

MINUTE_MS, SWEEP_MS = 60_000, 47_000

CALL_MS = 5_000 // 10
"""Average milliseconds per unanswered call: 5 s for ten concurrent calls."""


class _SlowIn(FakePaymentsIn):
    """Provider whose queries take time, and may get no answer."""

    query_ms = 0
    is_silent = False

    def query(self, number: str) -> Any:
        self._gateway.clock.sleep_ms(self.query_ms)
        if self.is_silent:
            raise Unavailable("the gateway does not answer")
        return super().query(number)


@pytest.fixture
def town() -> PaymentSystem:
    return PaymentSystem()


def _start_many(
    town: PaymentSystem, channel: ProviderName, count: int = ROWS_PER_SWEEP
) -> list[str]:
    def start(name: str) -> str:
        request = Request(name, "key", "body")
        ask = PaymentAsk(name, 100, channel, PayMethod.NATIVE, request)
        return start_payment(ask, payees=town.payees, ports=town.payments).number

    return [start(f"{channel}-{number}") for number in range(count)]


def _called(town: PaymentSystem) -> Withdrawal:
    """Let bob withdraw, and call the provider, which pays."""
    town.system.deposit("bob", 1_000)
    withdrawal = town.withdraw("bob", 100)
    town.dispatch(3_000)
    return withdrawal


def test_a_hanging_gateway_takes_no_time_from_another_one(town: PaymentSystem) -> None:
    host = _SlowIn(FakeGateway(town.clock), ProviderName.HOST)
    town.gates_in = {ProviderName.HOST: host, WECHAT: FakePaymentsIn(town.gateway)}
    numbers = _start_many(town, ProviderName.HOST)
    withdrawal = _called(town)
    twice = town.pay_in("carl", 100)
    town.pay_again(twice)
    packet = town.send_unpaid("dora")
    town.start_packet(packet)
    paid = town.start("alice", 100)
    town.gateway.pay(paid.number)
    town.system.pass_time(PAYMENT_LIFE_MS + MINUTE_MS)

    host.query_ms, host.is_silent = CALL_MS, True
    began_ms = town.clock.now_ms()
    report = town.sweep(SWEEP_MS)

    assert town.clock.now_ms() - began_ms < 2 * FAILURES_MAX * CALL_MS
    assert report.failed_count == FAILURES_MAX
    assert town.balance_fen("alice") == 100
    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert [
        payment_return.status for payment_return in town.returns.list_returns(twice.number)
    ] == [ReturnStatus.DONE]
    assert town.system.stored(packet).status is PacketStatus.CANCELLED
    assert "gateway_rests" in town.system.logger.events

    host.query_ms, host.is_silent = 0, False
    for _ in range(3):
        town.sweep_after(60 * MINUTE_MS)

    payments = [town.repository.find(number) for number in numbers]
    assert {each and each.status for each in payments} == {PaymentStatus.CLOSED}


def _overdue_packets(town: PaymentSystem, count: int) -> tuple[_SlowIn, list[Packet]]:
    """Start packets that stay unpaid, at a provider that then stops answering."""
    slow = _SlowIn(town.gateway)
    town.gates_in = {WECHAT: slow}
    packets = [town.send_unpaid(f"sender-{number}") for number in range(count)]
    for packet in packets:
        town.start_packet(packet)
    slow.is_silent = True
    town.system.pass_time(PAYMENT_LIFE_MS + MINUTE_MS)
    return slow, packets


def test_a_packet_is_not_canceled_without_a_query_while_the_gateway_does_not_answer(
    town: PaymentSystem,
) -> None:
    """After the breaker opens, no later packet of the provider may count as unpaid."""
    slow, packets = _overdue_packets(town, FAILURES_MAX + 3)
    paid = packets[-1]
    town.gateway.pay(paid.payment_id or "")

    town.sweep(SWEEP_MS)

    assert {town.system.stored(packet).status for packet in packets} == {PacketStatus.UNPAID}
    assert town.system.logger.events.count("unpaid_packet_waits") == len(packets)

    slow.is_silent = False
    town.sweep_after(MINUTE_MS)

    assert town.system.stored(paid).status is PacketStatus.OPEN
    assert {town.system.stored(packet).status for packet in packets[:-1]} == {
        PacketStatus.CANCELLED
    }
    assert town.balance_fen(paid.sender.user_id) == 0
    assert town.differences() == []


@pytest.mark.parametrize(
    ("age_ms", "status"),
    [(UNASKED_MS_MAX - 1, PacketStatus.UNPAID), (UNASKED_MS_MAX, PacketStatus.CANCELLED)],
)
def test_a_packet_with_an_unknown_payment_is_canceled_after_a_day_and_reported_as_a_failure(
    town: PaymentSystem, age_ms: int, status: PacketStatus
) -> None:
    slow, (packet,) = _overdue_packets(town, 1)
    town.gateway.pay(packet.payment_id or "")

    town.clock.at_ms = packet.created_at_ms + age_ms
    town.sweep()

    is_cancelled = status is PacketStatus.CANCELLED
    assert town.system.stored(packet).status is status
    assert ("packet_cancelled_unasked" in dict(town.system.logger.errors)) is is_cancelled
    slow.is_silent = False
    town.sweep_after(60 * MINUTE_MS)
    in_balance_fen = packet.terms.total_fen if is_cancelled else 0
    assert town.balance_fen(packet.sender.user_id) == in_balance_fen
    assert town.differences() == []


def test_a_packet_that_was_never_ordered_is_canceled_without_an_answer(
    town: PaymentSystem,
) -> None:
    town.gates_in = {}
    packet = town.send_unpaid()

    town.sweep_after(PAYMENT_LIFE_MS)

    assert town.system.stored(packet).status is PacketStatus.CANCELLED


def test_unpaid_packets_of_another_gateway_do_not_wait(town: PaymentSystem) -> None:
    slow, packets = _overdue_packets(town, 120)
    town.gates_in = {**town.gates_in, ProviderName.HOST: FakePaymentsIn(FakeGateway(town.clock))}
    slow.query_ms = CALL_MS
    other = town.send_unpaid("other", channel=ProviderName.HOST)
    town.start_packet(other, ProviderName.HOST)
    town.system.pass_time(PAYMENT_LIFE_MS + MINUTE_MS)

    town.sweep(SWEEP_MS)

    assert town.system.stored(other).status is PacketStatus.CANCELLED
    assert {town.system.stored(packet).status for packet in packets} == {PacketStatus.UNPAID}


def test_each_step_has_its_part_of_a_short_time(town: PaymentSystem) -> None:
    counts = dict.fromkeys(("payments", "withdrawals", "returns"), 0)

    def do(name: str) -> None:
        counts[name] += 1
        town.clock.sleep_ms(100)

    steps: Any = [(name, partial(list, [name] * 100), do) for name in counts]
    _run_lane(
        (ProviderName.WECHAT, steps),
        ports=town.payments,
        paces=town.transfers.paces,
        in_parallel=town.system.in_parallel,
        stop_at_ms=town.clock.now_ms() + 3_000,
    )

    assert counts == {"payments": 10, "withdrawals": 10, "returns": 10}
    assert "gateway_rests" not in town.system.logger.events


def test_an_unpaid_packet_is_not_canceled_early_or_after_it_ended(
    town: PaymentSystem,
) -> None:
    packet = town.send_unpaid()

    for packet_id in (packet.packet_id, a_packet_id()):
        # Neither call queries a provider.
        _cancel_unpaid(packet_id, {}, town.payments)

    assert town.system.stored(packet).status is PacketStatus.UNPAID


def test_one_failing_prompt_reports_a_silent_provider_in_each_minute(
    town: PaymentSystem,
) -> None:
    town.gateway.is_away = True
    payment = town.start()

    for _ in range(4):
        # A sweep takes time, so the next one begins slightly less than a minute after its queries.
        town.sweep_after(59_500)

    assert not payment.prompt
    assert next(name for name, _ in town.system.logger.errors) == "payment_not_ordered"
    # ProviderSilentAlarm needs three of fifteen minutes.
    assert town.system.logger.events.count("provider_silent") >= 3
