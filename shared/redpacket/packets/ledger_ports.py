"""Ports for funding, settling and refunding packets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.ledger.model import Entry, Receipt, Transfer, YearSums
    from redpacket.operations.model.allowances import Allowance
    from redpacket.operations.model.operators import Action
    from redpacket.packets.model.claim import Share, ShareRef
    from redpacket.packets.model.packet import Packet, PacketEnd
from redpacket.ledger.ports import Balances, ReceivedItem
from redpacket.platform.idempotency import Request


class Funding(Protocol):
    """Funding of packets by their senders."""

    def fund(
        self,
        packet: Packet,
        transfer: Transfer,
        request: Request,
        action: Action | None = None,
        spent: Allowance | None = None,
    ) -> str:
        """Debit the sender and store the packet, once for each request; return its first packet id.

        Also count *spent*. A campaign's packet also debits the budget. An UNPAID packet only counts
        as open. Raises CampaignPaused, CampaignEnded, InsufficientFunds, and AllowanceMoved if
        *spent* is outdated.
        """

    def find_sent(self, request: Request) -> str | None:
        """Return the request's packet id, if it was executed."""


class Ledger(Balances, Protocol):
    """Accounts and entries; each method is one transaction, or a few that can be resumed."""

    def cancel_unpaid(self, packet: Packet, now_ms: int) -> bool:
        """Set an UNPAID packet to CANCELLED, unless a payment was credited first."""

    def settle(self, settlements: Sequence[tuple[Share, Transfer]], now_ms: int) -> set[ShareRef]:
        """Credit all claims in one transaction, or none and return those that prevented it."""

    def refund(self, refunds: Sequence[tuple[Sequence[Share], Transfer]], now_ms: int) -> bool:
        """Mark unclaimed shares as refunded and return their sums; each sum is for one packet."""

    def close(self, packet: Packet, end: PacketEnd, now_ms: int) -> bool:
        """Set a packet to CLOSED with its final sums; return False if it was CLOSED."""

    def year_sums(self, user_id: str, year: int | None) -> YearSums:
        """Return a user's sums for a UTC year, or for all years."""

    def list_received(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[ReceivedItem], str | None]:
        """Return a page of a user's received shares, newest first, and the next cursor."""

    def list_postings(self, wanted: Sequence[Entry]) -> list[Entry]:
        """Return the stored entries at the keys of *wanted*."""

    def list_receipts(self, refs: Sequence[ShareRef]) -> list[Receipt] | None:
        """Return the receipts of shares, or None if receipts are disabled."""

    def list_entries(
        self, account: str, cursor: str | None, limit: int
    ) -> tuple[list[Entry], str | None]:
        """Return a page of an account's entries, newest first, and the next cursor."""
