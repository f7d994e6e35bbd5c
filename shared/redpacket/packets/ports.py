"""Ports of packets: Protocols with a test double or a second adapter, or for other contexts."""

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
"""Form of a sent list cursor: a sort key."""


@dataclass(frozen=True, slots=True)
class SentItem:
    """Row of a user's sent packets."""

    packet_id: str
    total_fen: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Settled:
    """Number and sum of a packet's settled claims."""

    count: int
    fen: int


class Unreadable(NamedTuple):
    """Malformed key of a row of SharesTable."""

    pk: str
    sk: str


class ClaimCache(Protocol):
    """Cache that keeps most users off the ledger and decides no money; it has a test double."""

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        """Return the user's permanent share number; a packet with rules returns PACKET_GATED."""

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        """Return a share number of a packet with rules; *terms* come from `grab`."""

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        """Admit a user to open within *life_ms*, unless *admitted_max* others are admitted."""

    def load(
        self,
        packet: Packet,
        shares: Sequence[Share],
        shard: int | None = None,
        *,
        is_new: bool = False,
    ) -> None:
        """Add *shares* of a *shard*, or of a whole packet if that is unsharded or not open.

        The id of a packet that *is_new* is not public yet, so the cache sees every claim.
        """

    def has_all_claimers(self, packet_id: str, user_id: str) -> bool:
        """Return whether the cache lost no data of a packet; then its refusals are certain."""

    def is_loaded(self, packet_id: str, shard: int) -> bool:
        """Return whether a shard is loaded, beyond noted users."""

    def revoke(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Remove a number from a user, because another user owns it."""

    def reassign(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        """Replace a number with the user's durable one, and offer the former again."""

    def release(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Remove a number from a user, and offer it again."""

    def close(self, packet_id: str) -> None:
        """Return "expired" from now on, except to owners of shares."""

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        """Return all users of a small emptied packet in one read, otherwise None."""


class ShardCache(ClaimCache, Protocol):
    """Claim cache that treats a shard as a packet, under the id of `packets/model/packet.shard_id`.

    It has a test double. Numbers are local to the shard, from 1; a negative one comes from `note`.
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
        """Load a shard, or an unsharded packet; refusals are certain only if *is_whole*."""

    def note(self, cache_id: str, numbers: Mapping[str, int]) -> None:
        """Store numbers of users who have none here, even if the shard is not loaded."""


class LoadTurns(Protocol):
    """Locks for callers that repair the cache while others wait; it has a test double."""

    def begin_look(self, packet_id: str, life_ms: int) -> bool:
        """Return True to the one caller that should search for owners lost by the cache."""

    def begin_load(self, packet_id: str, shard: int, life_ms: int) -> bool:
        """Return True to the one caller that should load a shard within *life_ms*; others wait."""

    def hold_load(self, packet_id: str, shard: int, life_ms: int) -> None:
        """Change the remaining time of a load's lock; 0 ends it."""


class Quotas(Protocol):
    """Cached quota reservations, which spare the ledger requests by users with a full quota.

    The ledger decides: lost or leftover reservations cost no user a share, because a FULL user
    passes if the ledger has fewer claims. It has a test double.
    """

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        """Reserve a share for this packet and a listed user; *claimed_count* is the ledger's."""

    def find_member(self, campaign_id: str, user_id: str) -> bool | None:
        """Return whether a user is on a campaign's list, or None if it is not loaded."""

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        """Release an unused reservation."""


class PacketReader(Protocol):
    """Reader of packets and of the permanent outcomes of their shares, for other contexts."""

    def find_packet(self, packet_id: str) -> Packet | None:
        """Return a packet."""

    def find_packet_of_payment(self, number: str) -> Packet | None:
        """Return the packet of a payment's number."""

    def list_packets(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return the existing packets of at most 100."""

    def list_sent(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[SentItem], str | None]:
        """Return a page of sent packets in a UTC year, newest first, and the next cursor."""

    def list_refs(self, refs: Sequence[ShareRef]) -> list[Share]:
        """Return the claimed or refunded shares among at most 100."""

    def list_shard_shares(self, packet_id: str, shard: int) -> list[Share]:
        """Return the claimed or refunded shares of one shard, by number."""

    def scan_shard_shares(self, packet_id: str, shard: int, after_no: int = 0) -> Iterator[Share]:
        """Yield one shard's claimed or refunded shares above *after_no*, lazily by partition."""

    def list_some_shares(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[Share], int | None]:
        """Return a page of shares, eventually consistent, and the start of the next one.

        They are sorted by number, and first by partition if there are several. *after_no* is 0 or a
        returned start; a negative one encodes a partition. A page may be short or empty without
        being the last.
        """

    def list_claimers(self, packet_id: str, user_ids: Sequence[str]) -> list[Claimer]:
        """Return the existing claimer rows of these users."""

    def list_winners(self, packet_id: str, user_ids: Sequence[str]) -> list[Claimer]:
        """Return the claimer rows of a prize packet, of which a user may win several shares."""


class PacketScheduler(PacketReader, Protocol):
    """Repository of a campaign's packets, for the lottery."""

    def mark_loaded(self, packet: Packet) -> None:
        """Remove the packet from the sweep's list of packets to load."""

    def reschedule(
        self, packet_id: str, expires_at_ms: int, snapshot_version: int, *, only_later: bool = False
    ) -> None:
        """Set an open prize packet's end, unless a newer one did or *only_later* forbids it."""


class Pages(Protocol):
    """Eventually consistent reads of packets, for other contexts."""

    def get_eventually_consistent(self, packet_id: str) -> Packet | None:
        """Return a packet."""

    def list_eventually_consistent(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return the existing packets of at most 100."""


class Funding(Protocol):
    """Funding of packets, also of the lottery's prizes."""

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


class Ledger(Protocol):
    """Accounts and entries, for payments and the reconciliation."""

    def balance_fen(self, account: str) -> int:
        """Return an account's balance, or 0 for an account without entries."""

    def cancel_unpaid(self, packet: Packet, now_ms: int) -> bool:
        """Set an UNPAID packet to CANCELLED, unless a payment was credited first."""

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
        """Return ids of packets sent before *until_ms* that wait for their payment."""

    def delay(self, packet_id: str, until_ms: int) -> None:
        """Hide a packet of the sweep's lists until *until_ms*."""


class PayoutQueue(Protocol):
    """Queue of claims for the payout function, at least once; it has a test double."""

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        """Queue claims for settlement after *delay_s* seconds, at most 900."""


class Phrases(Protocol):
    """Comparison of passphrases by libraries that are slow to import; the lottery also uses it."""

    def simplified(self, text: str) -> str:
        """Return *text* in simplified characters (简体)."""

    def similarity(self, entered: str, phrase: str) -> int:
        """Return the similarity of two normalized phrases, from 0 to 100, rounded down."""


class DeadLetters(Protocol):
    """Messages that exceeded their receive limit; it has a test double."""

    def count(self) -> int:
        """Return the approximate number of messages."""


class Pictures(Protocol):
    """Pictures that users uploaded; unused ones are deleted after a day.

    It has a test double.
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
