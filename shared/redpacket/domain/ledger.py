"""Double entry: every transfer debits one account and credits another by the same fen."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Transfer:
    """One movement of money; *transfer_id* is deterministic, so that a repeat has no effect."""

    transfer_id: str
    kind: TransferKind
    debit: str
    credit: str
    amount_fen: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One side of a transfer in one account's book: negative where it was debited."""

    account: str
    transfer_id: str
    kind: TransferKind
    amount_fen: int
    counterparty: str
    at_ms: int


def user_account(user_id: str) -> str:
    """Name the account that holds a user's balance."""
    return f"user:{user_id}"


def escrow_account(packet_id: str) -> str:
    """Name the account that holds a packet's money until it is settled or refunded."""
    return f"escrow:{packet_id}"


def entries(transfer: Transfer) -> tuple[Entry, Entry]:
    """Return the debit and the credit entry of *transfer*; they sum to zero."""
    debit = Entry(
        transfer.debit,
        transfer.transfer_id,
        transfer.kind,
        -transfer.amount_fen,
        transfer.credit,
        transfer.at_ms,
    )
    credit = Entry(
        transfer.credit,
        transfer.transfer_id,
        transfer.kind,
        transfer.amount_fen,
        transfer.debit,
        transfer.at_ms,
    )
    return debit, credit


def may_go_below_zero(account: str) -> bool:
    """Tell whether *account* is the contra account of deposits, the only one below zero (I7)."""
    return account == DEPOSITS
