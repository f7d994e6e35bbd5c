"""Checks of accounts and their entries: I1, I7."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from redpacket.ledger.model import FEN_MAX, Entry, may_go_below_zero
from redpacket.platform.difference import Difference


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
