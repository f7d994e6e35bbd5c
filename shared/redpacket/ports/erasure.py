"""What the erasure of a user needs: what is theirs, and which rows say who they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.domain.packet import Packet
    from redpacket.domain.payments import Payment
    from redpacket.domain.withdrawals import Withdrawal


@dataclass(frozen=True, slots=True)
class Standing:
    """What a user's balance row says: their money, and counts that its transactions keep.

    *open_count* is of packets that they send from their balance, or have yet to pay for.
    *sent_count* is of all packets that they ever funded, *received_count* of all settled claims.
    *owed_fen* is their debt, of a row of its own.
    """

    balance_fen: int = 0
    open_count: int = 0
    sent_count: int = 0
    received_count: int = 0
    owed_fen: int = 0


@dataclass(frozen=True, slots=True)
class OutsideRows:
    """A user's payments, withdrawals and consents, and how many there must be.

    Counts are read before the lists. *begun_counts* are by day, of days that are still counted.
    *withdrawn_count* is of withdrawals whose money did not come back. *returning_count* is of
    transactions that are being given back, or wait for an operator who decides about them.
    """

    payments: Sequence[Payment]
    withdrawals: Sequence[Withdrawal]
    authorization_nos: Sequence[str]
    begun_counts: dict[str, int]
    withdrawn_count: int
    returning_count: int


class Holdings(Protocol):
    """What a user has, and what is on its way."""

    def standing(self, user_id: str) -> Standing:
        """Return what the balance row says, read strongly."""

    def count_claims(self, user_id: str) -> int:
        """Return how many shares a user ever took or won, read strongly."""

    def list_sent(self, user_id: str) -> list[Packet]:
        """Return the packets that the list of a user's packets has by now, each read strongly."""

    def list_outside(self, user_id: str) -> OutsideRows:
        """Return what the lists of a user have by now, each row read strongly."""


class Erasure(Protocol):
    """Takes from rows what says who a user is; each method may be repeated."""

    def erase_payees(self, user_id: str, now_ms: int) -> None:
        """Free the user's accounts at gateways, and end the consent that they name.

        Raises Unavailable where the user changes them at this moment.
        """

    def erase_outside(self, rows: OutsideRows) -> None:
        """Take the names of accounts from payments, withdrawals and consents that have ended."""

    def erase_audiences(self, user_id: str) -> None:
        """Take the user from the lists of all campaigns, and the host's verdict on them."""
