"""Deterministic simulation of payments and withdrawals, like `simulation` for packets.

Users pay into balances and for packets, and withdraw. Users also pay late or twice, and staff
refund in the provider's console. Providers time out after paying, refuse transfers, and hide new
transfers from queries for a while. One of two providers hangs while the other one works; notices
come early, twice, in any order, and days later. Functions crash between any two calls, or stall
before the call that pays. Deployments replace the functions with other limits, without a provider,
or for another merchant. Treasurers move campaign money (`treasury`). Tables are restored, and
providers forget (`disasters`).

Then the providers' own books and statements are compared with the ledger. The naive control records
a call only after making it, and uses a new number after a missing answer, or trusts its rows.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from local.gateways.core import FINAL, day_of
from local.gateways.records import Line, Made
from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.payments.errors import PaymentNotFound, ProviderChanged
from redpacket.payments.model.payments import (
    PAYMENT_LIFE_MS,
    Payment,
    PaymentReturn,
    PaymentStatus,
    ReturnReason,
    ReturnStatus,
)
from redpacket.payments.model.provider import (
    Merchant,
    ProviderEvent,
    ProviderEventKind,
    Refusal,
    StatementLine,
    Transaction,
    TransferOrder,
    TransferState,
    statement_day,
    statement_day_start_ms,
)
from redpacket.payments.model.withdrawals import FUNCTION_MS, Withdrawal, WithdrawalLimits
from redpacket.payments.ports import RETURN_DAYS
from redpacket.payments.use_cases.dependencies import WithdrawalSettings
from redpacket.payments.use_cases.return_payment import note_refund
from redpacket.payments.use_cases.withdraw import withdraw_above
from redpacket.platform.difference import Difference
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import InvariantViolated, RedPacketError, Rejected, Unavailable
from redpacket.platform.idempotency import Request
from testing.faulty import Killed, Wire
from testing.payments import fake_gateway as gateway
from testing.payments.outside_checks import check_outside_in_time
from testing.payments.payment_system import FEN_MAX, FEN_MIN, WECHAT, PaymentSystem
from testing.platform.fake_tables import TABLE_NAMES
from testing.reconciliation.checks import OutsideFacts, check_outside
from tests.faults.disasters import FORGOTTEN_AFTER_MS, Aftermath, Disaster
from tests.faults.process import Process
from tests.faults.schedule import BOUND_MS, Schedule, names
from tests.faults.treasury import Treasury

STALLS_MS = (100, 5_000, 19_000, 25_000, 55_000)
"""Milliseconds for which a function may pause just before the call that pays."""

_STALLED = 0.15

_WAITS_MS = (100, 1_000, 5_000, 30_000, 90_000)

_DAY_MS = 24 * 3_600_000

_NEVER_MS = 10**15

HOST = ProviderName.HOST
CHANNELS = (WECHAT, HOST)

HANGS_MS = (1_000, 5_000, gateway.CALL_MS_MAX)
"""Milliseconds for which a call waits for a missing answer; no adapter waits longer."""

_HANGS = 0.02

_OUTAGES_MS = (10_000, 60_000, 300_000)

_NOTICES_MS = (0, 0, 500, 5_000, 60_000, 3_600_000, 2 * _DAY_MS)
"""Milliseconds between an event and its notice; the last value is two days."""

_GIVING_UP = (24, 24, 24, 1, 1)
"""Hours by which the time advances until unanswered calls are abandoned."""

_NOTICE_TRIES = 6

EDGE_MS = 590_000
"""Milliseconds from midnight within which a statement may list a line on either day. Our comparison
accepts ten minutes.
"""

_CARRIED_OUT = 0.6


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of a deployment; functions that are already running keep earlier settings."""

    settings: WithdrawalSettings
    merchant: int = 0
    channels: tuple[ProviderName, ...] = CHANNELS


class FaultyGate:
    """Port of a provider behind a wire; a call may still arrive after its caller gave up. *hang_ms*
    returns the milliseconds for which the next call to a provider hangs, usually 0.
    """

    def __init__(
        self,
        gate: Any,
        wire: Wire,
        stall: Callable[[], None],
        hang_ms: Callable[[ProviderName], int],
    ) -> None:
        self._gate, self._wire, self._stall, self._hang_ms = gate, wire, stall, hang_ms

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._gate, name)
        if not callable(attribute) or name == "details":
            return attribute

        def call(*arguments: Any) -> Any:
            if name in {"order", "refund", "transfer"}:
                self._stall()
            if hang_ms := self._hang_ms(self._gate.channel):
                if self._wire.faults.random.random() < _CARRIED_OUT:
                    attribute(*arguments)
                self._wire.sleep_ms(hang_ms)
                raise _no_answer()
            return self._wire.call(
                lambda: attribute(*arguments),
                lost=_no_answer,
                in_doubt=_no_answer,
                begin=lambda: lambda: _unheard(attribute, *arguments),
            )

        return call


def _unheard(call: Callable[..., Any], *arguments: Any) -> None:
    """Execute a call whose caller gave up and receives no refusal."""
    with suppress(Unavailable):
        call(*arguments)


@dataclass
class PaymentSchedule(Schedule):
    """One run of payments and withdrawals from one seed."""

    MUST_SEE = names(
        "bill lines, check_asked, check_bounds, check_conservation, check_entries, check_lines, "
        "check_open_counts, check_outside, check_outside_in_time, check_outside_postings, "
        "check_payments, check_postings, check_settled_in_time, check_unpaid_counts, "
        "check_withdrawn, check_year_sums, early refunds, logged lines, reconciled rows, "
        "forgotten and paid, forgotten and returned, numbers that a restore lost, "
        "paid calls that a restore lost, partial restores that were told, "
        "refused repeats, stalled calls, answers while a channel hangs, "
        "ends while a channel hangs, ends without a gateway, automatic payouts, "
        "early ends of cancelled packets, early ends of closing packets, "
        "channels turned off, hung calls, late bills, limits of a day, lines on the next day, "
        "lines on two days, lines that a bill lacks, notices before their row, "
        "repeats after a restore, repeats of lost requests, returned locks, "
        "returns of paid transfers, returns that a bill lacks, "
        "moves of campaign money, payments that campaign money refused, "
        "private packets that campaign money refused, unmarked accounts, "
        "notices of days ago, other merchants, other settings, refunds under way, "
        "repeated notices, rows of another merchant"
    )

    payments: list[Payment] = field(default_factory=list)
    packets: list[Packet] = field(default_factory=list)
    withdrawals: list[Withdrawal] = field(default_factory=list)

    def prepare(self) -> None:
        """Set up the providers, and users with some money."""
        pick, chance = self.random.choice, self.random.random
        merchants = (gateway.MERCHANT, Merchant("app", "another"))
        self.gateways = {
            WECHAT: [self._a_gateway(WECHAT, merchant) for merchant in merchants],
            # A host's wallet belongs to one host.
            HOST: [self._a_gateway(HOST, Merchant("", ""))] * len(merchants),
        }
        self.gateway, other = self.gateways[WECHAT]
        # Statements and checks cover both merchants.
        other.book, other.locks = self.gateway.book, self.gateway.locks
        # We do not know whether WeChat Pay's statements list locked money, so schedules try both.
        other.locks_money = self.gateway.locks_money = pick((False, True))
        # A host's wallet need not end unconfirmed transfers.
        self.waits_until_asked = pick((False, True))
        self.refusals: dict[str, Refusal | None] = {}
        self.details = pick(("scene", "confirm"))
        self.setup = Setup(self._some_settings())
        self.setups = [self.setup]
        self.hangs_until_ms = dict.fromkeys(CHANNELS, 0)
        self.notices: list[tuple[int, ProviderName, ProviderEvent, int]] = []
        self.causes: dict[str, set[str]] = defaultdict(set)
        self.repeats: dict[str, Callable[[PaymentSystem, str], str | None]] = {}
        self.payees = gateway.FakePayees()
        self.payees.authorization_no = pick((None, "consent"))
        self.ids = PaymentSystem(self.system).ids
        self.treasury = Treasury(self)
        self.aftermath = Aftermath(self)
        self.users = [f"user-{number}" for number in range(self.random.randint(3, 5))]
        for user_id in self.users:
            self.system.deposit(user_id, pick((1, 300, 1_000)))
        # In some schedules, the day ends during the actions.
        if chance() < 0.5:
            self.system.clock.at_ms += _DAY_MS - (self.system.clock.at_ms + _DAY_MS // 3) % _DAY_MS
            self.system.clock.at_ms -= self.random.randint(0, 300_000)

    def _a_gateway(self, channel: ProviderName, merchant: Merchant) -> gateway.FakeGateway:
        pick, chance = self.random.choice, self.random.random
        made = gateway.FakeGateway(self.system.clock, merchant, self._telling_of(channel))
        made.hides_for_ms = lambda: (
            0 if chance() < 0.3 else self.random.randint(0, gateway.SETTLING_MS)
        )
        made.next_state = self._next_state
        made.ends_orders = pick((False, True))
        made.refusal = self._refuse
        made.refund_takes_ms = self._refund_takes_ms
        made.billed_on = self._billed_on
        made.remembers_ms = FORGOTTEN_AFTER_MS
        made.ends_in_time = channel is WECHAT
        return made

    def tasks(self) -> list[Callable[[], None]]:
        """Return the interleaved parts."""
        steps = [self._payer(user_id) for user_id in self.users]
        steps += [self._sender(user_id) for user_id in self.users[:2]]
        steps += [self._withdrawer(user_id) for user_id in self.users for _ in range(2)]
        steps += [self._dispatcher, self._dispatcher, self._sweeper, self._sweeper]
        steps += [self._postman, self._postman, self._payee, self._weather, self._operator]
        steps += [self._console, self.sweeper(0), self._auditor, self.aftermath.copy_rows]
        return [*steps, *self.treasury.tasks()]

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
        dynamo, setup = (
            Dynamo(lambda: self.wires.dynamo, TABLE_NAMES, pause_s=self.wires.pause_s),
            self.setup,
        )

        def faulty(gate: Any) -> Any:
            return FaultyGate(gate, self.wire, stall, self._hang_ms)

        gateways = {
            provider_name: self.gateways[provider_name][setup.merchant]
            for provider_name in setup.channels
        }
        town = PaymentSystem(process, dynamo=dynamo, gateway=self.gateway)
        town.gates_in = {
            channel: faulty(gateway.FakePaymentsIn(fake_gateway, channel))
            for channel, fake_gateway in gateways.items()
        }
        town.gates_out = {
            channel: faulty(gateway.FakePaymentsOut(fake_gateway, self.details, channel))
            for channel, fake_gateway in gateways.items()
        }
        if self.aftermath.is_trusting:
            for gate in town.gates_out.values():
                gate.query_horizon_ms = _NEVER_MS
        town.ids, town.payees = self.ids, self.payees
        town.settings = setup.settings
        return town

    def often(self, do: Callable[[PaymentSystem], None], times: int) -> Callable[[], None]:
        """Return a caller that continues after every error, each time with a new function."""

        def run() -> None:
            for _ in range(times):
                try:
                    do(self.town())
                except ProviderChanged:
                    self.seen["rows of another merchant"] += 1
                except InvariantViolated as error:
                    self.differences.append(
                        Difference("alarm", "a flow", "answer", "none", str(error))
                    )
                except (RedPacketError, Killed):
                    pass
                self.sleep_ms(self.random.choice(_WAITS_MS))

        return run

    # People

    def _payer(self, user_id: str) -> Callable[[], None]:
        key, chance = f"pay-{user_id}", self.random.random
        channel = self.random.choice(CHANNELS)

        def pay(town: PaymentSystem) -> None:
            payment = town.start(user_id, 100, key, channel=channel)
            self.note_answer(key, payment.number)
            if payment not in self.payments:
                self.payments.append(payment)
            if chance() < 0.6:
                # Despite all checks, a user may pay twice, or after the order has ended.
                transaction = self.pay(payment, is_forced=chance() < 0.3)
                name = transaction.transaction_id if transaction and chance() < 0.7 else ""
                self.trace.append(f"{payment.number} is paid: {transaction is not None}")
                if chance() < 0.7:
                    for _ in range(self.random.randint(1, 2)):
                        town.confirm(payment, name)
            if chance() < 0.2:
                self.sleep_ms(PAYMENT_LIFE_MS)

        self.repeats[key] = lambda town, key: town.start(user_id, 100, key, channel=channel).number
        return self.often(pay, times=self.random.randint(2, 5))

    def pay(self, payment: Payment, *, is_forced: bool) -> Transaction | None:
        """Let a user pay an order at its provider, whichever merchant has it."""
        paid = [
            each.pay(payment.number, is_forced=is_forced) for each in self.gateways[payment.channel]
        ]
        return next((each for each in paid if each), None)

    def _sender(self, user_id: str) -> Callable[[], None]:
        key, chance = f"unpaid-{user_id}", self.random.random
        channel = self.random.choice(CHANNELS)

        def send_once(town: PaymentSystem, key: str) -> Packet:
            return town.send_unpaid(user_id, key, channel, total_fen=200, count=3)

        def send(town: PaymentSystem) -> None:
            packet = send_once(town, key)
            self.note_answer(key, packet.payment_id)
            if all(each.packet_id != packet.packet_id for each in self.packets):
                self.packets.append(packet)
            payment = town.start_packet(packet, channel)
            if chance() < 0.2:
                self.sleep_ms(PAYMENT_LIFE_MS - 1_000)
            if chance() < 0.7:
                self.pay(payment, is_forced=chance() < 0.3)
            if chance() < 0.5:
                town.confirm(payment)
            if chance() < 0.2:
                self._end(town, packet)
            if chance() < 0.5:
                claim = town.system.grab(packet, "user-9")
                self.trace.append(f"share {claim.share.share_no} of {packet.packet_id} is grabbed")

        self.repeats[key] = lambda town, key: send_once(town, key).payment_id
        return self.often(send, times=self.random.randint(2, 5))

    def _end(self, town: PaymentSystem, packet: Packet) -> None:
        """End a packet early; it may be unpaid, or about to be paid."""
        self.trace.append(f"{packet.packet_id} is ended")
        ended = town.end_packet(packet, self.random.choice(("", "a test")))
        self.seen[f"early ends of {ended.status} packets"] += 1
        if ended.status in {PacketStatus.UNPAID, PacketStatus.OPEN}:
            self.differences.append(
                Difference("end", packet.packet_id, "status", "ended", ended.status)
            )

    def _withdrawer(self, user_id: str) -> Callable[[], None]:
        key = f"withdraw-{user_id}-{self.random.random()}"
        amount_fen = self.random.choice((50, 100, 300))
        channel = self.random.choice(CHANNELS)

        def withdraw_once(town: PaymentSystem, key: str) -> Withdrawal:
            return town.withdraw(user_id, amount_fen, key, channel)

        def ask(town: PaymentSystem) -> None:
            try:
                withdrawal = withdraw_once(town, key)
                self.note_answer(key, withdrawal.withdrawal_id)
                if self.random.random() < self.aftermath.early_cancels:
                    self.sleep_ms(self.random.choice(_WAITS_MS))
                    self.aftermath.cancel(town, withdrawal)
                    self.trace.append(f"{withdrawal.withdrawal_id} is to be cancelled")
            except Rejected as refusal:
                self.trace.append(f"{user_id} is told {refusal.code}")

        self.repeats[key] = lambda town, key: withdraw_once(town, key).withdrawal_id
        return self.often(ask, times=self.random.randint(1, 4))

    # Our side

    def _dispatcher(self) -> None:
        self.often(_call_naively if self.is_careless else _dispatch, times=8)()

    @property
    def is_careless(self) -> bool:
        """Return whether this is the control that records a call only after making it."""
        return self.is_naive and not self.aftermath.is_trusting

    def _sweeper(self) -> None:
        self.often(lambda town: _ignore(town.sweep(40_000)), times=8)()

    def _operator(self) -> None:
        """Deploy with other settings, for another merchant, or without a provider."""
        pick, chance = self.random.choice, self.random.random
        for _ in range(self.random.randint(0, 3)):
            self.sleep_ms(pick(_WAITS_MS))
            settings = self._some_settings()
            channels = pick((CHANNELS, CHANNELS, (WECHAT,), (HOST,)))
            merchant = 1 - self.setup.merchant if chance() < 0.4 else self.setup.merchant
            self.seen["channels turned off"] += len(channels) == 1
            self.seen["other merchants"] += merchant != self.setup.merchant
            self.seen["other settings"] += settings != self.setup.settings
            self.setup = Setup(settings, merchant, channels)
            self.setups.append(self.setup)
            self.trace.append(f"functions are deployed with {self.setup}")

    def _some_settings(self) -> WithdrawalSettings:
        pick = self.random.choice
        limits = WithdrawalLimits(pick((2, 3, 100)), pick((300, 400, 1_000_000)))
        return WithdrawalSettings(FEN_MIN, pick((100, FEN_MAX)), limits, above_fen=pick((0, 50)))

    def _auditor(self) -> None:
        for _ in range(self.random.randint(0, 2)):
            self.sleep_ms(self.random.choice(_WAITS_MS))
            self.reconcile(self.process())

    # The providers' side

    @property
    def all_gateways(self) -> list[gateway.FakeGateway]:
        """Return the simulators of all providers and merchants."""
        return [*self.gateways[WECHAT], self.gateways[HOST][0]]

    def all_lines(self) -> list[StatementLine]:
        """Return the lines of all providers' books."""
        return self.gateway.bill_lines() + self.gateways[HOST][0].bill_lines()

    def _weather(self) -> None:
        """Make one provider hang for a while; the other one may work."""
        for _ in range(self.random.randint(0, 4)):
            self.sleep_ms(self.random.choice(_WAITS_MS))
            channel, for_ms = self.random.choice(CHANNELS), self.random.choice(_OUTAGES_MS)
            self.hangs_until_ms[channel] = self.system.clock.now_ms() + for_ms
            self.trace.append(f"{channel} hangs for {for_ms} ms")

    def _payee(self) -> None:
        """Let transfers continue without queries."""
        for _ in range(self.random.randint(4, 12)):
            self.sleep_ms(self.random.choice(_WAITS_MS))
            self.let_go_on(0.1)

    def let_go_on(self, share: float) -> None:
        for its_gateway in self.all_gateways:
            # A provider does not pay a transfer that it has forgotten.
            its_gateway.lapse()
            for transfer in its_gateway.transfers.values():
                if self.random.random() < share:
                    its_gateway.run(transfer)

    def _hang_ms(self, channel: ProviderName) -> int:
        now_ms = self.system.clock.now_ms()
        if now_ms < self.hangs_until_ms[channel] or (
            not self._is_over and self.random.random() < _HANGS
        ):
            self.seen["hung calls"] += 1
            return HANGS_MS[-1] if self._is_over else self.random.choice(HANGS_MS)
        is_partial = any(now_ms < until_ms for until_ms in self.hangs_until_ms.values())
        self.seen["answers while a channel hangs"] += is_partial
        return 0

    def _telling_of(self, channel: ProviderName) -> Callable[[Made], None]:
        """Return a reporter that queues up to three notices per event, each up to two days late."""
        pick = self.random.choice

        def report(made: Made) -> None:
            copies = pick((0, 1, 1, 2, 3))
            self.seen["repeated notices"] += copies > 1
            for _ in range(copies):
                late_ms = pick(_NOTICES_MS)
                of = ProviderEventKind(made.kind), str(late_ms), made.number, made.outside_no
                comes_at_ms = self.system.clock.now_ms() + late_ms
                self.notices.append((comes_at_ms, channel, ProviderEvent(*of), 0))

        return report

    def _postman(self) -> None:
        """Deliver notices in any order, including events that no provider has reported yet."""
        for _ in range(self.random.randint(8, 16)):
            self.sleep_ms(self.random.choice(_WAITS_MS))
            if self.random.random() < 0.2:
                # The event may concern a payment that a user starts next.
                user_id = self.random.choice(self.users)
                number = Request(user_id, f"pay-{user_id}", "").id_of("payment")
                early = ProviderEvent(ProviderEventKind.PAYMENT, "", number, "")
                channel = self.random.choice(CHANNELS)
                self.notices.append((self.system.clock.now_ms(), channel, early, 0))
            with suppress(Killed):
                self._bring_notices(self.town())
                self._pay_out_above(self.town())

    def _bring_notices(self, town: PaymentSystem) -> None:
        """Deliver due messages; failed ones are redelivered, up to a limit."""
        now_ms = self.system.clock.now_ms()
        due = [notice for notice in self.notices if notice[0] <= now_ms]
        self.notices = [notice for notice in self.notices if notice[0] > now_ms]
        self.random.shuffle(due)
        while due:
            _, channel, notice, tries = due.pop()
            self.seen["notices of days ago"] += notice.notice_id == str(_NOTICES_MS[-1])
            try:
                town.follow(notice, channel)
                continue
            except PaymentNotFound:
                self.seen["notices before their row"] += 1
            except ProviderChanged:
                self.seen["rows of another merchant"] += 1
            except InvariantViolated as error:
                self.differences.append(
                    Difference("alarm", "a notice", "answer", "none", str(error))
                )
            except RedPacketError:
                pass
            except Killed:
                # Neither this message nor the rest of the batch is acknowledged.
                self.notices += [*due, (now_ms, channel, notice, tries + 1)]
                raise
            if tries < _NOTICE_TRIES:
                again_ms = now_ms + self.random.choice(_WAITS_MS)
                self.notices.append((again_ms, channel, notice, tries + 1))

    def _pay_out_above(self, town: PaymentSystem) -> None:
        """Deliver an event of a balance, perhaps for the second time, as a stream may."""
        user_id, channel = self.random.choice(self.users), self.random.choice(CHANNELS)
        cause = f"{user_id} {self.random.randint(1, 3)}"
        with suppress(RedPacketError):
            made = withdraw_above(
                *(user_id, channel, cause),
                payees=town.payees,
                ports=town.transfers,
                payments=town.payments,
            )
            if made:
                self.seen["automatic payouts"] += 1
                self.note_answer(cause, made.withdrawal_id)

    def note_answer(self, cause: str, answer: str | None) -> None:
        """Store the id that a cause or an idempotency key led to; each must lead to exactly
        one id.
        """
        self.causes[cause].add(answer or "")

    def _refund_takes_ms(self, refund_no: str) -> int:
        takes_ms = 0 if self._is_over else 1_000 * (sum(refund_no.encode()) % 90)
        self.seen["refunds under way"] += takes_ms > 0
        return takes_ms

    def _billed_on(self, line: Line) -> str:
        """Return the day whose statement has a line: near midnight either day, and for half of the
        returned locks a day later.
        """
        shifts_ms = (0, EDGE_MS, -EDGE_MS)
        shift_ms = shifts_ms[sum(line.outside_no.encode()) % len(shifts_ms)]
        if line.kind == "unlock" and line.outside_no[-1] in "02468":
            shift_ms += _DAY_MS
        day = day_of(line.moved_at_ms + shift_ms)
        self.seen["lines on the next day"] += day != day_of(line.moved_at_ms)
        return day

    def _console(self) -> None:
        """Refund or close some orders manually, independently of our rows; a callback may
        follow.
        """
        pick = self.random.choice
        for _ in range(self.random.randint(0, 6)):
            self.sleep_ms(pick(_WAITS_MS))
            channel = pick(CHANNELS)
            its_gateway = pick(self.gateways[channel])
            if not its_gateway.orders:
                continue
            order = its_gateway.orders[pick(sorted(its_gateway.orders))]
            if not order.transactions:
                order.is_closed = order.is_closed or self.random.random() < 0.2
                continue
            paid = pick(order.transactions)
            left_fen = paid.amount_fen - its_gateway.refunded_fen(paid)
            if left_fen > 0:
                refund_no = its_gateway.refund_paid(paid, pick((min(50, left_fen), left_fen)))
                self.trace.append(f"{order.number} is refunded by hand")
                if self.random.random() < 0.7:
                    self.often(_telling(channel, refund_no), times=2)()

    def _next_state(self, state: TransferState) -> TransferState:
        pick = self.random.choice
        if state is TransferState.AWAITING_CONFIRMATION and self._is_over:
            # No user will confirm the transfer anymore. Some providers end it; others leave it.
            return state if self.waits_until_asked else TransferState.CANCELLED
        if state is TransferState.CANCELLING:
            ends = [TransferState.CANCELLED, TransferState.SUCCEEDED]
        else:
            ends = [TransferState.SUCCEEDED, TransferState.SUCCEEDED, TransferState.FAILED]
        # After the faults stop, a transfer in progress ends at its next step.
        waits = 0 if self._is_over else 1 + (state is TransferState.PROCESSING)
        return pick([*ends, *[state] * waits])

    def _refuse(self, order: TransferOrder) -> Refusal | None:
        if order.transfer_no not in self.refusals:
            kinds = (Refusal.THROTTLED, Refusal.OUT_OF_FUNDS, Refusal.OTHER, None, None, None)
            self.refusals[order.transfer_no] = self.random.choice(kinds)
            if order.authorization_no and self.random.random() < 0.4:
                self.refusals[order.transfer_no] = Refusal.NOT_AUTHORIZED
        elif self._is_made(order.transfer_no) and self.random.random() < 0.6:
            # The provider has the transfer, and refuses the retry.
            self.seen["refused repeats"] += 1
            return Refusal.NOT_AUTHORIZED if order.authorization_no else Refusal.OTHER
        refusal = self.refusals[order.transfer_no]
        if refusal in {Refusal.THROTTLED, Refusal.OUT_OF_FUNDS}:
            # The failure is temporary.
            self.refusals[order.transfer_no] = None
        return refusal

    def _is_made(self, transfer_no: str) -> bool:
        return any(transfer_no in each.transfers for each in self.all_gateways)

    # The end

    def heal(self) -> None:
        """Run the scheduled functions until nothing waits; compare each day's statement, and the
        books.
        """
        self.hangs_until_ms = dict.fromkeys(CHANNELS, 0)
        self.aftermath.strike(lambda: self._healing_town(self.setup))
        town = self._healing_town(self.setup)
        with self._silent(self.random.choice((None, None, *CHANNELS))):
            for _ in range(8):
                self.end_minute(town)
            self.end_all()
            self._end_hours(town, 1, 1, 2, 2)
        self._end_hours(town, 6, *_GIVING_UP)
        self._check_stranded()
        self.aftermath.decide(town)
        # Run once more with all providers and each earlier merchant, for work that began with them.
        merchants = {setup.merchant for setup in self.setups} - {self.setup.merchant}
        if self.setup.channels != CHANNELS or merchants:
            for merchant in (self.setup.merchant, *merchants):
                self._follow_statements(town)
                self.system.pass_time(60_000)
                self.end_minute(town)
                town = self._healing_town(Setup(self.setup.settings, merchant))
                self._end_hours(town, 6, *_GIVING_UP)
                self.aftermath.decide(town)
            self._follow_statements(town)
        self._compare_statements(town)
        # Some second transactions are known only from a statement; return them now.
        self.system.pass_time(60_000)
        self.end_minute(town)
        self.reconcile(self.process())
        state = self.system.ledger_state()
        self.differences += self.treasury.freed(state)
        facts = state.outside
        book = self.aftermath.expected(self.all_lines(), facts)
        self._check_settings(facts)
        self.seen["check_outside"] += min(len(book), len(facts.withdrawals), len(facts.payments))
        self.differences += check_outside(facts, book) + self.aftermath.untold(facts)
        self.seen["check_outside_in_time"] += len(facts.withdrawals)
        self.differences += check_outside_in_time(facts.rows, self.system.clock.now_ms(), BOUND_MS)
        self.differences += [
            Difference("I8", withdrawal.withdrawal_id, "ended", "yes", withdrawal.status)
            for withdrawal in facts.withdrawals
            if not withdrawal.is_final
        ]
        self.seen["early refunds"] += sum(
            each.reason is ReturnReason.REFUNDED for each in facts.returns
        )
        self.differences += [
            Difference("I8", each.number, "given back", "yes", each.status)
            for each in facts.returns
            if not _is_given_back(each)
        ]

    def _alarms(self) -> list[Difference]:
        """Return the alarms, except those that a manual refund, a restore or another merchant
        rightly causes.
        """
        refunds = [refund for made in self.all_gateways for refund in made.refunds.values()]
        # After a restore, our own refunds may also be unknown.
        is_restored = self.aftermath.kind is Disaster.RESTORE
        by_hand = [each for each in refunds if is_restored or each.number.startswith("console")]
        alarms = {
            f"payment {each.of_number} was refunded before it was credited" for each in by_hand
        }
        alarms |= {
            f"{each.transaction_id} was refunded in part at the provider" for each in by_hand
        }
        errors = self.system.logger.errors
        alarms |= {str(error) for _, error in errors if isinstance(error, ProviderChanged)}
        lost = self.aftermath.lost
        alarms |= {f"refund {refund_no} belongs to no payment of ours" for refund_no in lost}
        return [difference for difference in super()._alarms() if difference.actual not in alarms]

    def _healing_town(self, setup: Setup) -> PaymentSystem:
        self.setup, process = setup, self.process()
        process.in_parallel = self._side_by_side
        return self._town_of(process, lambda: None)

    def _side_by_side(self, do: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Run all items as if in threads that start together; nothing else runs in `heal`."""
        clock, done = self.system.clock, []
        begins_ms = ends_ms = clock.at_ms
        for item in items:
            clock.at_ms = begins_ms
            done.append(do(item))
            ends_ms = max(ends_ms, clock.at_ms)
        clock.at_ms = ends_ms
        return done

    def _end_hours(self, town: PaymentSystem, *hours: int) -> None:
        for count in hours:
            self.system.pass_time(count * 3_600_000)
            self.let_go_on(0.8)
            self.end_minute(town)

    @contextmanager
    def _silent(self, channel: ProviderName | None) -> Iterator[None]:
        """Make a provider hang in the block; afterwards, check that our rows have what the other
        provider completed before the block.
        """
        if channel is None:
            yield
            return
        began_ms = self.system.clock.now_ms()
        self.hangs_until_ms[channel] = began_ms + 1000 * _DAY_MS
        yield
        self.hangs_until_ms[channel] = 0
        (other,) = set(CHANNELS) - {channel}
        if self.is_naive or other not in self.setup.channels or self.aftermath.kind:
            return
        facts, records = (
            self.system.ledger_state().outside,
            self.gateways[other][self.setup.merchant],
        )
        taken = {each.transaction_id for each in facts.returns}
        taken |= {payment.transaction_id for payment in facts.payments if payment.transaction_id}
        ends = [
            (paid.number, paid.paid_at_ms, paid.outside_no in taken)
            for order in records.orders.values()
            for paid in order.transactions[:1]
        ]
        ends += [
            (withdrawal.transfer_no, made.changed_at_ms, withdrawal.is_final)
            for withdrawal in facts.withdrawals
            if (made := records.transfers.get(withdrawal.transfer_no)) and made.state in FINAL
        ]
        for number, at_ms, is_followed in ends:
            if at_ms < began_ms:
                self.seen["ends while a channel hangs"] += 1
                if not is_followed:
                    what = f"followed while {channel} hangs"
                    self.differences.append(Difference("I8", number, what, "yes", "no"))

    def _check_stranded(self) -> None:
        """Check I8: unpaid packets of a disabled provider end without it, and so do payments that
        never reached it.
        """
        if self.is_naive:
            return
        state, on = self.system.ledger_state(), self.setup.channels
        ends = {
            packet.packet.packet_id: packet.packet.status is not PacketStatus.UNPAID
            for packet in state.packets
            if packet.packet.pay_channel not in {None, *on}
        }
        ends |= {
            payment.number: payment.status is not PaymentStatus.PENDING
            for payment in state.outside.payments
            if payment.channel not in on and not payment.ordered_at_ms
        }
        self.seen["ends without a gateway"] += len(ends)
        self.differences += [
            Difference("I8", subject, "ended without its gateway", "yes", "no")
            for subject, has_ended in ends.items()
            if not has_ended
        ]

    def _check_settings(self, facts: OutsideFacts) -> None:
        """Check I9 (no user exceeds the highest deployed limits of a day) and I10 (each cause and
        each key has one answer).
        """
        limits = [setup.settings.limits for setup in self.setups]
        at_most = max(limit.count_max for limit in limits), max(limit.fen_max for limit in limits)
        for (user_id, day), withdrawn in facts.withdrawn.items():
            self.seen["limits of a day"] += 1
            if any(has > most for has, most in zip(withdrawn, at_most, strict=True)):
                what = f"withdrawn on {day}"
                self.differences.append(
                    Difference("I9", user_id, what, str(at_most), str(withdrawn))
                )
        for cause, answers in self.causes.items():
            if len(answers) > 1:
                self.differences.append(
                    Difference("I10", cause, "answers", "1", str(sorted(answers)))
                )

    def end_minute(self, town: PaymentSystem) -> None:
        """Run the one-minute schedules once."""
        for channel in town.gates_out:
            _call_naively(town) if self.is_careless else town.dispatch(1_000, channel)
        self._bring_notices(town)
        town.sweep(40_000)
        town.system.sweep(40_000)
        self.system.pass_time(60_000)

    def _statement_days(self) -> list[tuple[str, ProviderName]]:
        """Return (day, provider) pairs: past days that may list lines, and two days after each."""
        today = statement_day(self.system.clock.now_ms())
        days = {
            (statement_day(line.moved_at_ms + later_ms), channel)
            for channel in CHANNELS
            for fake_gateway in self.gateways[channel][:1]
            for line in (*fake_gateway.book, *fake_gateway.locks)
            for later_ms in (-EDGE_MS, 0, EDGE_MS, _DAY_MS, 2 * _DAY_MS)
        }
        return sorted(day for day in days if day[0] < today)

    def _follow_statements(self, town: PaymentSystem) -> None:
        """Compare each day's statement with our rows, as the scheduled function does."""
        for day, channel in self._statement_days():
            town.compare_statement(day, channel)

    def _compare_statements(self, town: PaymentSystem) -> None:
        for day, channel in self._statement_days():
            with self._statements(channel, lambda *_: None):
                self.seen["late bills"] += town.compare_statement(day, channel) is None
            if report := town.compare_statement(day, channel):
                self.seen["bill lines"] += report.line_count
                self.differences += self.aftermath.wrong(report.differences)
        unexplained = self.aftermath.unexplained()
        lines = [
            (channel, day, line)
            for day, channel in self._statement_days()
            for line in self._lines_amid(channel, day)
            if line.number not in unexplained and not self._is_locked_before(day, line)
        ]
        if lines:
            self._compare_wrong_bills(town, *self.random.choice(lines))
        returns = [
            line
            for line in self.gateway.locks
            if self.gateway.locks_money and line.kind == "unlock" and line.number not in unexplained
        ]
        self.seen["returned locks"] += len(returns)
        if returns:
            self._compare_without_return(town, self.random.choice(returns))

    def _is_locked_before(self, day: str, line: Line) -> bool:
        """Return whether an earlier day has the line's lock, so that day's report has the line."""
        return self.gateway.locks_money and any(
            _is_lock_of(each, line) and day_of(each.moved_at_ms) < day
            for each in self.gateway.locks
        )

    def _compare_without_return(self, town: PaymentSystem, returned: Line) -> None:
        """Drop the return of a lock from its statement: this is reported RETURN_DAYS after the
        lock.
        """
        (lock,) = [each for each in self.gateway.locks if _is_lock_of(each, returned)]
        day = day_of(statement_day_start_ms(self._billed_on(lock)) + RETURN_DAYS * _DAY_MS)
        self._check_told(
            *(town, WECHAT, day, returned, "returns that a bill lacks"),
            lambda _day, _kinds, lines: [each for each in lines if each != returned],
        )

    def _lines_amid(self, channel: ProviderName, day: str) -> list[Line]:
        """Return the lines of a day that no other day's statement may have."""
        begin_ms = statement_day_start_ms(day) + EDGE_MS
        until_ms = begin_ms + _DAY_MS - 2 * EDGE_MS
        book = self.gateways[channel][0].book
        return [line for line in book if begin_ms <= line.moved_at_ms < until_ms]

    def _compare_wrong_bills(
        self, town: PaymentSystem, channel: ProviderName, day: str, line: Line
    ) -> None:
        """Drop a line, list it on two days, and return a paid transfer: each must be reported."""
        next_day = day_of(statement_day_start_ms(day) + _DAY_MS)
        back = replace(line, kind="unlock")
        wrong: dict[str, gateway.Bill] = {
            "lines that a bill lacks": lambda _day, _kinds, lines: [
                each for each in lines if each != line and not _is_lock_of(each, line)
            ],
            "lines on two days": lambda its_day, kinds, lines: [
                *lines,
                *([line] if its_day == next_day and _kind_in(kinds, line) in kinds else []),
            ],
            "returns of paid transfers": lambda its_day, kinds, lines: [
                *lines,
                *([back] if its_day == day and "unlock" in kinds else []),
            ],
        }
        if line.kind != "transfer" or channel is not WECHAT or not self.gateway.locks_money:
            del wrong["returns of paid transfers"]
        for name, edit in wrong.items():
            its_day = next_day if "two" in name else day
            self._check_told(town, channel, its_day, line, name, edit)

    def _check_told(
        self,
        town: PaymentSystem,
        channel: ProviderName,
        day: str,
        line: Line,
        name: str,
        edit: gateway.Bill,
    ) -> None:
        with self._statements(channel, edit):
            report = town.compare_statement(day, channel)
        if report is None:
            return
        self.seen[name] += 1
        if all(line.number not in difference.subject for difference in report.differences):
            self.differences.append(Difference("bill", line.number, name, "told", "nothing"))

    @contextmanager
    def _statements(self, channel: ProviderName, statement: gateway.Bill) -> Iterator[None]:
        """Replace a provider's statements inside the block with the result of *statement*."""
        true_bills = [each.edit_statement for each in self.gateways[channel]]
        for fake_gateway in self.gateways[channel]:
            fake_gateway.edit_statement = statement
        yield
        for fake_gateway, true_bill in zip(self.gateways[channel], true_bills, strict=True):
            fake_gateway.edit_statement = true_bill


def _is_lock_of(each: Line, line: Line) -> bool:
    return (each.kind, each.number) == ("lock", line.number)


def _kind_in(kinds: Collection[str], line: Line) -> str:
    """Return the kind of a line in a statement, which may have locks instead of transfers."""
    return "lock" if line.kind == "transfer" and "lock" in kinds else line.kind


def _is_given_back(payment_return: PaymentReturn) -> bool:
    """Return whether no work is left, except an operator's after a partial manual refund."""
    if payment_return.status is ReturnStatus.LISTED:
        return 0 < payment_return.refunded_fen < payment_return.amount_fen
    return payment_return.is_over


def _dispatch(town: PaymentSystem) -> None:
    for channel in town.gates_out:
        town.dispatch(3_000, channel)


def _telling(channel: ProviderName, refund_no: str) -> Callable[[PaymentSystem], None]:
    """Return a function that handles a callback about a refund."""
    return lambda town: note_refund(channel, refund_no, ports=town.payments)


def _call_naively(town: PaymentSystem) -> None:
    """Record a call only after making it; after a missing answer, call again with a new number."""
    now_ms = town.clock.now_ms()
    pending = [town.withdrawals.list_to_call(channel, now_ms, 20) for channel in town.gates_out]
    for withdrawal_id in chain(*pending):
        seen = town.withdrawals.find(withdrawal_id)
        if seen is None or seen.is_final:
            continue
        order = seen.order
        number = f"{seen.withdrawal_id[:-2]}{next(town.ids) % 10_000:04d}"
        fresh = TransferOrder(number, order.amount_fen, order.payee, None, order.details)
        with suppress(Unavailable):
            gate = town.gates_out[seen.channel]
            answer = gate.transfer(fresh)
            if answer.state is not TransferState.REFUSED:
                gate.query(number)
                town.withdrawals.post(seen, answer, now_ms)


def _no_answer() -> Unavailable:
    return Unavailable("the gateway does not answer")


def _ignore(_: object) -> None:
    """Discard the result of a use case."""
