"""Port for accounts, and values of their lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ReceivedItem:
    """Row of a user's received shares, with the time of the claim."""

    packet_id: str
    share_no: int
    amount_fen: int
    at_ms: int


ENTRY_CURSOR = r"(entry|claim)#([0-9]{13})#[!-~]{1,200}"
"""Form of an entries cursor: the sort key of an entry."""


class Balances(Protocol):
    """Balances of accounts. The packets context implements it."""

    def balance_fen(self, account: str) -> int:
        """Return an account's balance, or 0 for an account without entries."""
