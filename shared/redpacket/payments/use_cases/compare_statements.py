"""Comparison of a day's provider statement with our rows, in both directions.

The comparison first queries the provider about unknown lines, because outside refunds may send no
callback.

A provider that locks money (`PayoutProvider.locks_money`) may book a transfer when it is requested,
at most a day before the payment. If the transfer is never paid, its money returns within
RETURN_DAYS.

The scheduled run also settles forgotten transfers (forgotten.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import (
    ProviderEvent,
    ProviderEventKind,
    StatementKind,
    StatementLine,
    statement_day,
    statement_day_start_ms,
)
from redpacket.payments.model.withdrawals import withdrawal_of_transfer
from redpacket.payments.ports import RETURN_DAYS
from redpacket.payments.use_cases.dependencies import PaymentPorts, WithdrawalPorts
from redpacket.payments.use_cases.forgotten import settle_forgotten
from redpacket.payments.use_cases.handle_callback import follow_money
from redpacket.platform.difference import Difference
from redpacket.platform.errors import InvariantViolated, RedPacketError

EDGE_MS = 600_000
"""Milliseconds around midnight within which a movement may be on either day's statement."""

DAYS_AT_ONCE = 7
"""Maximum days that one run compares for a provider."""

LATE_AFTER_MS = 38 * 3_600_000
"""Milliseconds from a day's start to 14:00 on the next day, when the day's statement is overdue."""

_DAY_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class StatementReport:
    """Result of comparing one day."""

    day: str
    line_count: int
    followed_count: int
    differences: tuple[Difference, ...]


def compare_statements(
    day: str | None = None,
    *,
    payments: PaymentPorts,
    withdrawals: WithdrawalPorts,
    stop_at_ms: int,
    may_skip: bool = False,
) -> dict[ProviderName, list[StatementReport]]:
    """Compare each provider's statements since its last compared day, or only those of *day*.

    Without *day*, yesterday's statement is compared even if it was compared before. An error with
    one provider does not stop the comparison with others: the first contradiction or bug is raised
    at the end. With *may_skip*, the day after the last compared day counts as compared even without
    a report.
    """
    reports: dict[ProviderName, list[StatementReport]] = {}
    errors: list[Exception] = []
    for channel in payments.providers:
        reports[channel] = []
        # Compare yesterday even if the row says it was compared: other roles also write the row.
        due = [day] if day else _days_due(channel, payments) or [_yesterday(payments)]
        for compared_day in (
            due if len(due) <= DAYS_AT_ONCE else [*due[: DAYS_AT_ONCE - 1], due[-1]]
        ):
            report: StatementReport | None = None
            try:
                if payments.clock.now_ms() < stop_at_ms:
                    report = compare_statement(
                        channel, compared_day, payments=payments, withdrawals=withdrawals
                    )
            except Exception as error:  # noqa: BLE001 - one provider must not stop the others
                payments.logger.failure("bill_not_read", error, channel=channel, day=compared_day)
                if isinstance(error, InvariantViolated) or not isinstance(error, RedPacketError):
                    errors.append(error)
                    _report([_of_day(channel, compared_day, str(error))], payments)
            if report:
                reports[channel].append(report)
            else:
                payments.logger.event("bill_not_compared", channel=channel, day=compared_day)
            if (report or may_skip) and compared_day == _day_after(_last_day(channel, payments), 1):
                payments.compared.note_compared(channel, compared_day)
        if day is None:
            _report_late(channel, payments)
            _report(settle_forgotten(channel, ports=withdrawals, stop_at_ms=stop_at_ms), payments)
    if errors:
        raise errors[0]
    return reports


def _last_day(channel: ProviderName, payments: PaymentPorts) -> str:
    """Return the last compared day; for a new provider, comparisons begin with yesterday.

    Ignore a row that names a day after yesterday, which cannot have been compared.
    """
    day = payments.compared.find_compared(channel)
    if day is None or day > _yesterday(payments):
        if day:
            _report([_of_day(channel, day, "a day that has not ended")], payments)
        day = statement_day(payments.clock.now_ms() - 2 * _DAY_MS)
        payments.compared.note_compared(channel, day)
    return day


def _yesterday(payments: PaymentPorts) -> str:
    return statement_day(payments.clock.now_ms() - _DAY_MS)


def _days_due(channel: ProviderName, payments: PaymentPorts) -> list[str]:
    first_ms = statement_day_start_ms(_last_day(channel, payments)) + _DAY_MS
    today_ms = statement_day_start_ms(statement_day(payments.clock.now_ms()))
    return [statement_day(at_ms) for at_ms in range(first_ms, today_ms, _DAY_MS)]


def _report_late(channel: ProviderName, payments: PaymentPorts) -> None:
    due = _days_due(channel, payments)
    if due and payments.clock.now_ms() >= statement_day_start_ms(due[0]) + LATE_AFTER_MS:
        _report([_of_day(channel, due[0], "late")], payments)


def _of_day(channel: ProviderName, day: str, actual: str) -> Difference:
    return Difference("bill", channel, f"statement of {day}", "compared", actual)


def compare_statement(
    channel: ProviderName, day: str, *, payments: PaymentPorts, withdrawals: WithdrawalPorts
) -> StatementReport | None:
    """Compare a day's statement; return None if it does not exist yet. Raises Unavailable."""
    comparison = _Comparison(channel, day, payments, withdrawals)
    statement = comparison.read_statement(day)
    if statement is None:
        return None
    unknown = comparison.unknown(statement)
    for line in unknown:
        comparison.follow(line)
    differences = comparison.missing_in_ours(unknown) if unknown else []
    differences += (
        comparison.twice(statement)
        + comparison.again(statement)
        + comparison.unpaired(statement)
        + comparison.missing_in_statement(statement)
    )
    _report(differences, payments)
    return StatementReport(day, len(statement), len(unknown), tuple(differences))


def _report(differences: Iterable[Difference], payments: PaymentPorts) -> None:
    for difference in differences:
        payments.logger.event(
            "bill_differs",
            subject=difference.subject,
            what=difference.what,
            expected=difference.expected,
            actual=difference.actual,
        )


class _Comparison:
    def __init__(
        self, channel: ProviderName, day: str, payments: PaymentPorts, withdrawals: WithdrawalPorts
    ) -> None:
        self._channel = channel
        self._day = day
        self._payments = payments
        self._withdrawals = withdrawals
        self._earlier: dict[int, list[StatementLine]] = {}
        self._unread: set[int] = set()
        self._booked: dict[int, list[StatementLine]] = {}
        payouts = withdrawals.providers.get(channel)
        self._has_locks = payouts is not None and payouts.locks_money

    def read_statement(self, day: str) -> list[StatementLine] | None:
        """Return the payments and transfers of a day, or None if either is missing."""
        halves = [
            providers[self._channel].read_statement(day)
            for providers in (self._payments.providers, self._withdrawals.providers)
            if self._channel in providers
        ]
        loaded = [half for half in halves if half is not None]
        return [line for half in loaded for line in half] if len(loaded) == len(halves) else None

    def unknown(self, statement: Iterable[StatementLine]) -> list[StatementLine]:
        """Return lines that our rows lack or have with another amount, except unpaid transfers."""
        ours = {_facts(line) for line in self._near()}
        missing = [line for line in statement if _facts(line) not in ours]
        return [line for line in missing if not self._is_unpaid(line)]

    def follow(self, line: StatementLine) -> None:
        self._booked.clear()
        notice = ProviderEvent(ProviderEventKind(line.kind), "", line.number, line.outside_no)
        try:
            follow_money(
                self._channel, notice, payments=self._payments, withdrawals=self._withdrawals
            )
        except RedPacketError as error:
            self._payments.logger.failure("bill_not_followed", error, number=line.number)

    def missing_in_ours(self, followed: Iterable[StatementLine]) -> list[Difference]:
        ours = {_name(line): line.amount_fen for line in self._near()}
        return [
            self._difference(line, line.amount_fen, ours.get(_name(line), 0))
            for line in self.unknown(followed)
        ]

    def twice(self, statement: list[StatementLine]) -> list[Difference]:
        times = Counter(_name(line) for line in statement)
        named = {_name(line): line for line in statement}
        return [
            self._difference(named[name], count * named[name].amount_fen, named[name].amount_fen)
            for name, count in times.items()
            if count > 1
        ]

    def again(self, statement: list[StatementLine]) -> list[Difference]:
        """Report lines that one of the two previous statements also contains.

        Our rows from three days match a line, so a repeated line would otherwise go unnoticed.
        """
        earlier = {_name(line) for line in (*self._before(1), *self._before(2))}
        again = {_name(line): line for line in statement if _name(line) in earlier}
        return [
            self._difference(line, 2 * line.amount_fen, line.amount_fen) for line in again.values()
        ]

    def unpaired(self, statement: list[StatementLine]) -> list[Difference]:
        """Report returns without a lock, and locks from RETURN_DAYS ago without a result."""
        locks_day = _day_after(self._day, -RETURN_DAYS)
        lines = [line for days in range(1, RETURN_DAYS + 1) for line in self._before(days)]
        there = {_facts(line) for line in (*lines, *statement)}
        alone = [
            (line, self._day if line.is_return else locks_day)
            for line in (*self._locks(), *(line for line in statement if line.is_return))
            if _facts(replace(line, is_return=not line.is_return)) not in there
        ]
        return [
            self._difference(line, line.amount_fen, 0, day)
            for line, day in alone
            if self._is_unpaid(line)
        ]

    def missing_in_statement(self, statement: list[StatementLine]) -> list[Difference]:
        """Report our lines that no statement has, including lines from the previous day.

        Our rows may have gained a line for the previous day after that day was compared.
        """
        before = self._before(1)
        earlier = [] if 1 in self._unread else self._missing(before, 1)
        return earlier + self._missing(statement, 0)

    def _missing(self, statement: list[StatementLine], days: int) -> list[Difference]:
        """Report our lines from *days* ago that neither *statement* nor earlier statements have."""
        day = _day_after(self._day, -days)
        begin_ms = statement_day_start_ms(day)
        listed = {_name(line) for line in statement}
        near_midnight = listed | {_name(line) for line in self._before(days + 1)}
        locked = near_midnight | {_name(line) for line in self._before(days + 2)}

        def names(line: StatementLine) -> set[tuple[str, ...]]:
            if self._has_locks and line.kind is StatementKind.TRANSFER:
                return locked
            return near_midnight if line.moved_at_ms < begin_ms + EDGE_MS else listed

        return [
            self._difference(line, 0, line.amount_fen, day)
            for line in self._ours(-days - 1, -days)
            if begin_ms - EDGE_MS <= line.moved_at_ms < begin_ms + _DAY_MS - EDGE_MS
            and _name(line) not in names(line)
        ]

    def _locks(self) -> list[StatementLine]:
        """Return the locks from RETURN_DAYS ago for which our rows have no payment."""
        if not self._has_locks:
            return []
        paid = {_facts(line) for line in self._ours(-2, -1, 0)}
        return [
            line
            for line in self._before(RETURN_DAYS)
            if line.kind is StatementKind.TRANSFER
            and not line.is_return
            and _facts(line) not in paid
        ]

    def _is_unpaid(self, line: StatementLine) -> bool:
        """Return whether a line locks or returns the money of a transfer that is not paid."""
        if not self._has_locks or line.kind is not StatementKind.TRANSFER:
            return False
        row = self._withdrawals.repository.find(withdrawal_of_transfer(line.number))
        return (
            row is not None
            and (row.channel, row.amount_fen) == (self._channel, line.amount_fen)
            and row.has_unpaid(line.number, is_over=line.is_return)
        )

    def _before(self, days: int) -> list[StatementLine]:
        """Return the lines of an earlier statement."""
        if days not in self._earlier:
            day = _day_after(self._day, -days)
            statement = None
            try:
                statement = self.read_statement(day)
            except RedPacketError as error:
                # The provider may have deleted the earlier statement; compare this day anyway.
                self._payments.logger.failure(
                    "bill_not_read", error, channel=self._channel, day=day
                )
            if statement is None:
                self._unread.add(days)
            self._earlier[days] = statement or []
        return self._earlier[days]

    def _near(self) -> list[StatementLine]:
        """Return our lines for the day and for both adjacent days, because clocks differ."""
        return self._ours(-1, 0, 1)

    def _ours(self, *offsets: int) -> list[StatementLine]:
        for offset in offsets:
            if offset not in self._booked:
                self._booked[offset] = self._payments.repository.list_lines(
                    self._channel, _day_after(self._day, offset)
                )
        return [line for offset in offsets for line in self._booked[offset]]

    def _difference(
        self, line: StatementLine, theirs_fen: int, ours_fen: int, day: str = ""
    ) -> Difference:
        subject = f"{line.number} {line.outside_no}".rstrip()
        kind = f"returned {line.kind}" if line.is_return else line.kind
        return Difference("bill", subject, f"{kind} of {day or self._day}", theirs_fen, ours_fen)


def _name(line: StatementLine) -> tuple[str, ...]:
    """Return the identity of a line; one payment number may have several transactions."""
    if line.kind is StatementKind.PAYMENT:
        return line.kind, line.number, line.outside_no
    return line.kind, line.number, str(line.is_return)


def _facts(line: StatementLine) -> tuple[tuple[str, ...], int]:
    return _name(line), line.amount_fen


def _day_after(day: str, count: int) -> str:
    return (date.fromisoformat(day) + timedelta(days=count)).isoformat()
