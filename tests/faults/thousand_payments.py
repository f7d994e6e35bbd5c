"""A thousand payments and as many withdrawals, through a provider that often fails.

10% of its calls time out after their effect and 5% before it. Users repeat every request, and
functions crash between any two steps: before or after any call to the provider or a table. Then
the provider's own book is compared with the ledger. The naive control records a call only after
making it, and uses a new number after a missing answer.

python -m tests.faults.thousand_payments --count 1000 --seed 7
"""

import random
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass

from local.gateways.records import Line
from redpacket.ledger.model import TransferKind
from redpacket.payments.model.payments import PaymentStatus, ReturnStatus
from redpacket.payments.model.provider import StatementKind, TransferOrder, statement_day
from redpacket.payments.model.withdrawals import WithdrawalLimits, withdrawal_of_transfer
from redpacket.payments.use_cases.dependencies import WithdrawalSettings
from redpacket.platform.difference import Difference
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import RedPacketError, Unavailable
from testing.faulty import Killed
from testing.in_memory_system import InMemorySystem
from testing.payments.fake_gateway import FakePaymentsIn, FakePaymentsOut
from testing.payments.outside_checks import held_fen
from testing.payments.payment_system import WECHAT, PaymentSystem
from testing.platform.fake_tables import TABLE_NAMES
from tests.faults.thousand import Failing, run_command

USERS = 50
IN_FEN, OUT_FEN = 100, 60

TIMES_OUT_BEFORE = 0.05
TIMES_OUT_AFTER = 0.10
DIES = 0.005
"""Probability of a crash at a provider call; a tenth of it at the more frequent table calls.
"""

SETTINGS = WithdrawalSettings(10, 10**5, WithdrawalLimits(10**6, 10**9))
PATIENCE = 10
"""Maximum number of attempts to pay."""

ATTEMPTS_MAX = 99
"""Maximum attempts of the control per withdrawal: transfer numbers have two digits for them."""

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Figures:
    """Final counts and sums at the provider and in the ledger."""

    payments: int
    withdrawals: int
    outside_fen: int
    ledger_fen: int
    twice: int
    lost: int
    stuck: int


class Town:
    """Users, our functions and the provider, for one run."""

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self.chance = random.Random(seed)
        system = InMemorySystem()
        self.tables = Failing(system.dynamo, self.chance, dies=DIES / 10)
        self.payments = PaymentSystem(system, dynamo=Dynamo(lambda: self.tables, TABLE_NAMES))
        self.payments.settings = SETTINGS
        self.gates = [
            Failing(
                gate(self.payments.gateway),
                self.chance,
                dies=DIES,
                before=TIMES_OUT_BEFORE,
                after=TIMES_OUT_AFTER,
                spared=("details",),
            )
            for gate in (FakePaymentsIn, FakePaymentsOut)
        ]
        self.payments.gates_in, self.payments.gates_out = ({WECHAT: gate} for gate in self.gates)
        self.day = statement_day(self.payments.clock.now_ms())

    @property
    def failed_count(self) -> int:
        return sum(each.failed_count for each in (self.tables, *self.gates))

    def users(self) -> list[str]:
        return [f"user-{number % USERS}" for number in range(self.count)]

    def pay_in(self) -> None:
        """Let all users start a payment, pay it and fetch the result at least twice, until it is
        paid.
        """
        for number, user_id in enumerate(self.users()):
            times, paid = 0, False
            while times < PATIENCE and not (paid and times > 1):
                times += 1
                with suppress(RedPacketError, Killed):
                    payment = self.payments.start(user_id, IN_FEN, key=f"pay-{number}")
                    is_again = self.chance.random() < 0.02
                    taken = self.payments.gateway.pay(payment.number, is_forced=is_again)
                    paid = paid or taken is not None
                    self.payments.confirm(payment)

    def ask_out(self) -> None:
        """Let all users request a withdrawal, twice."""
        for number, user_id in enumerate(self.users()):
            for _ in range(2):
                with suppress(RedPacketError, Killed):
                    self.payments.withdraw(user_id, OUT_FEN, key=f"withdraw-{number}")

    def run_functions(self, minutes: float) -> None:
        """Run a dispatcher and a sweep repeatedly; some of them crash."""
        for _ in range(int(minutes * 2)):
            for run in (
                lambda: self.payments.dispatch(20_000),
                lambda: self.payments.sweep(60_000),
            ):
                with suppress(RedPacketError, Killed):
                    run()
            self.payments.system.pass_time(30_000)

    def call_naively(self, rounds: int = 30) -> None:
        """Record a call only after making it; after a missing answer, call again with a new
        number.
        """
        attempts: Counter[str] = Counter()
        payments = self.payments
        for _ in range(rounds):
            now_ms = payments.clock.now_ms()
            with suppress(RedPacketError, Killed):
                for withdrawal_id in payments.withdrawals.list_to_call(WECHAT, now_ms, self.count):
                    attempts[withdrawal_id] += 1
                    if attempts[withdrawal_id] <= ATTEMPTS_MAX:
                        with suppress(Unavailable):
                            _call_naively(payments, withdrawal_id, attempts[withdrawal_id])
            payments.system.pass_time(30_000)

    def heal(self) -> list[Difference]:
        """End all faults, let a day pass, compare the day's statement, and return the
        differences.
        """
        for each in (self.tables, *self.gates):
            each.is_over = True
        self.payments.system.pass_time(_DAY_MS)
        report = self.payments.compare_statement(self.day)
        self.run_functions(1)
        differences = list(report.differences) if report else []
        return differences + self.payments.differences(bound_ms=0)

    def figures(self) -> Figures:
        """Compare the provider's own book with the ledger."""
        gateway, state = self.payments.gateway, self.payments.system.ledger_state()
        outside = state.outside
        came, went, back = (
            gateway.lines(kind)
            for kind in (StatementKind.PAYMENT, StatementKind.TRANSFER, StatementKind.REFUND)
        )
        credited_to = Counter(
            entry.transfer_id for entry in state.entries if entry.kind is TransferKind.PAYMENT
        )
        paid = Counter(withdrawal_of_transfer(line.number) for line in went)
        credited = {
            payment.number for payment in outside.payments if payment.status is PaymentStatus.PAID
        }
        returned = {line.of_number for line in back}
        marked = {
            withdrawal.withdrawal_id for withdrawal in outside.withdrawals if held_fen(withdrawal)
        }
        return Figures(
            payments=len({line.number for line in came}),
            withdrawals=len(paid),
            outside_fen=_sum(came) - _sum(back) - _sum(went),
            ledger_fen=sum(self.payments.balance_fen(user_id) for user_id in set(self.users())),
            twice=sum(times > 1 for times in (*credited_to.values(), *paid.values())),
            lost=len({line.number for line in came} - credited - returned)
            + len(marked - set(paid)),
            stuck=sum(payment.status is PaymentStatus.PENDING for payment in outside.payments)
            + sum(not withdrawal.is_final for withdrawal in outside.withdrawals)
            + sum(each.status is not ReturnStatus.DONE for each in outside.returns),
        )


def run(count: int, seed: int) -> tuple[Town, list[Difference]]:
    """Move *count* payments in and as many withdrawals out, and return the differences."""
    town = Town(count, seed)
    town.pay_in()
    town.run_functions(20)
    town.ask_out()
    town.run_functions(30)
    return town, town.heal()


def run_naively(count: int, seed: int) -> Town:
    """Move the same money, but let the naive control pay out the withdrawals."""
    town = Town(count, seed)
    town.pay_in()
    town.run_functions(20)
    town.ask_out()
    town.call_naively()
    return town


def figures_of(count: int, seed: int) -> tuple[dict[str, int], list[str]]:
    """Return the figures of both runs, and the violations."""
    town, differences = run(count, seed)
    figures, naive = town.figures(), run_naively(count, seed).figures()
    print(f"{town.failed_count:,} calls failed, or a function died at them.")
    wrong = [
        f"{difference.rule} {difference.subject}: {difference.what}" for difference in differences
    ]
    if figures.outside_fen != figures.ledger_fen:
        wrong.append("the gateway's book is not the ledger")
    if figures.twice or figures.lost or figures.stuck:
        wrong.append("money came twice, was lost or is stuck")
    if town.failed_count <= count // 2 or town.tables.failed_count <= count // 100:
        wrong.append("too few calls failed: this proves nothing")
    if not naive.twice or naive.outside_fen >= naive.ledger_fen:
        wrong.append("the control holds: this proves nothing")
    return {**asdict(figures), "naive_twice": naive.twice}, wrong


def _call_naively(town: PaymentSystem, withdrawal_id: str, attempt: int) -> None:
    seen = town.withdrawals.find(withdrawal_id)
    if seen is None or seen.is_final:
        return
    number = f"{withdrawal_id}{attempt:02d}"
    order = TransferOrder(number, seen.amount_fen, seen.payee, None, seen.details)
    gate = town.gates_out[WECHAT]
    gate.transfer(order)
    town.withdrawals.post(seen, gate.query(number), town.clock.now_ms())


def _sum(lines: list[Line]) -> int:
    return sum(line.amount_fen for line in lines)


if __name__ == "__main__":
    run_command(figures_of)
