"""Packet ports: Protocols with a test double or a second adapter, or for other contexts."""

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
"""Pattern of a cursor in the list of sent packets: a sort key."""


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
    """Malformed key of a row in SharesTable."""

    pk: str
    sk: str


class ClaimCache(Protocol):
    """Cache that spares the ledger most users, but decides no money; tests have a double."""

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        """Return the user's permanent share number, or PACKET_GATED if the packet has rules."""

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        """Return the user's share number in a packet with rules; *terms* come from `grab`."""

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        """Admit a user for *life_ms* to open a share, unless *admitted_max* others are admitted."""

    def load(
        self,
        packet: Packet,
        shares: Sequence[Share],
        shard: int | None = None,
        *,
        is_new: bool = False,
    ) -> None:
        """Load the *shares* of a *shard*, or of a whole packet if it is unsharded or not open.

        If the packet *is_new*, its id is not public yet, so the cache will see every claim.
        """

    def has_all_claimers(self, packet_id: str, user_id: str) -> bool:
        """Return whether the cache has every claimer of a packet, so that refusals are certain."""

    def is_loaded(self, packet_id: str, shard: int) -> bool:
        """Return whether a shard is loaded, and does not just have noted users."""

    def revoke(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Remove a share number from a user, because another user owns the share."""

    def reassign(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        """Replace a share number with the user's durable number, and offer the former again."""

    def release(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Remove a share number from a user, and offer the number again."""

    def close(self, packet_id: str) -> None:
        """Answer "expired" from now on, except to owners of shares."""

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        """Return all owners of a small emptied packet in one read, or None for other packets."""


class ShardCache(ClaimCache, Protocol):
    """Claim cache that treats a shard as a packet; `packets/model/packet.shard_id` makes the ids.

    Tests have a double. Numbers are local to the shard, from 1; `note` stores negative numbers.
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
        """Load a shard or an unsharded packet; its refusals are certain only if *is_whole*."""

    def note(self, cache_id: str, numbers: Mapping[str, int]) -> None:
        """Store the numbers of users without a number here, even if the shard is not loaded."""


class LoadTurns(Protocol):
    """Locks for callers that repair the cache while others wait; tests have a double."""

    def begin_look(self, packet_id: str, life_ms: int) -> bool:
        """Return True to the one caller that should search for owners whom the cache lost."""

    def begin_load(self, packet_id: str, shard: int, life_ms: int) -> bool:
        """Return True to the one caller that should load a shard within *life_ms*."""

    def hold_load(self, packet_id: str, shard: int, life_ms: int) -> None:
        """Change the remaining time of a load's lock; 0 releases the lock."""


class Quotas(Protocol):
    """Cached quota reservations, so that users with a full quota cause no ledger requests.

    The ledger decides. Lost or leftover reservations cost no user a share, because a user with a
    FULL quota passes if the ledger has fewer claims. Tests have a double.
    """

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        """Reserve a share of this packet for a listed user; *claimed_count* is from the ledger."""

    def find_member(self, campaign_id: str, user_id: str) -> bool | None:
        """Return whether a user is on a campaign's list, or None if the list is not loaded."""

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        """Release an unused reservation."""


class PacketReader(Protocol):
    """Reader of packets and their shares' permanent outcomes, for other contexts."""

    def find_packet(self, packet_id: str) -> Packet | None:
        """Return a packet."""

    def find_packet_of_payment(self, number: str) -> Packet | None:
        """Return the packet that the payment with this number funds."""

    def list_packets(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return the existing packets of at most 100."""

    def list_sent(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[SentItem], str | None]:
        """Return a page of sent packets in a UTC year, newest first, and the next cursor."""

    def list_refs(self, refs: Sequence[ShareRef]) -> list[Share]:
        """Return the claimed or refunded shares among at most 100 references."""

    def list_shard_shares(self, packet_id: str, shard: int) -> list[Share]:
        """Return the claimed or refunded shares of one shard, by number."""

    def scan_shard_shares(self, packet_id: str, shard: int, after_no: int = 0) -> Iterator[Share]:
        """Yield a shard's claimed or refunded shares above *after_no*, one partition at a time."""

    def list_some_shares(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[Share], int | None]:
        """Return a page of shares, eventually consistent, and the start of the next one.

        They are sorted by partition, then by number. *after_no* is 0 or a returned start; a
        negative value encodes a partition. A page may be short or empty without being the last.
        """

    def list_claimers(self, packet_id: str, user_ids: Sequence[str]) -> list[Claimer]:
        """Return the existing claimer rows of these users."""

    def list_winners(self, packet_id: str, user_ids: Sequence[str]) -> list[Claimer]:
        """Return these users' claimer rows of a prize packet, possibly several rows per user."""


class PacketScheduler(PacketReader, Protocol):
    """Repository of a campaign's packets, for the lottery."""

    def mark_loaded(self, packet: Packet) -> None:
        """Remove the packet from the sweep's list of packets to load."""

    def reschedule(
        self, packet_id: str, expires_at_ms: int, snapshot_version: int, *, only_later: bool = False
    ) -> None:
        """Set an open prize packet's end, unless a newer version did or *only_later* forbids it."""


class Pages(Protocol):
    """Eventually consistent reads of packets, for other contexts."""

    def get_eventually_consistent(self, packet_id: str) -> Packet | None:
        """Return a packet."""

    def list_eventually_consistent(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return the existing packets of at most 100."""


class Funding(Protocol):
    """Funding of packets, including packets for lottery prizes."""

    def fund(
        self,
        packet: Packet,
        transfer: Transfer,
        request: Request,
        action: Action | None = None,
        spent: Allowance | None = None,
    ) -> str:
        """Debit the sender and store the packet, once per request; return the first packet id.

        Also count *spent*, and debit the budget for a campaign's packet. An UNPAID packet moves no
        money and only counts as open. Raises CampaignPaused, CampaignEnded, InsufficientFunds, and
        AllowanceMoved if *spent* is outdated.
        """

    def find_sent(self, request: Request) -> str | None:
        """Return the request's packet id if the request was executed."""


class Ledger(Protocol):
    """Accounts and entries, for payments and reconciliation."""

    def balance_fen(self, account: str) -> int:
        """Return an account's balance, or 0 for an account without entries."""

    def cancel_unpaid(self, packet: Packet, now_ms: int) -> bool:
        """Set an UNPAID packet to CANCELLED; return False if a payment was credited first."""

    def list_entries(
        self, account: str, cursor: str | None, limit: int
    ) -> tuple[list[Entry], str | None]:
        """Return a page of an account's entries, newest first, and the next cursor."""

    def list_postings(self, wanted: Sequence[Entry]) -> list[Entry]:
        """Return the stored entries at the keys of *wanted*."""

    def list_receipts(self, refs: Sequence[ShareRef]) -> list[Receipt] | None:
        """Return the receipts of shares, or None if receipts are disabled."""


class WorkLists(Protocol):
    """Work lists that lag and therefore only name candidates, for payments."""

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
        """Store a new picture of a user."""

    def find(self, picture_id: str) -> Picture | None:
        """Return a picture, or None if it never existed or was removed."""

    def owner_of(self, picture_id: str) -> str | None:
        """Return the user who uploaded a picture, or None if it never existed or was removed."""

    def list_ids(self, prefix: str) -> Iterator[str]:
        """Yield the ids of all pictures that begin with *prefix* and were not removed."""

    def keep(self, picture_id: str) -> None:
        """Store a picture permanently, because a packet uses it; a repeat changes nothing."""

    def blank(self, picture_id: str) -> None:
        """Remove a picture's content and owner; no user can use its id again."""
