"""Ports for accounts and profiles."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.domain.approvals import Allowance
    from redpacket.domain.claim import ShareFate, ShareRef
    from redpacket.domain.ledger import Entry, Receipt, Transfer, YearSums
    from redpacket.domain.operators import Action
    from redpacket.domain.packet import Packet, PacketEnd, Person
from redpacket.ports.packets import ReceivedItem

ENTRY_CURSOR = r"(entry|claim)#([0-9]{13})#[!-~]{1,200}"
"""Form of a cursor in an account's book: the sort key of an entry."""


@dataclass(frozen=True, slots=True)
class Request:
    """Idempotent request, with hashes of its key and body."""

    user_id: str
    key_hash: str
    body_hash: str


def hash_of_key(key: str) -> str:
    """Return the hash of an idempotency key."""
    return hashlib.sha256(key.encode()).hexdigest()


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


class Deposits(Protocol):
    """Deposits of outside money into accounts."""

    def find_deposited(self, request: Request) -> str | None:
        """Return the request's transfer id, if it was executed."""

    def deposit(
        self,
        transfer: Transfer,
        request: Request,
        payee: Person | None = None,
        action: Action | None = None,
        spent: Allowance | None = None,
        *,
        is_for_campaigns: bool = False,
    ) -> None:
        """Post a deposit, once for each request, with *payee*'s host id, *action* and *spent*.

        After one that *is_for_campaigns* the account sends packets of campaigns, and nothing else.
        """


class Ledger(Protocol):
    """Accounts and entries; each method is one transaction, or a few that can be resumed."""

    def cancel_unpaid(self, packet: Packet, now_ms: int) -> bool:
        """Set an UNPAID packet to CANCELLED, unless a payment was credited first."""

    def settle(
        self, settlements: Sequence[tuple[ShareFate, Transfer]], now_ms: int
    ) -> set[ShareRef]:
        """Credit all claims in one transaction, or none and return those that prevented it."""

    def refund(self, refunds: Sequence[tuple[Sequence[ShareFate], Transfer]], now_ms: int) -> bool:
        """Mark unclaimed shares as refunded and return their sums; each sum is for one packet."""

    def close(self, packet: Packet, end: PacketEnd, now_ms: int) -> bool:
        """Set a packet to CLOSED with its final sums; return False if it was CLOSED."""

    def balance_fen(self, account: str) -> int:
        """Return an account's balance, or 0 for an account without entries."""

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


@dataclass(frozen=True, slots=True)
class Profile:
    """Public profile of a user."""

    user_id: str
    nickname: str | None = None
    avatar_url: str | None = None


class Profiles(Protocol):
    """Profiles, and the mapping to the host's user ids. Reads are eventually consistent."""

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        """Return the existing profiles by user id."""

    def put(self, profile: Profile) -> None:
        """Replace a profile; data from tokens stays."""

    def list_unnoted(self, people: Sequence[Person]) -> list[Person]:
        """Return, without duplicates, the people whose stored data differs from their token's."""

    def note(self, person: Person, said_at_ms: int) -> None:
        """Store a token's data about its user, unless they were erased at or after *said_at_ms*."""

    def erase(self, user_id: str, now_ms: int) -> None:
        """Delete a user's profile and token data; a later token restores the user."""
