"""Double entry: every transfer debits one side and credits another by the same amount in fen.

A packet is its own escrow, and its share rows replace entries (docs/adr/0017). Payments and
withdrawals represent external money, and their rows also replace entries (docs/adr/0030). All
other accounts have a balance and entries.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

DEPOSITS = "deposits"
"""Account debited by deposits; its balance is the negative sum of all deposits (I1)."""


class TransferKind(StrEnum):
    """Kind of a transfer, which is also shown to users."""

    DEPOSIT = "deposit"
    SEND = "send"
    SETTLE = "settle"
    REFUND = "refund"
    PAYMENT = "payment"
    PAYMENT_REFUNDED = "payment_refunded"
    WITHDRAWAL = "withdrawal"
    WITHDRAWAL_RETURNED = "withdrawal_returned"
    CAMPAIGN_MONEY = "campaign_money"


@dataclass(frozen=True, slots=True)
class Transfer:
    """One movement of money; *transfer_id* is deterministic, so a second posting fails.

    Accounts sort entries by *placed_at_ms*, the time of the claim for settled claims, or by *at_ms*
    if *placed_at_ms* is 0. Only a send has a *commitment*.
    """

    transfer_id: str
    kind: TransferKind
    debit: str
    credit: str
    amount_fen: int
    at_ms: int
    placed_at_ms: int = 0
    commitment: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One side of a transfer, in one account; a debit has a negative amount."""

    account: str
    transfer_id: str
    kind: TransferKind
    amount_fen: int
    counterparty: str
    at_ms: int
    placed_at_ms: int = 0
    commitment: str = ""

    @property
    def position_ms(self) -> int:
        """Time in milliseconds by which the account sorts the entry."""
        return self.placed_at_ms or self.at_ms


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a share's money left its packet once, independent of the share's row.

    The settlement or refund writes the receipt under a key that the public functions cannot write.
    *account* received the money.
    """

    packet_id: str
    share_no: int
    account: str
    amount_fen: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class YearSums:
    """Totals that a user sent and received in a UTC year, stored in the balance row."""

    sent_fen: int = 0
    sent_count: int = 0
    received_fen: int = 0
    received_count: int = 0
    luckiest_count: int = 0


def user_account(user_id: str) -> str:
    """Return the name of the account with a user's balance."""
    return f"user:{user_id}"


def packet_account(packet_id: str) -> str:
    """Return the account name that stands for a packet in a transfer."""
    return f"{_PACKET}{packet_id}"


def packet_of(account: str) -> str | None:
    """Return the packet id if *account* stands for a packet, otherwise None."""
    return account.removeprefix(_PACKET) if account.startswith(_PACKET) else None


_PACKET = "packet:"


def payment_account(number: str) -> str:
    """Return the account name that stands for a payment in a transfer."""
    return f"{_PAYMENT}{number}"


def withdrawal_account(withdrawal_id: str) -> str:
    """Return the account name that stands for a withdrawal in a transfer."""
    return f"{_WITHDRAWAL}{withdrawal_id}"


def outside_of(account: str) -> str | None:
    """Return *account* if it stands for a payment or a withdrawal, otherwise None."""
    return account if account.startswith((_PAYMENT, _WITHDRAWAL)) else None


def is_outside(transfer: Transfer) -> bool:
    """Return whether either side of *transfer* is a payment or a withdrawal."""
    return bool(outside_of(transfer.debit) or outside_of(transfer.credit))


def has_book(account: str) -> bool:
    """Return whether *account* has a balance and entries, unlike packets and external money."""
    return packet_of(account) is None and outside_of(account) is None


def receivable_account(user_id: str) -> str:
    """Return the account for a user's debt; its negative balance is the debt."""
    return f"{_RECEIVABLE}{user_id}"


_PAYMENT = "payment:"
_WITHDRAWAL = "withdrawal:"
_RECEIVABLE = "receivable:"


def send_id(packet_id: str) -> str:
    """Return the id of the transfer that funds a packet."""
    return f"send:{packet_id}"


def settle_id(packet_id: str, share_no: int) -> str:
    """Return the id of the transfer that pays a claim."""
    return f"settle:{packet_id}:{share_no}"


def refund_id(packet_id: str, first_no: int) -> str:
    """Return the id of the transfer that refunds the chunk of shares that starts at *first_no*."""
    return f"refund:{packet_id}:{first_no}"


CASES = "case"
"""Requester of deposits with a case, in place of the operator. It is not a user id."""


def deposit_id(operator_id: str, key_hash: str, kind: TransferKind = TransferKind.DEPOSIT) -> str:
    """Return the transfer id for an operator's idempotency key or a case."""
    named = f"{operator_id}\n{key_hash}".encode()
    return f"{kind}:{hashlib.sha256(named).hexdigest()[:32]}"


def entries(transfer: Transfer) -> list[Entry]:
    """Return an entry for each side of *transfer* whose account has entries."""
    sides = (
        (transfer.debit, -transfer.amount_fen, transfer.credit),
        (transfer.credit, transfer.amount_fen, transfer.debit),
    )
    return [
        Entry(
            account=account,
            transfer_id=transfer.transfer_id,
            kind=transfer.kind,
            amount_fen=amount_fen,
            counterparty=counterparty,
            at_ms=transfer.at_ms,
            placed_at_ms=transfer.placed_at_ms,
            commitment=transfer.commitment,
        )
        for account, amount_fen, counterparty in sides
        if has_book(account)
    ]


def year_of(at_ms: int) -> int:
    """Return the UTC year of a time."""
    return datetime.fromtimestamp(at_ms / 1000, tz=UTC).year


def year_window(year: int | None) -> tuple[int, int]:
    """Return the first millisecond of a UTC year and of the next year; None spans all times."""
    if year is None:
        return 0, 10**13 - 1
    start, end = (datetime(each, 1, 1, tzinfo=UTC) for each in (year, year + 1))
    return int(start.timestamp() * 1000), int(end.timestamp() * 1000)


def may_go_below_zero(account: str) -> bool:
    """Return whether *account* may be negative (I7), as deposits and users' debts may."""
    return account == DEPOSITS or account.startswith(_RECEIVABLE)
