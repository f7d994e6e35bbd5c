"""Invariants of payments and withdrawals: entries match rows, and rows match the provider."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from redpacket.ledger.model import payment_account, withdrawal_account
from redpacket.payments.model.payments import (
    WATCHED_MS,
    Payment,
    PaymentRefund,
    PaymentReturn,
    PaymentStatus,
    ReturnReason,
    ReturnStatus,
)
from redpacket.payments.model.provider import StatementKind, TransferState
from redpacket.payments.model.withdrawals import (
    GIVEN_UP_AFTER_MS,
    RETURNED,
    Withdrawal,
    WithdrawalStatus,
)
from redpacket.payments.ports import QUERY_HORIZON_MS
from redpacket.platform.bounds import CLOCKS_DIFFER_MS
from redpacket.platform.difference import Difference

OutsideRow: TypeAlias = Payment | PaymentReturn | PaymentRefund | Withdrawal


@dataclass(frozen=True, slots=True)
class BookedLine:
    """Expected or stored line of *channel*'s statement; *account* is a payment's or withdrawal's.
    *outside_no* is empty for a refund, because its number is enough.
    """

    channel: str
    account: str
    kind: StatementKind
    number: str
    outside_no: str
    amount_fen: int
    noted_at_ms: int


def account_of(row: OutsideRow) -> str:
    """Return the account whose entries and statement lines a row explains."""
    if isinstance(row, Withdrawal):
        return withdrawal_account(row.withdrawal_id)
    return payment_account(row.number)


def asked_lines(row: OutsideRow, channels: Mapping[str, str]) -> list[BookedLine]:
    """Return the statement lines that this row requires. *channels* has the provider of each
    payment, because a refund's row does not name it.
    """
    lines: list[tuple[StatementKind, str, str, int | None]] = []
    if isinstance(row, Withdrawal):
        if row.status is WithdrawalStatus.PAID:
            lines = [(StatementKind.TRANSFER, row.transfer_no, row.outside_no, row.ended_at_ms)]
    elif isinstance(row, PaymentRefund):
        lines = [(StatementKind.REFUND, row.refund_no, "", row.noted_at_ms)]
    elif isinstance(row, Payment):
        lines = [(StatementKind.PAYMENT, row.number, row.transaction_id, row.credited_at_ms)]
    else:
        lines = [(StatementKind.REFUND, row.refund_no, "", row.done_at_ms)]
        # A mismatched payment may belong to another merchant, whose statement we do not read.
        if row.reason is not ReturnReason.MISMATCHED:
            lines.append((StatementKind.PAYMENT, row.number, row.transaction_id, row.noted_at_ms))
    channel = channels.get(row.number, "") if isinstance(row, PaymentRefund) else row.channel
    return [
        BookedLine(channel, account_of(row), kind, number, outside_no, row.amount_fen, at_ms)
        for kind, number, outside_no, at_ms in lines
        if at_ms is not None
    ]


def check_lines(expected: Iterable[BookedLine], actual: Iterable[BookedLine]) -> list[Difference]:
    """I6: statements have exactly the lines that payments and withdrawals require. No
    transaction may be credited under another id, and none may lack both a credit and a return.
    """
    wanted, written = Counter(expected), Counter(actual)
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


def check_asked(withdrawals: Iterable[Withdrawal]) -> list[Difference]:
    """I6: held money returns only after an answer from the provider within its horizon."""
    return [
        Difference("I6", withdrawal_account(row.withdrawal_id), "returned on an answer", 1, 0)
        for row in withdrawals
        if row.status in RETURNED and not _is_proof(row)
    ]


def _is_proof(row: Withdrawal) -> bool:
    if row.returned_on != TransferState.NOT_FOUND:
        return row.returned_on in {TransferState.FAILED, TransferState.CANCELLED}
    return (row.ended_at_ms or 0) <= row.created_at_ms + QUERY_HORIZON_MS


def held_fen(withdrawal: Withdrawal) -> int:
    """Return the amount of a withdrawal that is held or paid."""
    return 0 if withdrawal.status in RETURNED else withdrawal.amount_fen


def check_withdrawn(
    withdrawals: Iterable[Withdrawal], withdrawn: Mapping[tuple[str, str], tuple[int, int]]
) -> list[Difference]:
    """I9: a user's counter for a day has the withdrawals that were not returned."""
    wanted: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for withdrawal in withdrawals:
        count = wanted[withdrawal.user_id, withdrawal.day]
        count[0] += held_fen(withdrawal) > 0
        count[1] += held_fen(withdrawal)
    return [
        Difference("I9", " ".join(key), "withdrawn of the day", str((*wanted[key],)), str(counted))
        for key in sorted({*wanted, *withdrawn})
        if (counted := withdrawn.get(key, (0, 0))) != (*wanted[key],)
    ]


def check_outside_in_time(
    rows: Iterable[OutsideRow], now_ms: int, bound_ms: int
) -> list[Difference]:
    """I8: unfinished rows are in their work list, and due ones end within their bounds."""
    differences: list[Difference] = []
    for row in rows:
        subject = account_of(row)
        if isinstance(row, PaymentRefund):
            continue
        if isinstance(row, Withdrawal):
            is_waiting = not row.is_final
            differences += check_late_end(row, now_ms)
        elif isinstance(row, Payment):
            is_waiting = _is_watched(row, now_ms)
            is_late = now_ms > (by_ms := row.expires_at_ms + bound_ms)
            if row.status is PaymentStatus.PENDING and is_late:
                differences.append(Difference("I8", subject, "closed by", by_ms, now_ms))
        else:
            is_waiting = not row.is_over
            is_late = now_ms > (by_ms := row.noted_at_ms + bound_ms)
            if row.status is ReturnStatus.DUE and is_late:
                differences.append(Difference("I8", subject, "given back by", by_ms, now_ms))
        if is_waiting and not row.is_listed:
            differences.append(Difference("I8", subject, "in its work list", "yes", "no"))
    return differences


def _is_watched(payment: Payment, now_ms: int) -> bool:
    """Return whether a payer may still pay: a PENDING order, or a CLOSED one for a day."""
    if payment.status is PaymentStatus.CLOSED and payment.closed_at_ms is not None:
        ends_at_ms = payment.closed_at_ms + WATCHED_MS if payment.ordered_at_ms else 0
        return now_ms + CLOCKS_DIFFER_MS < ends_at_ms
    return payment.status is PaymentStatus.PENDING


def check_late_end(withdrawal: Withdrawal, now_ms: int) -> list[Difference]:
    """I8: a withdrawal ends within twice GIVEN_UP_AFTER_MS."""
    by_ms = withdrawal.created_at_ms + 2 * GIVEN_UP_AFTER_MS
    if withdrawal.is_final or now_ms <= by_ms:
        return []
    subject = withdrawal_account(withdrawal.withdrawal_id)
    return [Difference("I8", subject, "ended by", by_ms, now_ms)]
