"""Ports for accounts and profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from redpacket.platform.idempotency import Request

if TYPE_CHECKING:
    from redpacket.ledger.model import Transfer
    from redpacket.operations.model.allowances import Allowance
    from redpacket.operations.model.operators import Action
    from redpacket.platform.user import User


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
    """Balances of accounts."""

    def balance_fen(self, account: str) -> int:
        """Return an account's balance, or 0 for an account without entries."""


class Deposits(Protocol):
    """Deposits of outside money into accounts."""

    def find_deposited(self, request: Request) -> str | None:
        """Return the request's transfer id, if it was executed."""

    def deposit(
        self,
        transfer: Transfer,
        request: Request,
        payee: User | None = None,
        action: Action | None = None,
        spent: Allowance | None = None,
        *,
        is_for_campaigns: bool = False,
    ) -> None:
        """Post a deposit, once for each request, with *payee*'s host id, *action* and *spent*.

        After one that *is_for_campaigns*, the account only sends campaigns' packets.
        """
