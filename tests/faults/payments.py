"""Deterministic simulation of payments and withdrawals, as `simulation` does it with packets.

People pay in and withdraw, for balances and for packets, through a gateway that times out after
paying, hides what it made, refuses, is told to refund by hand, and is paid late and twice.
Functions die between any two calls, and stall before the one that pays. Then the gateway's own book
is compared with the ledger. The naive control calls, then marks, and takes a new number when it
gets no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from redpacket.adapters.dynamo.client import Dynamo
from redpacket.domain.checks.facts import Difference
from redpacket.domain.checks.outside import check_outside, check_outside_in_time
from redpacket.domain.errors import InvariantViolated, RedPacketError, Rejected, Unavailable
from redpacket.domain.gateway import Refusal, TransferOrder, TransferState, bill_day
from redpacket.domain.packet import Packet
from redpacket.domain.payments import (
    PAYMENT_LIFE_MS,
    Payment,
    PaymentReturn,
    ReturnReason,
    ReturnStatus,
)
from redpacket.domain.withdrawals import FUNCTION_MS, Withdrawal
from redpacket.flows.payments.return_payment import note_refund
from testing.fakes import gateway
from testing.faulty import Killed, Wire
from testing.payment_system import WECHAT, PaymentSystem
from tests.faults.process import Process
from tests.faults.schedule import BOUND_MS, Schedule, names

STALLS_MS = (100, 5_000, 19_000, 25_000, 55_000)
"""How long a function may stand still just before the call that pays."""

_STALLED = 0.15

_WAITS_MS = (100, 1_000, 5_000, 30_000, 90_000)

_DAY_MS = 24 * 3_600_000


class FaultyGate:
    """A gateway's port behind a wire; a call may still arrive when its caller has given up."""

    def __init__(self, gate: Any, wire: Wire, stall: Callable[[], None]) -> None:
        self._gate, self._wire, self._stall = gate, wire, stall

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._gate, name)
        if not callable(found) or name == "details":
            return found

        def call(*arguments: Any) -> Any:
            if name in {"refund", "transfer"}:
                self._stall()
            return self._wire.call(
                lambda: found(*arguments),
                lost=_no_answer,
                in_doubt=_no_answer,
                begin=lambda: lambda: found(*arguments),
            )

        return call


@dataclass
class PaymentSchedule(Schedule):
    """One run of payments and withdrawals from one seed."""

    MUST_SEE = names(
        "bill lines, check_bounds, check_conservation, check_entries, check_lines, "
        "check_open_counts, check_outside, check_outside_in_time, check_outside_postings, "
        "check_payments, check_postings, check_settled_in_time, check_unpaid_counts, "
        "check_withdrawn, check_year_sums, early refunds, "
        "logged lines, reconciled rows, refused repeats, stalled calls"
    )

    payments: list[Payment] = field(default_factory=list)
    packets: list[Packet] = field(default_factory=list)
    withdrawals: list[Withdrawal] = field(default_factory=list)

    def prepare(self) -> None:
        """Set up a gateway that does what gateways do, and people with some money."""
        pick, chance = self.random.choice, self.random.random
        self.gateway = gateway.FakeGateway(self.system.clock)
        self.gateway.hides_for_ms = lambda: (
            0 if chance() < 0.5 else self.random.randint(0, gateway.SETTLING_MS)
        )
        self.gateway.next_state = self._next_state
        self.gateway.ends_orders = pick((False, True))
        # A host's wallet need not end what nobody confirms.
        self.waits_until_asked = pick((False, True))
        self.refusals: dict[str, Refusal | None] = {}
        self.gateway.refusal = self._refuse
        self.details = pick(("scene", "confirm"))
        self.payees = gateway.FakePayees()
        self.payees.authorization_no = pick((None, "consent"))
        self.ids = PaymentSystem(self.system).ids
        self.users = [f"user-{number}" for number in range(self.random.randint(3, 5))]
        for user_id in self.users:
            self.system.deposit(user_id, pick((1, 300, 1_000)))
        # The day ends while they are at it, in some schedules.
        if chance() < 0.5:
            self.system.clock.at_ms += _DAY_MS - (self.system.clock.at_ms + _DAY_MS // 3) % _DAY_MS
            self.system.clock.at_ms -= self.random.randint(0, 300_000)

    def parts(self) -> list[Callable[[], None]]:
        """Return what runs interleaved."""
        parts = [self._payer(user_id) for user_id in self.users]
        parts += [self._sender(user_id) for user_id in self.users[:2]]
        parts += [self._withdrawer(user_id) for user_id in self.users for _ in range(2)]
        parts += [self._dispatcher, self._dispatcher, self._sweeper, self._sweeper]
        return [*parts, self._console, self.sweeper(0), self._auditor]

    # Functions

    def town(self) -> PaymentSystem:
        """Return a new function with its own clock, clients and deadline."""
        process = self.process()
        ends_at_ms = self.system.clock.now_ms() + FUNCTION_MS

        def stall() -> None:
            if self._is_over:
                return
            if self.random.random() < _STALLED:
                self.seen["stalled calls"] += 1
                self.sleep_ms(self.random.choice(STALLS_MS))
            if self.system.clock.now_ms() > ends_at_ms:
                raise Killed

        return self._town_of(process, stall)

    def _town_of(self, process: Process, stall: Callable[[], None]) -> PaymentSystem:
        dynamo = Dynamo(lambda: self.wires.dynamo, pause_s=self.wires.pause_s)
        gate_in = gateway.FakePaymentsIn(self.gateway)
        gate_out = gateway.FakePaymentsOut(self.gateway, self.details)
        town = PaymentSystem(
            process,
            dynamo=dynamo,
            gateway=self.gateway,
            gates_in={WECHAT: FaultyGate(gate_in, self.wire, stall)},
            gates_out={WECHAT: FaultyGate(gate_out, self.wire, stall)},
        )
        town.ids, town.payees = self.ids, self.payees
        return town

    def _often(self, do: Callable[[PaymentSystem], None], times: int) -> Callable[[], None]:
        """Return a caller that goes on after every error, each time by a new function."""

        def run() -> None:
            for _ in range(times):
                try:
                    do(self.town())
                except InvariantViolated as error:
                    self.found.append(Difference("alarm", "a flow", "answer", "none", str(error)))
                except (RedPacketError, Killed):
                    pass
                self.sleep_ms(self.random.choice(_WAITS_MS))

        return run

    # People

    def _payer(self, user_id: str) -> Callable[[], None]:
        key, chance = f"pay-{user_id}", self.random.random

        def pay(town: PaymentSystem) -> None:
            payment = town.start(user_id, 100, key)
            if payment not in self.payments:
                self.payments.append(payment)
            if chance() < 0.6:
                # Somebody pays twice, or after the end, in spite of all.
                transaction = self.gateway.pay(payment.number, is_forced=chance() < 0.3)
                name = transaction.transaction_id if transaction and chance() < 0.7 else ""
                self.story.append(f"{payment.number} is paid: {transaction is not None}")
                if chance() < 0.7:
                    for _ in range(self.random.randint(1, 2)):
                        town.confirm(payment, name)
            if chance() < 0.2:
                self.sleep_ms(PAYMENT_LIFE_MS)

        return self._often(pay, times=self.random.randint(2, 5))

    def _sender(self, user_id: str) -> Callable[[], None]:
        key, chance = f"unpaid-{user_id}", self.random.random

        def send(town: PaymentSystem) -> None:
            packet = town.send_unpaid(user_id, key, total_fen=200, count=3)
            if all(one.packet_id != packet.packet_id for one in self.packets):
                self.packets.append(packet)
            payment = town.start_packet(packet)
            if chance() < 0.2:
                self.sleep_ms(PAYMENT_LIFE_MS - 1_000)
            if chance() < 0.7:
                self.gateway.pay(payment.number, is_forced=chance() < 0.3)
            if chance() < 0.5:
                town.confirm(payment)
            if chance() < 0.5:
                claim = town.system.grab(packet, "user-9")
                self.story.append(f"share {claim.share.share_no} of {packet.packet_id} is grabbed")

        return self._often(send, times=self.random.randint(2, 5))

    def _withdrawer(self, user_id: str) -> Callable[[], None]:
        key = f"withdraw-{user_id}-{self.random.random()}"
        amount_fen = self.random.choice((50, 100, 300))

        def ask(town: PaymentSystem) -> None:
            try:
                withdrawal = town.withdraw(user_id, amount_fen, key)
                if self.random.random() < 0.3:
                    self.sleep_ms(self.random.choice(_WAITS_MS))
                    town.cancel(withdrawal)
                    self.story.append(f"{withdrawal.withdrawal_id} is to be cancelled")
            except Rejected as refusal:
                self.story.append(f"{user_id} is told {refusal.code}")

        return self._often(ask, times=self.random.randint(1, 4))

    # Our side

    def _dispatcher(self) -> None:
        call = _call_naively if self.is_naive else _dispatch
        self._often(call, times=8)()

    def _sweeper(self) -> None:
        self._often(lambda town: _ignore(town.sweep(40_000)), times=8)()

    def _auditor(self) -> None:
        for _ in range(self.random.randint(0, 2)):
            self.sleep_ms(self.random.choice(_WAITS_MS))
            self.reconcile(self.process())

    # The gateway's side

    def _console(self) -> None:
        """Refund or close some orders by hand, whatever we know; a callback may tell of it."""
        pick = self.random.choice
        for _ in range(self.random.randint(0, 6)):
            self.sleep_ms(pick(_WAITS_MS))
            if not self.gateway.orders:
                continue
            order = self.gateway.orders[pick(sorted(self.gateway.orders))]
            if not order.transactions:
                order.is_closed = order.is_closed or self.random.random() < 0.2
                continue
            paid = pick(order.transactions)
            left_fen = paid.amount_fen - self.gateway.refunded_fen(paid)
            if left_fen > 0:
                refund_no = self.gateway.refund_paid(paid, pick((min(50, left_fen), left_fen)))
                self.story.append(f"{order.number} is refunded by hand")
                if self.random.random() < 0.7:
                    self._often(_telling(refund_no), times=2)()

    def _next_state(self, state: TransferState) -> TransferState:
        pick = self.random.choice
        if state is TransferState.AWAITING_CONFIRMATION and self._is_over:
            # It is not confirmed any more, and WeChat ends it after a day.
            return state if self.waits_until_asked else TransferState.CANCELLED
        if state is TransferState.CANCELLING:
            ends = [TransferState.CANCELLED, TransferState.SUCCEEDED]
        else:
            ends = [TransferState.SUCCEEDED, TransferState.SUCCEEDED, TransferState.FAILED]
        # Once faults stop, it ends what is under way, however seldom it is asked.
        waits = 0 if self._is_over else 1 + (state is TransferState.PROCESSING)
        return pick([*ends, *[state] * waits])

    def _refuse(self, order: TransferOrder) -> Refusal | None:
        if order.bill_no not in self.refusals:
            kinds = (Refusal.THROTTLED, Refusal.OUT_OF_FUNDS, Refusal.OTHER, None, None, None)
            self.refusals[order.bill_no] = self.random.choice(kinds)
            if order.authorization_no and self.random.random() < 0.4:
                self.refusals[order.bill_no] = Refusal.NOT_AUTHORIZED
        elif order.bill_no in self.gateway.transfers and self.random.random() < 0.3:
            # It has the bill, and refuses its repeat.
            self.seen["refused repeats"] += 1
            return Refusal.NOT_AUTHORIZED if order.authorization_no else Refusal.OTHER
        refusal = self.refusals[order.bill_no]
        if refusal in {Refusal.THROTTLED, Refusal.OUT_OF_FUNDS}:
            # It passes.
            self.refusals[order.bill_no] = None
        return refusal

    # The end

    def heal(self) -> None:
        """Let schedules run until all is given up; compare each day's bill, and both books."""
        town = self._town_of(self.process(), lambda: None)
        for _ in range(8):
            self.end_minute(town)
        self.end_all()
        for hours in (1, 1, 2, 2, 6, 24, 24, 24, 1, 1):
            self.system.pass_time(hours * 3_600_000)
            self.end_minute(town)
        self._compare_bills(town)
        # Some second transactions are told by the bill alone: they go back now.
        self.end_minute(town)
        self.reconcile(self.process())
        state = self.system.ledger_state()
        facts, book = state.outside, self.gateway.bill_lines()
        self.seen["check_outside"] += min(len(book), len(facts.withdrawals), len(facts.payments))
        self.found += check_outside(facts, book)
        self.seen["check_outside_in_time"] += len(facts.withdrawals)
        self.found += check_outside_in_time(facts.rows, self.system.clock.now_ms(), BOUND_MS)
        self.found += [
            Difference("I8", one.withdrawal_id, "ended", "yes", one.status)
            for one in facts.withdrawals
            if not one.is_final
        ]
        self.seen["early refunds"] += sum(
            one.reason is ReturnReason.REFUNDED for one in facts.returns
        )
        self.found += [
            Difference("I8", one.number, "given back", "yes", one.status)
            for one in facts.returns
            if not _is_given_back(one)
        ]

    def _alarms(self) -> list[Difference]:
        """Leave out what a refund by hand rightly raises, where there was one."""
        by_hand = [one for one in self.gateway.refunds.values() if one.number.startswith("console")]
        said = {f"payment {one.of_number} was refunded before it was credited" for one in by_hand}
        said |= {f"{one.transaction_id} was refunded in part at the gateway" for one in by_hand}
        return [found for found in super()._alarms() if found.actual not in said]

    def end_minute(self, town: PaymentSystem) -> None:
        """Run what the schedules run in a minute."""
        _call_naively(town) if self.is_naive else town.dispatch(1_000)
        town.sweep(40_000)
        town.system.sweep(40_000)
        self.system.pass_time(60_000)

    def _compare_bills(self, town: PaymentSystem) -> None:
        for days_ago in reversed(range(6)):
            day = bill_day(self.system.clock.now_ms() - days_ago * _DAY_MS)
            report = town.compare_bill(day)
            if report:
                self.seen["bill lines"] += report.line_count
                self.found += report.differences


def _is_given_back(one: PaymentReturn) -> bool:
    """Tell whether nothing is left to do, or only for a person: a part was refunded by hand."""
    if one.status is ReturnStatus.LISTED:
        return 0 < one.refunded_fen < one.amount_fen
    return one.is_over


def _dispatch(town: PaymentSystem) -> None:
    town.dispatch(3_000)


def _telling(refund_no: str) -> Callable[[PaymentSystem], None]:
    """Return what a callback about a refund leads to."""
    return lambda town: note_refund(WECHAT, refund_no, ports=town.payments)


def _call_naively(town: PaymentSystem) -> None:
    """Call, then mark: what gets no answer begins again with a new number."""
    now_ms = town.clock.now_ms()
    for withdrawal_id in town.withdrawals.list_to_call(WECHAT, now_ms, 20):
        seen = town.withdrawals.find(withdrawal_id)
        if seen is None or seen.is_final:
            continue
        order = seen.order
        number = f"{seen.withdrawal_id[:-2]}{next(town.ids) % 10_000:04d}"
        fresh = TransferOrder(number, order.amount_fen, order.payee, None, order.details)
        with suppress(Unavailable):
            found = town.gates_out[WECHAT].transfer(fresh)
            if found.state is not TransferState.REFUSED:
                town.gates_out[WECHAT].query(number)
                town.withdrawals.post(seen, found, now_ms)


def _no_answer() -> Unavailable:
    return Unavailable("the gateway does not answer")


def _ignore(_: object) -> None:
    """Take what a flow returns."""
