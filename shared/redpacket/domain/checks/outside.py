"""Invariants of payments and withdrawals: entries against rows, and rows against the gateway."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from redpacket.domain.checks.facts import Difference
from redpacket.domain.clocks import CLOCKS_DIFFER_MS
from redpacket.domain.gateway import BillKind, BillLine
from redpacket.domain.ledger import Entry, outside_of, payment_account, withdrawal_account
from redpacket.domain.payments import (
    WATCHED_MS,
    Payment,
    PaymentRefund,
    PaymentReturn,
    PaymentStatus,
    ReturnReason,
    ReturnStatus,
    brought_in_fen,
    payment_entries,
    refund_entries,
)
from redpacket.domain.withdrawals import (
    GIVEN_UP_AFTER_MS,
    Withdrawal,
    WithdrawalStatus,
    taken_out_fen,
    withdrawal_entries,
)

OutsideRow: TypeAlias = Payment | PaymentReturn | PaymentRefund | Withdrawal


@dataclass(frozen=True, slots=True)
class BookedLine:
    """A line that a statement must have; *account* is the payment or withdrawal behind it.

    *outside_no* is empty for a refund, whose number is enough.
    """

    account: str
    kind: BillKind
    number: str
    outside_no: str
    amount_fen: int
    noted_at_ms: int


@dataclass(frozen=True, slots=True)
class OutsideFacts:
    """All rows about the outside, read strongly; *withdrawn* is by user and day."""

    payments: list[Payment]
    returns: list[PaymentReturn]
    refunds: list[PaymentRefund]
    withdrawals: list[Withdrawal]
    withdrawn: dict[tuple[str, str], tuple[int, int]]
    lines: list[BookedLine] = field(default_factory=list)

    @property
    def rows(self) -> list[OutsideRow]:
        """All rows that statement lines are written with."""
        return [*self.payments, *self.returns, *self.refunds, *self.withdrawals]

    @property
    def held_fen(self) -> int:
        """What the outside holds of the money that was in accounts, less what it brought in."""
        return taken_out_fen(self.withdrawals) - brought_in_fen(self.payments)


def expected_outside(
    payments: Iterable[Payment], refunds: Iterable[PaymentRefund], withdrawals: Iterable[Withdrawal]
) -> list[Entry]:
    """Return the entries that these rows ask for."""
    found = [entry for payment in payments for entry in payment_entries(payment)]
    found += [entry for refund in refunds for entry in refund_entries(refund)]
    return found + [entry for one in withdrawals for entry in withdrawal_entries(one)]


def check_outside_postings(facts: OutsideFacts, posted: Iterable[Entry]) -> list[Difference]:
    """I1: the entries whose other side is outside are those that its rows ask for."""
    wanted = Counter(expected_outside(facts.payments, facts.refunds, facts.withdrawals))
    found = Counter(entry for entry in posted if outside_of(entry.counterparty))
    return [
        Difference("I1", entry.counterparty, f"entry {entry.transfer_id}", count, found[entry])
        for entry in wanted | found
        if (count := wanted[entry]) != found[entry]
    ]


def check_payments(facts: OutsideFacts) -> list[Difference]:
    """I1: what a payment's row says of refunds and returns is what their rows add up to."""
    reversed_fen: dict[str, int] = defaultdict(int)
    returned_fen: dict[str, int] = defaultdict(int)
    for refund in facts.refunds:
        reversed_fen[refund.number] += refund.reversed_fen
        returned_fen[refund.number] += refund.returned_fen
    for one in facts.returns:
        if one.status is ReturnStatus.DONE:
            returned_fen[one.number] += one.amount_fen
    found = []
    for payment in facts.payments:
        number, is_credited = payment.number, payment.credited_at_ms is not None
        pairs = (
            ("reversed vs refunds", reversed_fen[number], payment.reversed_fen),
            ("returned vs transactions", returned_fen[number], payment.returned_fen),
            ("credited with a transaction", bool(payment.transaction_id), is_credited),
        )
        found += [
            Difference("I1", payment_account(number), *pair) for pair in pairs if pair[1] != pair[2]
        ]
        if payment.reversed_fen > (payment.amount_fen if is_credited else 0):
            what = "reversed at most"
            found.append(Difference("I1", number, what, payment.amount_fen, payment.reversed_fen))
    return found


def account_of(row: OutsideRow) -> str:
    """Return the account whose entries and statement lines a row explains."""
    if isinstance(row, Withdrawal):
        return withdrawal_account(row.withdrawal_id)
    return payment_account(row.number)


def asked_lines(row: OutsideRow) -> list[BookedLine]:
    """Return the statement lines that were written with this row or with its changes."""
    asked: list[tuple[BillKind, str, str, int | None]] = []
    if isinstance(row, Withdrawal):
        if row.status is WithdrawalStatus.PAID:
            asked = [(BillKind.TRANSFER, row.bill_no, row.outside_no, row.ended_at_ms)]
    elif isinstance(row, PaymentRefund):
        asked = [(BillKind.REFUND, row.refund_no, "", row.noted_at_ms)]
    elif isinstance(row, Payment):
        asked = [(BillKind.PAYMENT, row.number, row.transaction_id, row.credited_at_ms)]
    else:
        asked = [(BillKind.REFUND, row.refund_no, "", row.done_at_ms)]
        # A mismatched one may be another merchant's, whose statement we don't read.
        if row.reason is not ReturnReason.MISMATCHED:
            asked.append((BillKind.PAYMENT, row.number, row.transaction_id, row.noted_at_ms))
    return [
        BookedLine(account_of(row), kind, number, outside_no, row.amount_fen, at_ms)
        for kind, number, outside_no, at_ms in asked
        if at_ms is not None
    ]


def check_lines(asked: Iterable[BookedLine], found: Iterable[BookedLine]) -> list[Difference]:
    """I6: statements must have the lines that payments and withdrawals ask for, and no others.

    So no transaction is credited under another id, and none lacks its credit or return.
    """
    wanted, written = Counter(asked), Counter(found)
    return [
        Difference(
            "I6",
            line.account,
            f"line of {line.kind} {line.number} {line.outside_no}".rstrip(),
            wanted[line] * line.amount_fen,
            written[line] * line.amount_fen,
        )
        for line in wanted | written
        if wanted[line] != written[line]
    ]


def check_withdrawn(
    withdrawals: Iterable[Withdrawal], withdrawn: Mapping[tuple[str, str], tuple[int, int]]
) -> list[Difference]:
    """I9: what counts against the limit of a user and a day are the withdrawals not returned."""
    wanted: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for withdrawal in withdrawals:
        count = wanted[withdrawal.user_id, withdrawal.day]
        count[0] += withdrawal.held_fen > 0
        count[1] += withdrawal.held_fen
    return [
        Difference("I9", " ".join(key), "withdrawn of the day", str((*wanted[key],)), str(counted))
        for key in sorted({*wanted, *withdrawn})
        if (counted := withdrawn.get(key, (0, 0))) != (*wanted[key],)
    ]


def check_outside_in_time(
    rows: Iterable[OutsideRow], now_ms: int, bound_ms: int
) -> list[Difference]:
    """I8: what has not ended is in its work list, and is not late by more than *bound_ms*."""
    found: list[Difference] = []
    for row in rows:
        subject = account_of(row)
        if isinstance(row, PaymentRefund):
            continue
        if isinstance(row, Withdrawal):
            is_waiting = not row.is_final
            found += check_late_end(row, now_ms)
        elif isinstance(row, Payment):
            is_waiting = _is_watched(row, now_ms)
            is_late = now_ms > (by_ms := row.expires_at_ms + bound_ms)
            if row.status is PaymentStatus.PENDING and is_late:
                found.append(Difference("I8", subject, "closed by", by_ms, now_ms))
        else:
            is_waiting = not row.is_over
            is_late = now_ms > (by_ms := row.noted_at_ms + bound_ms)
            if row.status is ReturnStatus.DUE and is_late:
                found.append(Difference("I8", subject, "given back by", by_ms, now_ms))
        if is_waiting and not row.is_listed:
            found.append(Difference("I8", subject, "in its work list", "yes", "no"))
    return found


def _is_watched(payment: Payment, now_ms: int) -> bool:
    if payment.status is PaymentStatus.CLOSED and payment.closed_at_ms is not None:
        return now_ms + CLOCKS_DIFFER_MS < payment.closed_at_ms + WATCHED_MS
    return payment.status is PaymentStatus.PENDING


def check_late_end(withdrawal: Withdrawal, now_ms: int) -> list[Difference]:
    """I8: nothing is held for ever."""
    by_ms = withdrawal.created_at_ms + 2 * GIVEN_UP_AFTER_MS
    if withdrawal.is_final or now_ms <= by_ms:
        return []
    subject = withdrawal_account(withdrawal.withdrawal_id)
    return [Difference("I8", subject, "ended by", by_ms, now_ms)]


def check_outside(facts: OutsideFacts, book: Iterable[BillLine]) -> list[Difference]:
    """I6: the ledger agrees with *book*, all lines of the gateway.

    A withdrawal has at most one successful bill, of its amount, and none if it was returned. Money
    that a gateway received is credited once or refunded.
    """
    lines: Lines = defaultdict(list)
    for line in book:
        lines[line.kind, line.number].append(line)
    found = _check_paid_out(facts, lines) + _check_taken(facts, lines)
    found += _check_given_back(facts, lines)
    return found + [
        Difference("I6", number, f"{kind} that no row of ours asks for", 0, line.amount_fen)
        for (kind, number), rest in lines.items()
        for line in rest
    ]


Lines: TypeAlias = dict[tuple[BillKind, str], list[BillLine]]
"""What moved at a gateway, by our numbers; each check takes out what it has looked at."""


def _check_paid_out(facts: OutsideFacts, lines: Lines) -> list[Difference]:
    found = []
    for withdrawal in facts.withdrawals:
        attempts = range(1, withdrawal.attempt_no + 1)
        numbers = [f"{withdrawal.withdrawal_id}{attempt:02d}" for attempt in attempts]
        paid = [one for number in numbers for one in lines.pop((BillKind.TRANSFER, number), ())]
        is_paid = withdrawal.status is WithdrawalStatus.PAID
        wanted = [withdrawal.amount_fen] if is_paid else []
        subject = withdrawal_account(withdrawal.withdrawal_id)
        found += _unequal(subject, "paid by the gateway", wanted, paid)
    return found


def _check_taken(facts: OutsideFacts, lines: Lines) -> list[Difference]:
    found = []
    returned = {(one.number, one.transaction_id) for one in facts.returns}
    for payment in facts.payments:
        subject = payment_account(payment.number)
        for line in lines.pop((BillKind.PAYMENT, payment.number), ()):
            is_back = (payment.number, line.outside_no) in returned
            is_credited = payment.transaction_id == line.outside_no
            if is_credited is is_back:
                what = f"what became of transaction {line.outside_no}"
                said = "both" if is_back else "neither"
                found.append(Difference("I6", subject, what, "credited or given back", said))
    return found


def _check_given_back(facts: OutsideFacts, lines: Lines) -> list[Difference]:
    found = []
    for one in facts.returns:
        given = lines.pop((BillKind.REFUND, one.refund_no), [])
        wanted = [one.amount_fen] if one.status is ReturnStatus.DONE else []
        found += _unequal(payment_account(one.number), "given back", wanted, given)
    for refund in facts.refunds:
        given = lines.pop((BillKind.REFUND, refund.refund_no), [])
        subject = payment_account(refund.number)
        found += _unequal(subject, "refunded outside", [refund.amount_fen], given)
    return found


def _unequal(subject: str, what: str, wanted: list[int], lines: list[BillLine]) -> list[Difference]:
    amounts = [line.amount_fen for line in lines]
    return [] if amounts == wanted else [Difference("I6", subject, what, str(wanted), str(amounts))]
