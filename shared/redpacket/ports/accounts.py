"""What accounts and profiles need from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Each flow and adapter imports this page; none needs the words of all the others.
    from collections.abc import Sequence

    from redpacket.domain.approvals import Allowance
    from redpacket.domain.claim import ShareFate, ShareRef
    from redpacket.domain.ledger import Entry, Receipt, Transfer, YearSums
    from redpacket.domain.operators import Action
    from redpacket.domain.packet import Packet, PacketEnd, Person
from redpacket.ports.packets import ReceivedItem

ENTRY_CURSOR = r"(entry|claim)#([0-9]{13})#[!-~]{1,200}"
"""The form of where a book goes on: the sort key of an entry."""


@dataclass(frozen=True, slots=True)
class Request:
    """An idempotent request: who asked, and hashes of their key and of what they asked."""

    user_id: str
    key_hash: str
    body_hash: str


class Funding(Protocol):
    """Takes the money of packets from their senders, once per request."""

    def fund(
        self, packet: Packet, transfer: Transfer, request: Request, action: Action | None = None
    ) -> str:
        """Take the total from the sender and put the packet, once per request; note *action*.

        A packet of a campaign takes its total from the budget, too; one that is UNPAID takes
        nothing, and counts as open all the same. Returns the id of the packet
        that this request made, now or the first time. Raises CampaignPaused, CampaignEnded,
        InsufficientFunds, IdempotencyKeyReused, Busy.
        """

    def find_sent(self, request: Request) -> str | None:
        """Return the id of the packet that this request made before, read strongly.

        Raises IdempotencyKeyReused.
        """


class Deposits(Protocol):
    """Puts money into accounts from outside, once per request."""

    def find_deposited(self, request: Request) -> str | None:
        """Return the id of the transfer that this request made before, read strongly.

        Raises IdempotencyKeyReused.
        """

    def deposit(
        self,
        transfer: Transfer,
        request: Request,
        payee: Person | None = None,
        action: Action | None = None,
        spent: Allowance | None = None,
    ) -> None:
        """Post a deposit, once per request, and note who *payee* is to the host, and *action*.

        Raises IdempotencyKeyReused, Busy, AllowanceMoved where *spent* is not the next one.
        """


class Ledger(Protocol):
    """Accounts and entries; each method is one transaction, or a few that can be resumed."""

    def cancel_unpaid(self, packet: Packet, now_ms: int) -> bool:
        """Turn an UNPAID packet to CANCELLED, and free its place; False, without effect, else.

        A payment that comes first, or is under way, excludes it (`PaymentBook.credit`).
        """

    def settle(
        self, settlements: Sequence[tuple[ShareFate, Transfer]], now_ms: int
    ) -> set[ShareRef]:
        """Credit claims in one transaction; return those that stood in its way, if any.

        Then none is credited: they have changed, or others hold a row of theirs all the time.
        """

    def refund(self, refunds: Sequence[tuple[Sequence[ShareFate], Transfer]], now_ms: int) -> bool:
        """Give shares the fate "refunded" and their sums to their sender, in one transaction.

        Each sum is of one packet. False, without effect, if one of the shares has a fate by now.
        """

    def close(self, packet: Packet, end: PacketEnd, now_ms: int) -> bool:
        """Turn a packet to CLOSED with its final sums; False, without effect, if it was before."""

    def balance_fen(self, account: str) -> int:
        """Return an account's balance, read strongly; 0 for one that never moved."""

    def year_sums(self, user_id: str, year: int | None) -> YearSums:
        """Return what a user sent and received in a UTC year, or ever, read strongly."""

    def list_received(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[ReceivedItem], str | None]:
        """Return a page of what a user was paid, newest first, and the next page's cursor.

        Raises InvalidRequest where *cursor* is not one of the user's book.
        """

    def list_postings(self, wanted: Sequence[Entry]) -> list[Entry]:
        """Return the entries that stand where these should, read strongly."""

    def list_receipts(self, refs: Sequence[ShareRef]) -> list[Receipt] | None:
        """Return the receipts of shares, read strongly; None where none are kept."""

    def list_entries(
        self, account: str, cursor: str | None, limit: int
    ) -> tuple[list[Entry], str | None]:
        """Return a page of an account's book, newest first, and the next page's cursor.

        Raises InvalidRequest where *cursor* is not one that this method returned.
        """


@dataclass(frozen=True, slots=True)
class Profile:
    """What a user shows to others."""

    user_id: str
    nickname: str | None = None
    avatar_url: str | None = None


class Profiles(Protocol):
    """Nicknames and avatars, and the way back to the host's own ids."""

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        """Return the profiles that exist, by user id."""

    def put(self, profile: Profile) -> None:
        """Keep a profile, in place of the one before; what tokens said stays."""

    def list_unnoted(self, people: Sequence[Person]) -> list[Person]:
        """Return those, each once, of whom something else is kept than what their token says."""

    def note(self, person: Person, said_at_ms: int) -> None:
        """Keep what a token said of its user at a time; what they chose stays.

        What was said before the user was erased is not kept.
        """

    def erase(self, user_id: str, now_ms: int) -> None:
        """Forget what tokens said of a user, and what they chose, until they come back."""
