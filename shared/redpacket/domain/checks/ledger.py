"""Checks of accounts and their entries: I1, I7."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from redpacket.domain.checks.facts import Difference
from redpacket.domain.ledger import DEPOSITS, FEN_MAX, Entry, has_book, may_go_below_zero


def check_conservation(balances_fen: Mapping[str, int], held_fen: int) -> list[Difference]:
    """I1: wallets + *held_fen* = deposits; packets, payments, and withdrawals hold *held_fen*."""
    held = held_fen + sum(fen for account, fen in balances_fen.items() if account != DEPOSITS)
    deposited = -balances_fen.get(DEPOSITS, 0)
    if held == deposited:
        return []
    return [Difference("I1", "all accounts", "wallets + packets vs deposits", deposited, held)]


def check_entries(
    balances_fen: Mapping[str, int], ledger_entries: Iterable[Entry]
) -> list[Difference]:
    """I1: every balance is the sum of its entries, and transfers sum to zero.

    postings.py checks the packet side of a transfer, outside.py that of payments and withdrawals.
    """
    by_account: dict[str, int] = defaultdict(int)
    by_transfer: dict[str, int] = defaultdict(int)
    for entry in ledger_entries:
        by_account[entry.account] += entry.amount_fen
        if not has_book(entry.counterparty):
            continue
        by_transfer[entry.transfer_id] += entry.amount_fen
    unbalanced = [
        Difference("I1", transfer_id, "entries of a transfer", 0, total)
        for transfer_id, total in by_transfer.items()
        if total
    ]
    drifted = [
        Difference("I1", account, "balance vs entries", by_account[account], balance)
        for account in by_account.keys() | balances_fen.keys()
        if (balance := balances_fen.get(account, 0)) != by_account[account]
    ]
    return unbalanced + drifted


def check_bounds(
    balances_fen: Mapping[str, int], ledger_entries: Iterable[Entry]
) -> list[Difference]:
    """I7: no account below zero, every amount an integer in 1..cap."""
    below = [
        Difference("I7", account, "balance at least", 0, balance)
        for account, balance in balances_fen.items()
        if balance < 0 and not may_go_below_zero(account)
    ]
    odd = [
        Difference("I7", entry.transfer_id, "amount within", f"1..{FEN_MAX}", entry.amount_fen)
        for entry in ledger_entries
        if not 1 <= abs(entry.amount_fen) <= FEN_MAX
    ]
    return below + odd
