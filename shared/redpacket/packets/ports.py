"""Packet ports: Protocols for other contexts, or with a test double or a second adapter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from redpacket.ledger.model import Entry, Receipt, Transfer
    from redpacket.operations.model.allowances import Allowance
    from redpacket.operations.model.operators import Action
    from redpacket.packets.model.claim import (
        AdmitOutcome,
        Claimer,
        GrabOutcome,
        Quota,
        QuotaStatus,
        Share,
        ShareRef,
    )
    from redpacket.packets.model.packet import Packet
    from redpacket.packets.model.picture import Picture
    from redpacket.platform.idempotency import Request

SENT_CURSOR = r"[0-9]{13}#[!-~]{1,100}"
"""Pattern of a cursor in the list of sent packets. The cursor is a row's sort key."""


@dataclass(frozen=True, slots=True)
class SentItem:
    """Item in a user's list of sent packets."""

    packet_id: str
    total_fen: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Settled:
    """Number and sum of a packet's settled claims."""

    count: int
    fen: int


class Unreadable(NamedTuple):
    """Key of a SharesTable row that is in the work list but does not name a share."""

    pk: str
    sk: str


class ClaimCache(Protocol):
    """Cache that spares the ledger most requests but decides no claim. Tests have a double."""

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        """Grant the user one share number, or return PACKET_GATED if the packet has rules."""

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        """Grant the user one share number after the rule checks; *terms* come from `grab`."""

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        """Let a user open a share within *life_ms*, unless *admitted_max* others are admitted."""

    def load(
        self,
        packet: Packet,
        shares: Sequence[Share],
        shard: int | None = None,
        *,
        is_new: bool = False,
    ) -> None:
        """Load the *shares* of one *shard*, or of the whole packet if *shard* is None.

        *is_new* means that no user knows the packet id yet, so the cache will see every claim.
        """

    def has_all_claimers(self, packet_id: str, user_id: str) -> bool:
        """Return whether the cache would know a claim of the user, so that a refusal is certain."""

    def is_loaded(self, packet_id: str, shard: int) -> bool:
        """Return whether a shard's state is loaded; numbers stored by `note` don't count."""

    def revoke(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Remove a share number from a user, because another user owns the share."""

    def reassign(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        """Replace a user's *share_no* with *owned_no*, and offer *share_no* to others again."""

    def release(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Remove a share number from a user, and offer the number to others again."""

    def close(self, packet_id: str) -> None:
        """Refuse grabs from now on, except by users who own a share."""

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        """Return all share owners of an emptied unsharded packet, or None for any other packet."""


class ShardCache(ClaimCache, Protocol):
    """Claim cache that stores a shard as a packet whose id is `shard_id`. Tests have a double.

    Numbers count from 1 within a shard. A negative number refers to a share of another shard.
    """

    def load(
        self,
        packet: Packet,
        shares: Sequence[Share],
        shard: int | None = None,
        *,
        is_new: bool = False,
        is_whole: bool = True,
    ) -> None:
        """Load a shard or an unsharded packet; unless *is_whole*, refusals are uncertain."""

    def note(self, cache_id: str, numbers: Mapping[str, int]) -> None:
        """Store numbers for users who have none in this shard, even if the shard is not loaded."""


class LoadTurns(Protocol):
    """Locks that allow one caller at a time to repair the cache; tests have a double."""

    def begin_look(self, packet_id: str, life_ms: int) -> bool:
        """Return True to one caller per *life_ms*, who should reload owners that the cache lost."""

    def begin_load(self, packet_id: str, shard: int, life_ms: int) -> bool:
        """Return True to the one caller that should load a shard within *life_ms*."""

    def hold_load(self, packet_id: str, shard: int, life_ms: int) -> None:
        """Set the remaining time of a load lock to *life_ms*; 0 releases the lock."""


class Quotas(Protocol):
    """Cached quota reservations, so that most users at their limit cause no ledger read.

    The ledger decides. A lost or leftover reservation costs no user a share, because after FULL the
    caller reserves again with the ledger's count. Tests have a double.
    """

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        """Reserve a share if audience and quota allow it; *claimed_count* is from the ledger."""

    def find_member(self, campaign_id: str, user_id: str) -> bool | None:
        """Return whether a user is on the audience list, or None if the list is not loaded."""

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        """Release a reservation that was not used."""


class PacketReader(Protocol):
    """Reader of packets and of claimed or refunded shares, for other contexts."""

    def find_packet(self, packet_id: str) -> Packet | None:
        """Return a packet."""

    def find_packet_of_payment(self, number: str) -> Packet | None:
        """Return the packet that the payment with this number funds."""

    def list_packets(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return the packets that exist among at most 100 ids."""

    def list_sent(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[SentItem], str | None]:
        """Return a page of the packets sent in a UTC year, newest first, and the next cursor."""

    def list_refs(self, refs: Sequence[ShareRef]) -> list[Share]:
        """Return the claimed or refunded shares among at most 100 references."""

    def list_shard_shares(self, packet_id: str, shard: int) -> list[Share]:
        """Return one shard's claimed or refunded shares, sorted by number."""

    def scan_shard_shares(self, packet_id: str, shard: int, after_no: int = 0) -> Iterator[Share]:
        """Yield a shard's claimed or refunded shares above *after_no*, one partition at a time."""

    def list_some_shares(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[Share], int | None]:
        """Return a page of shares (eventually consistent), and the *after_no* of the next page.

        Shares are sorted by partition, then by number. *after_no* is 0 for the first page; a
        negative value encodes a partition. A page may be short or empty without being the last.
        """

    def list_claimers(self, packet_id: str, user_ids: Sequence[str]) -> list[Claimer]:
        """Return the claimer rows of those users who have one for the packet."""

    def list_winners(self, packet_id: str, user_ids: Sequence[str]) -> list[Claimer]:
        """Return these users' claimer rows for a prize packet; a user may have several."""


class PacketScheduler(PacketReader, Protocol):
    """Repository of a campaign's packets, for the lottery."""

    def mark_loaded(self, packet: Packet) -> None:
        """Remove the packet from the sweep's list of packets to load."""

    def reschedule(
        self, packet_id: str, expires_at_ms: int, snapshot_version: int, *, only_later: bool = False
    ) -> None:
        """Set an open prize packet's end. Newer versions win; *only_later* bars an earlier end."""


class Pages(Protocol):
    """Eventually consistent reads of packets, for other contexts."""

    def get_eventually_consistent(self, packet_id: str) -> Packet | None:
        """Return a packet."""

    def list_eventually_consistent(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return the packets that exist among at most 100 ids."""


class Funding(Protocol):
    """Funding of packets; sends from chats have their own adapter."""

    def fund(
        self,
        packet: Packet,
        transfer: Transfer,
        request: Request,
        action: Action | None = None,
        spent: Allowance | None = None,
    ) -> str:
        """Debit the sender and store the packet once per request; return the request's packet id.

        Also store *spent*, and debit the campaign's budget if the packet has a campaign. An UNPAID
        packet moves no money and only counts as open. Raises RateLimited, CampaignPaused,
        CampaignEnded, InsufficientFunds, and AllowanceMoved if *spent* is outdated.
        """

    def find_sent(self, request: Request) -> str | None:
        """Return the request's packet id if the request was executed."""


class Ledger(Protocol):
    """Accounts and entries, for payments and reconciliation."""

    def balance_fen(self, account: str) -> int:
        """Return an account's balance, or 0 for an account without entries."""

    def cancel_unpaid(self, packet: Packet, now_ms: int) -> bool:
        """Set an UNPAID packet to CANCELLED; return False if it is no longer UNPAID."""

    def list_entries(
        self, account: str, cursor: str | None, limit: int
    ) -> tuple[list[Entry], str | None]:
        """Return a page of an account's entries, newest first, and the next cursor."""

    def list_postings(self, wanted: Sequence[Entry]) -> list[Entry]:
        """Return the stored entries that have the same keys as *wanted*."""

    def list_receipts(self, refs: Sequence[ShareRef]) -> list[Receipt] | None:
        """Return the receipts of shares, or None if receipts are disabled."""


class WorkLists(Protocol):
    """Work lists for payments. The lists lag, so they only name candidates."""

    def list_unpaid(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets that were sent before *until_ms* and wait for their payment."""

    def delay(self, packet_id: str, until_ms: int) -> None:
        """Hide a packet from the sweep's lists until *until_ms*."""


class PayoutQueue(Protocol):
    """At-least-once queue of claims for the payout function; tests have a double."""

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        """Queue claims for settlement after *delay_s* seconds, at most 900."""


class Phrases(Protocol):
    """Passphrase comparison with libraries that are slow to import; the lottery also uses it."""

    def simplified(self, text: str) -> str:
        """Return *text* in simplified characters (简体)."""

    def similarity(self, entered: str, phrase: str) -> int:
        """Return the similarity of two normalized phrases, from 0 to 100, rounded down."""


class DeadLetters(Protocol):
    """Queue of messages that exceeded their receive limit; tests have a double."""

    def count(self) -> int:
        """Return the approximate number of messages."""


class Pictures(Protocol):
    """Store of uploaded pictures; unused pictures are deleted after a day.

    Tests have a double.
    """

    def put(
        self, picture_id: str, picture: Picture, owner_id: str, *, is_kept: bool = False
    ) -> None:
        """Store a user's picture, for a day unless *is_kept* is true or `keep` is called later."""

    def find(self, picture_id: str) -> Picture | None:
        """Return a picture, or None if it never existed or was removed."""

    def owner_of(self, picture_id: str) -> str | None:
        """Return the user who uploaded a picture, or None if it never existed or was removed."""

    def list_ids(self, prefix: str) -> Iterator[str]:
        """Yield the ids of all pictures that begin with *prefix* and were not removed."""

    def keep(self, picture_id: str) -> None:
        """Keep a picture permanently, because a packet uses it. A repeated call has no effect."""

    def blank(self, picture_id: str) -> None:
        """Remove a picture's content and owner; no user can use the id again."""
