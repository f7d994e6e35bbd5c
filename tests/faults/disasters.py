"""Disasters after which absence proves nothing: restores, lost requests, providers that forget.

A restore of some or all tables rolls rows back while providers keep their books. A provider forgets
transfers after 30 days, and would then pay again under the same number. After a restore, or when
the rows of requests are lost, users retry old requests with the same keys. The naive control trusts
the rows and each answer: it assumes that a transfer was never made if no call is recorded, or if
the provider does not find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from itertools import chain, product
from typing import TYPE_CHECKING

from redpacket.payments.errors import ProviderChanged
from redpacket.payments.model.provider import (
    StatementKind,
    StatementLine,
    TransferFound,
    TransferState,
)
from redpacket.payments.model.withdrawals import ID_LENGTH, Withdrawal, WithdrawalStatus
from redpacket.payments.use_cases.forgotten import return_forgotten, settle_forgotten
from redpacket.payments.use_cases.transfer import LOOK_PAUSE_MS_MAX
from redpacket.platform.difference import Difference
from redpacket.platform.errors import RedPacketError
from redpacket.reconciliation.use_cases.statements import MOVING_MS
from redpacket_cli.restore import asked_first
from testing.payments.payment_system import PaymentSystem
from testing.reconciliation.checks import OutsideFacts

if TYPE_CHECKING:
    from tests.faults.payments import PaymentSchedule

_DAY_MS = 24 * 3_600_000
FORGOTTEN_AFTER_MS = 30 * _DAY_MS

RESTORED_AFTER_MS = 20 * 3_600_000
"""Milliseconds from the last call until the tables are restored."""

_LOOKS = 100
"""Maximum number of times that a schedule looks for a suitable moment for the backup."""

_NO_CALL = {"N": "0"}

_SOME = (("payments",), ("accounts",), (), (), ())
"""Choices of the tables to restore; an empty tuple means all tables."""


class Disaster(StrEnum):
    """Kinds of disasters."""

    RESTORE = "restore"
    FORGET = "forget"
    LOSE = "lose"


class Aftermath:
    """Disaster of a schedule, and the differences that it does and does not explain. *lost* are the
    numbers whose rows a restore lost: only statements show them.
    """

    def __init__(self, schedule: PaymentSchedule) -> None:
        self._of = schedule
        self.kind = schedule.random.choice((*[None] * 5, *Disaster))
        # Cancel fewer withdrawals before a restore, because users cancel more of them afterwards,
        # paid ones included.
        self.early_cancels = 0.1 if self.kind is Disaster.RESTORE else 0.5
        self.lost: set[str] = set()
        self.told: set[str] = set()
        self._backup = schedule.system.dynamo.rows()

    @property
    def is_trusting(self) -> bool:
        """Return whether this is the control with a disaster: it trusts the rows."""
        return self._of.is_naive and self.kind is not None

    def copy_rows(self) -> None:
        """Make a backup without partial transactions, if possible while a withdrawal waits for its
        first call.
        """
        of = self._of
        for number in range(_LOOKS if self.kind is Disaster.RESTORE else 0):
            of.sleep_ms(of.random.randint(100, 1_000))
            while of.has_open_transactions:
                of.sleep_ms(of.random.randint(1, 20))
            rows = [dict(row) for row in of.system.dynamo.tables["payments"].values()]
            is_waiting = any(row.get("call_count") == _NO_CALL for row in rows)
            if is_waiting or not number:
                self._backup = of.system.dynamo.rows()
            if is_waiting and of.random.random() < 0.05:
                break

    def cancel(self, town: PaymentSystem, withdrawal: Withdrawal) -> None:
        """Cancel a withdrawal. The naive control assumes that a transfer without a recorded call
        was never made.
        """
        seen = town.find(withdrawal)
        if self.is_trusting and not seen.call_count:
            missing = TransferFound(TransferState.NOT_FOUND)
            town.withdrawals.refund(seen, missing, is_cancelled=True, now_ms=town.clock.now_ms())
        else:
            town.cancel(withdrawal)

    def strike(self, healing_town: Callable[[], PaymentSystem]) -> None:
        """Run the disaster after everything else has stopped."""
        if self.kind is Disaster.FORGET:
            self._be_away(healing_town())
        elif self.kind is Disaster.RESTORE:
            self._restore(healing_town())
            self._cancel_some(healing_town())
            # Retry only with one merchant, because another merchant has none of these numbers.
            if len({setup.merchant for setup in self._of.setups}) == 1:
                self._repeat(healing_town(), "repeats after a restore")
        elif self.kind is Disaster.LOSE:
            self._lose_requests()
            self._repeat(healing_town(), "repeats of lost requests")

    def _be_away(self, town: PaymentSystem) -> None:
        """Let all providers continue without answering until they have forgotten old transfers."""
        of, clock = self._of, self._of.system.clock
        of.let_go_on(0.8)
        of.hangs_until_ms = dict.fromkeys(of.hangs_until_ms, clock.now_ms() + 31 * _DAY_MS)
        for days in (3, 28):
            of.end_minute(town)
            of.system.pass_time(days * _DAY_MS)

    def _restore(self, town: PaymentSystem) -> None:
        of, system = self._of, self._of.system
        for _ in range(3):
            of.end_minute(town)
        of.let_go_on(0.8)
        system.pass_time(RESTORED_AFTER_MS)
        some = of.random.choice(_SOME)
        self._put_back(some or tuple(system.dynamo.tables))
        if some and not of.is_naive and self._is_told():
            # All tables are restored to the same second, as the runbook requires.
            of.seen["partial restores that were told"] += 1
            self._put_back(tuple(system.dynamo.tables))
        facts = system.ledger_state().outside
        made = [(*each.orders, *each.refunds, *each.transfers) for each in of.all_gateways]
        self.lost = set(chain(*made)) - _numbers(facts)
        for each in of.all_gateways:
            each.has_lost_orders = True
        of.seen["numbers that a restore lost"] += len(self.lost)
        paid = {line.number for line in of.all_lines()}
        of.seen["paid calls that a restore lost"] += sum(
            not row.call_count and row.transfer_no in paid for row in facts.withdrawals
        )

    def _put_back(self, names: tuple[str, ...]) -> None:
        """Restore tables, with empty caches and queues, as in another Region."""
        of, system = self._of, self._of.system
        rows = system.dynamo.rows() | {name: self._backup.get(name, {}) for name in names}
        if not self.is_trusting:
            rows["payments"] = {key: asked_first(row) for key, row in rows["payments"].items()}
        system.dynamo.hold(rows)
        system.memory.fail_over({})
        system.reserved.forget()
        of.sqs.messages.clear()
        # The answers that users got since the backup are lost with their rows.
        system.told.clear()
        # Wait until the indexes are up to date, before users return.
        system.pass_time(60_000)
        of.trace.append(f"{', '.join(names)} are restored")

    def _is_told(self) -> bool:
        """Return whether reconciliation reports that the tables do not belong together."""
        self._of.system.pass_time(MOVING_MS + 60_000)
        return any(each.rule != "I8" for each in self._of.two_looks().differences)

    def _lose_requests(self) -> None:
        """Delete the rows of all requests, or all their copies; the control loses both."""
        tables = self._of.system.dynamo.tables
        has_lost_copies = self._of.random.random() < 0.5
        for table in tables.values():
            for pk, sk in [*table]:
                is_copy = pk.startswith("request#")
                is_request = is_copy or sk.startswith("request#")
                if is_request and (self.is_trusting or is_copy is has_lost_copies):
                    del table[pk, sk]

    def _repeat(self, town: PaymentSystem, name: str) -> None:
        """Retry old requests; the control uses new keys, as if it had kept no rows of the
        requests.
        """
        for key, repeat in self._of.repeats.items():
            with suppress(RedPacketError):
                again = f"{key}, again" if self.is_trusting else key
                self._of.note_answer(key, repeat(town, again))
                self._of.seen[name] += 1

    def _cancel_some(self, town: PaymentSystem) -> None:
        for withdrawal in town.system.ledger_state().outside.withdrawals:
            if not withdrawal.is_final and self._of.random.random() < 0.8:
                with suppress(RedPacketError):
                    self.cancel(town, withdrawal)

    # The end

    def decide(self, town: PaymentSystem) -> None:
        """Post forgotten transfers that statements list as paid; let operators return the rest."""
        if self.kind is not Disaster.FORGET or self.is_trusting:
            return
        seen = self._of.seen
        for _, channel in product(range(2), town.gates_out):
            rows = self._of.system.ledger_state().outside.withdrawals
            stop_at_ms = town.clock.now_ms() + MOVING_MS
            left = settle_forgotten(channel, ports=town.transfers, stop_at_ms=stop_at_ms)
            seen["forgotten and paid"] += sum(
                not row.is_final and town.find(row).status is WithdrawalStatus.PAID for row in rows
            )
            for each in left:
                with suppress(ProviderChanged):
                    result = return_forgotten(each.subject[:ID_LENGTH], ports=town.transfers)
                    seen["forgotten and returned"] += result == "returned"
            # `settle_forgotten` skips withdrawals that are queried soon, so query them first.
            self._of.system.pass_time(LOOK_PAUSE_MS_MAX)
            self._of.end_minute(town)

    def expected(self, lines: Iterable[StatementLine], facts: OutsideFacts) -> list[StatementLine]:
        """Return the lines of all books that our rows must explain."""
        lost = self.lost - _numbers(facts)
        return [line for line in lines if line.number not in lost]

    def unexplained(self) -> set[str]:
        """Return the numbers whose movements no row explains."""
        if self.kind is None:
            return set()
        return self.lost - _numbers(self._of.system.ledger_state().outside)

    def wrong(self, differences: Iterable[Difference]) -> list[Difference]:
        """Return the differences between statements and our rows that no disaster explains."""
        numbers = {each: each.subject.partition(" ")[0] for each in differences}
        self.told |= set(numbers.values())
        unexplained = self.unexplained() if numbers else set()
        return [each for each, number in numbers.items() if number not in unexplained]

    def untold(self, facts: OutsideFacts) -> list[Difference]:
        """Return paid transfers that no row has and no comparison of statements reported."""
        paid = {line.number for line in self._of.all_lines() if line.kind is StatementKind.TRANSFER}
        return [
            Difference("I6", number, "told by a statement", "yes", "no")
            for number in sorted((self.lost & paid) - _numbers(facts) - self.told)
        ]


def _numbers(facts: OutsideFacts) -> set[str]:
    """Return all numbers under which providers know our rows."""
    numbers = {each.number for each in facts.payments}
    numbers |= {each.refund_no for each in facts.returns}
    numbers |= {each.refund_no for each in facts.refunds}
    for row in facts.withdrawals:
        numbers |= {f"{row.withdrawal_id}{attempt:02d}" for attempt in range(1, row.attempt_no + 1)}
    return numbers
