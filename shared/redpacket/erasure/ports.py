"""Ports for the erasure of a user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.packets.model.packet import Packet
    from redpacket.payments.model.payments import Payment
    from redpacket.payments.model.withdrawals import Withdrawal


@dataclass(frozen=True, slots=True)
class Standing:
    """Balance and counters from a user's balance row.

    *open_count* includes unpaid packets. *sent_count* and *received_count* cover all funded packets
    and settled claims. *owed_fen* is the user's debt, from another row.
    """

    balance_fen: int = 0
    open_count: int = 0
    sent_count: int = 0
    received_count: int = 0
    owed_fen: int = 0


@dataclass(frozen=True, slots=True)
class OutsideRows:
    """Payments, withdrawals and consents of a user, with their expected counts.

    Counts are read before lists. *begun_counts* are by day and expire. *withdrawn_count* excludes
    withdrawals whose money was returned. *returning_count* counts transactions with a return that
    is pending or waits for an operator.
    """

    payments: Sequence[Payment]
    withdrawals: Sequence[Withdrawal]
    authorization_nos: Sequence[str]
    begun_counts: dict[str, int]
    withdrawn_count: int
    returning_count: int


class Holdings(Protocol):
    """A user's money and pending business."""

    def standing(self, user_id: str) -> Standing:
        """Return the user's balance row."""

    def count_claims(self, user_id: str) -> int:
        """Return the number of shares that a user ever claimed or won."""

    def list_sent(self, user_id: str) -> list[Packet]:
        """Return the user's packets; the list may lag, its rows do not."""

    def list_outside(self, user_id: str) -> OutsideRows:
        """Return the user's payments, withdrawals and consents; lists may lag, rows do not."""


class Erasure(Protocol):
    """Removal of personal data from rows; each method may be repeated."""

    def erase_payees(self, user_id: str, now_ms: int) -> None:
        """Free the user's payout accounts, and close their consents."""

    def erase_outside(self, rows: OutsideRows) -> None:
        """Remove account names from ended payments, withdrawals and consents."""

    def erase_audiences(self, user_id: str) -> None:
        """Remove the user from all campaigns' lists, and the host's risk decision."""
