"""A thousand payments in and a thousand withdrawals, through a gateway that fails as often as told.

Of its calls 10% time out after their effect and 5% before it; in each two hundredth the function
dies, with all that it had before it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from redpacket.domain.errors import RedPacketError, Unavailable
from redpacket.domain.gateway import bill_day
from redpacket.domain.payments import PaymentStatus
from redpacket.domain.withdrawals import WithdrawalStatus
from redpacket.flows.payments.withdrawal_ports import WithdrawalSettings
from redpacket.ports.payments import WithdrawalLimits
from testing.fakes.gateway import FakePaymentsIn, FakePaymentsOut
from testing.payment_system import WECHAT, PaymentSystem
from tests.faults.faulty import Killed

COUNT = 1_000


class _Unreliable:
    """A gateway's port whose calls fail, before or after their effect."""

    def __init__(self, gate: Any, chance: random.Random) -> None:
        self._gate = gate
        self._chance = chance
        self.failed_count = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._gate, name)
        return self._failing(found) if callable(found) and name != "details" else found

    def _failing(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(*arguments: Any) -> Any:
            fate = self._chance.random()
            self.failed_count += fate < 0.155
            if fate < 0.05:
                raise Unavailable("it timed out before")
            answer = call(*arguments)
            if fate < 0.15:
                raise Unavailable("it timed out after")
            if fate < 0.155:
                raise Killed
            return answer

        return attempt


def test_outside_is_the_ledger_after_a_thousand_payments_and_withdrawals() -> None:
    chance = random.Random(7)
    town = PaymentSystem()
    gates = [
        _Unreliable(FakePaymentsIn(town.gateway), chance),
        _Unreliable(FakePaymentsOut(town.gateway), chance),
    ]
    town.gates_in, town.gates_out = {WECHAT: gates[0]}, {WECHAT: gates[1]}
    town.settings = WithdrawalSettings(10, 10**5, WithdrawalLimits(10**6, 10**9))
    day = bill_day(town.clock.now_ms())

    for number in range(COUNT):
        user_id = f"user-{number % 50}"
        for _ in range(2):
            # Each is repeated, and told twice.
            with suppress(RedPacketError, Killed):
                payment = town.start(user_id, 100, key=f"pay-{number}")
                town.gateway.pay(payment.number, is_forced=chance.random() < 0.02)
                town.confirm(payment)
    for _ in range(40):
        _run_functions(town)
    for number in range(COUNT):
        for _ in range(2):
            with suppress(RedPacketError, Killed):
                town.withdraw(f"user-{number % 50}", 60, key=f"withdraw-{number}")
    for _ in range(60):
        _run_functions(town)
    failed_count = sum(gate.failed_count for gate in gates)
    town.gates_in = {WECHAT: FakePaymentsIn(town.gateway)}
    town.gates_out = {WECHAT: FakePaymentsOut(town.gateway)}
    town.system.pass_time(86_400_000)
    report = town.compare_bill(day)
    _run_functions(town)

    outside = town.system.ledger_state().outside
    assert failed_count > COUNT // 2
    assert len(outside.payments) == len(outside.withdrawals) == COUNT
    paid = {number for number, order in town.gateway.orders.items() if order.transactions}
    assert len(paid) > COUNT * 0.9
    assert {one.number for one in outside.payments if one.status is PaymentStatus.PAID} == paid
    assert {one.status for one in outside.withdrawals} == {WithdrawalStatus.PAID}
    assert report
    assert report.differences == ()
    assert town.differences(bound_ms=0) == []


def _run_functions(town: PaymentSystem) -> None:
    """Let a dispatcher and a sweep run; some of them die."""
    for run in (lambda: town.dispatch(20_000), lambda: town.sweep(60_000)):
        with suppress(RedPacketError, Killed):
            run()
    town.system.pass_time(30_000)
