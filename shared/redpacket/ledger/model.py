"""Double entry: every transfer debits one side and credits another by the same fen.

A packet is its own escrow: its shares are its book (docs/adr/0017). The rows of payments and
withdrawals, which stand for the outside, are theirs (docs/adr/0030). Other accounts have a balance
and entries.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

FEN_MAX = 10**12
"""Cap of any one amount (10 billion CNY): far below 2^53, where Lua and JSON lose integers."""

DEPOSITS = "deposits"
"""The operator's side of deposits: its balance is minus all that was ever put in (I1)."""


class TransferKind(StrEnum):
    """Why money moved; also the word that a user sees."""

    DEPOSIT = "deposit"
    SEND = "send"
    SETTLE = "settle"
    REFUND = "refund"
    PAYMENT = "payment"
    PAYMENT_REFUNDED = "payment_refunded"
    WITHDRAWAL = "withdrawal"
    WITHDRAWAL_RETURNED = "withdrawal_returned"


@dataclass(frozen=True, slots=True)
class Transfer:
    """One movement of money; *transfer_id* is deterministic, so a repeat has no effect.

    *placed_at_ms* is the position of its entries, *at_ms* if 0: a settled claim stands where it was
    claimed. A send keeps its *commitment*.
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
    """One side of a transfer in one account's book: negative where it was debited."""

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
        """Where the entry stands in its book."""
        return self.placed_at_ms or self.at_ms


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a share's money left its packet once, whatever happens to the share's row.

    The settlement or refund writes it to a table that the crowd's functions can't write. *account*
    received the money.
    """

    packet_id: str
    share_no: int
    account: str
    amount_fen: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class YearSums:
    """What a user sent and received in a UTC year, kept with their balance."""

    sent_fen: int = 0
    sent_count: int = 0
    received_fen: int = 0
    received_count: int = 0
    luckiest_count: int = 0


def user_account(user_id: str) -> str:
    """Name the account that holds a user's balance."""
    return f"user:{user_id}"


def packet_account(packet_id: str) -> str:
    """Name a packet as one side of a transfer."""
    return f"{_PACKET}{packet_id}"


def packet_of(account: str) -> str | None:
    """Return the packet that is this side of a transfer; None for an account with a book."""
    return account.removeprefix(_PACKET) if account.startswith(_PACKET) else None


_PACKET = "packet:"


def payment_account(number: str) -> str:
    """Name a payment as one side of a transfer."""
    return f"{_PAYMENT}{number}"


def withdrawal_account(withdrawal_id: str) -> str:
    """Name a withdrawal as one side of a transfer."""
    return f"{_WITHDRAWAL}{withdrawal_id}"


def outside_of(account: str) -> str | None:
    """Return *account* where it is a payment or a withdrawal; None for any other."""
    return account if account.startswith((_PAYMENT, _WITHDRAWAL)) else None


def has_book(account: str) -> bool:
    """Tell whether an account has a balance and entries: packets and the outside have none."""
    return packet_of(account) is None and outside_of(account) is None


def receivable_account(user_id: str) -> str:
    """Name the account of what a user owes: it is below zero by as much."""
    return f"{_RECEIVABLE}{user_id}"


_PAYMENT = "payment:"
_WITHDRAWAL = "withdrawal:"
_RECEIVABLE = "receivable:"


def send_id(packet_id: str) -> str:
    """Name the transfer that funds a packet."""
    return f"send:{packet_id}"


def settle_id(packet_id: str, share_no: int) -> str:
    """Name the transfer that pays a claim."""
    return f"settle:{packet_id}:{share_no}"


def refund_id(packet_id: str, first_no: int) -> str:
    """Name the transfer that gives a chunk of shares back; *first_no* is the chunk's first."""
    return f"refund:{packet_id}:{first_no}"


def deposit_id(operator_id: str, key_hash: str) -> str:
    """Return the id of the deposit that an operator makes under an idempotency key."""
    named = f"{operator_id}\n{key_hash}".encode()
    return f"deposit:{hashlib.sha256(named).hexdigest()[:32]}"


def entries(transfer: Transfer) -> list[Entry]:
    """Return an entry for each side of *transfer* that has a book."""
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


def may_go_below_zero(account: str) -> bool:
    """Tell whether *account* may be below zero (I7): deposits, and what users owe."""
    return account == DEPOSITS or account.startswith(_RECEIVABLE)
