"""Sweeps of payments against gateways whose calls take time: no gateway and no step waits."""

from __future__ import annotations

from typing import Any

import pytest

from redpacket.domain.errors import Unavailable
from redpacket.domain.gateway import Channel, PayMethod
from redpacket.domain.packet import PacketStatus
from redpacket.domain.payments import PAYMENT_LIFE_MS, PaymentStatus, ReturnStatus
from redpacket.domain.withdrawals import Withdrawal, WithdrawalStatus
from redpacket.flows.payments.pace import FAILURES_MAX
from redpacket.flows.payments.start_payment import PaymentAsk, start_payment
from redpacket.flows.payments.sweep_payments import ROWS_PER_SWEEP, STEP_MS
from redpacket.ports.accounts import Request
from testing.fakes.gateway import FakeGateway, FakePaymentsIn
from testing.payment_system import WECHAT, PaymentSystem

MINUTE_MS, SWEEP_MS = 60_000, 47_000

CALL_MS = 5_000 // 10
"""Time of a call that gets no answer; ten wait side by side."""


class _SlowIn(FakePaymentsIn):
    """A gateway whose queries take time, and that may give no answer then."""

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


def _start_many(town: PaymentSystem, channel: Channel, count: int = ROWS_PER_SWEEP) -> list[str]:
    def start(name: str) -> str:
        request = Request(name, "key", "body")
        ask = PaymentAsk(name, 100, channel, PayMethod.NATIVE, None, request)
        return start_payment(ask, ports=town.payments).number

    return [start(f"{channel}-{number}") for number in range(count)]


def _called(town: PaymentSystem) -> Withdrawal:
    """Let bob withdraw, and call the gateway, which pays."""
    town.system.deposit("bob", 1_000)
    withdrawal = town.withdraw("bob", 100)
    town.dispatch(3_000)
    return withdrawal


def test_a_gateway_that_hangs_takes_no_time_of_another_one(town: PaymentSystem) -> None:
    host = _SlowIn(FakeGateway(town.clock), Channel.HOST)
    town.gates_in = {Channel.HOST: host, WECHAT: FakePaymentsIn(town.gateway)}
    numbers = _start_many(town, Channel.HOST)
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
    assert [one.status for one in town.returns.list_returns(twice.number)] == [ReturnStatus.DONE]
    assert town.system.found(packet).status is PacketStatus.CANCELLED
    assert "gateway_rests" in town.system.journal.events

    host.query_ms, host.is_silent = 0, False
    for _ in range(3):
        town.sweep_after(60 * MINUTE_MS)

    found = [town.book.find(number) for number in numbers]
    assert {each and each.status for each in found} == {PaymentStatus.CLOSED}


def test_a_slow_step_leaves_time_for_the_next(town: PaymentSystem) -> None:
    slow = _SlowIn(town.gateway)
    town.gates_in = {WECHAT: slow}
    _start_many(town, WECHAT)
    withdrawal = _called(town)
    town.system.pass_time(MINUTE_MS)

    slow.query_ms = CALL_MS
    began_ms = town.clock.now_ms()
    town.sweep(SWEEP_MS)

    assert town.find(withdrawal).status is WithdrawalStatus.PAID
    assert town.clock.now_ms() - began_ms <= SWEEP_MS - STEP_MS
    assert "sweep_out_of_time" in town.system.journal.events


def test_unpaid_packets_do_not_wait_for_a_gateway_that_hangs(town: PaymentSystem) -> None:
    slow = _SlowIn(town.gateway)
    town.gates_in = {WECHAT: slow}
    packets = [town.send_unpaid(f"sender-{number}") for number in range(120)]
    for packet in packets:
        town.start_packet(packet)
    town.system.pass_time(PAYMENT_LIFE_MS + MINUTE_MS)

    slow.query_ms, slow.is_silent = CALL_MS, True
    town.sweep(SWEEP_MS)

    assert {town.system.found(packet).status for packet in packets} == {PacketStatus.CANCELLED}
