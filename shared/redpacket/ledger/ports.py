"""Port for account balances, and types for lists of entries and received shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ReceivedItem:
    """Item in a user's list of received shares, with the time of the claim."""

    packet_id: str
    share_no: int
    amount_fen: int
    at_ms: int


ENTRY_CURSOR = r"(entry|claim)#([0-9]{13})#[!-~]{1,200}"
"""Pattern of a cursor for entries: an entry's sort key."""


class Balances(Protocol):
    """Port for account balances, which the packets context implements."""

    def balance_fen(self, account: str) -> int:
        """Return an account's balance, or 0 for an account without entries."""
