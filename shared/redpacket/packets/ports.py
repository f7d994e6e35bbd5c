"""Ports for packets, claims and payouts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from redpacket.packets.model.claim import (
        AdmitOutcome,
        Claimer,
        GrabOutcome,
        Quota,
        QuotaStatus,
        RecordStatus,
        Share,
        ShareRef,
    )
    from redpacket.packets.model.packet import Packet, PacketEnd, Rules
    from redpacket.packets.model.picture import Picture

SENT_CURSOR = r"[0-9]{13}#[!-~]{1,100}"
"""Form of a sent list cursor: a sort key."""


class ClaimCache(Protocol):
    """Cache that keeps the crowd off the ledger; it never decides about money."""

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        """Return the user's permanent share number; a packet with rules returns PACKET_GATED."""

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        """Return a share number of a packet with rules; *terms* come from `grab`."""

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        """Allow a user to open within *life_ms*, unless *admitted_max* others may now."""

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
        """Return whether the cache has lost nothing of a packet: then its refusals are certain."""

    def is_loaded(self, packet_id: str, shard: int) -> bool:
        """Return whether a shard is loaded, not only noted users."""

    def revoke(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Remove a number from a user, because another user owns it."""

    def reassign(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        """Replace a number by the one that the user owns durably, and offer the former again."""

    def release(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Remove a number from a user, and offer it again."""

    def close(self, packet_id: str) -> None:
        """Return "expired" from now on, except to owners of shares."""

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        """Return all users of a small emptied packet in one read, otherwise None."""


class ShardCache(ClaimCache, Protocol):
    """Claim cache that treats a shard as a packet, under the id of `packets/model/packet.shard_id`.

    Numbers are local to the shard, from 1. A negative number comes from `note`.
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
        """Load a shard, or an unsharded packet; only if *is_whole*, refusals are sure."""

    def note(self, cache_id: str, numbers: Mapping[str, int]) -> None:
        """Store numbers of users who have none here, even if the shard is not loaded."""


class LoadTurns(Protocol):
    """Turns of the callers that repair the cache, while others wait."""

    def begin_look(self, packet_id: str, shard: int, life_ms: int) -> bool:
        """Return True to the one caller that should search for owners lost by the cache."""

    def begin_load(self, packet_id: str, shard: int, life_ms: int) -> bool:
        """Return True to the one caller that should load a shard within *life_ms*; others wait."""

    def hold_load(self, packet_id: str, shard: int, life_ms: int) -> None:
        """Change the remaining time of a load's turn; 0 ends it."""


class Quotas(Protocol):
    """Cached quota reservations, which spare the ledger users with a full quota.

    The ledger decides: lost or leftover reservations cost no user a share, because a FULL user is
    let through if the ledger has fewer claims.
    """

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        """Reserve a share for this packet and a listed user; *claimed_count* is the ledger's."""

    def find_member(self, campaign_id: str, user_id: str) -> bool | None:
        """Return whether a user is on a campaign's list, or None if it is not loaded."""

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        """Release an unused reservation."""


@dataclass(frozen=True, slots=True)
class SentItem:
    """Row of a user's sent packets."""

    packet_id: str
    total_fen: int
    at_ms: int


class ClaimRecorder(Protocol):
    """Durable recorder of claims, each at most once, counted against quotas."""

    def record_claim(self, share: Share, quota: Quota | None = None) -> RecordStatus:
        """Record a claim if neither share nor user has an outcome and *quota* is not used up."""

    def count_claims(self, campaign_id: str, user_id: str) -> int:
        """Return the number of a user's shares in a campaign."""


class PacketReader(Protocol):
    """Reader of packets, and of the permanent outcomes of their shares."""

    def find_packet(self, packet_id: str) -> Packet | None:
        """Return a packet."""

    def list_packets(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return the existing packets of at most 100."""

    def list_refs(self, refs: Sequence[ShareRef]) -> list[Share]:
        """Return the claimed or refunded shares among at most 100."""

    def list_shard_shares(self, packet_id: str, shard: int) -> list[Share]:
        """Return the claimed or refunded shares of one shard, by number."""

    def scan_shard_shares(self, packet_id: str, shard: int, after_no: int = 0) -> Iterator[Share]:
        """Yield one shard's claimed or refunded shares above *after_no*, lazily by partition."""


class ClaimReader(PacketReader, Protocol):
    """Reader of packets for users who claim and thank."""

    def find_known(self, packet_id: str) -> Packet | None:
        """Return a possibly outdated, sealed packet; only its constants are reliable."""

    def find_rules(self, packet_id: str) -> Rules | None:
        """Return the packet's rules, which never change and may be cached."""

    def find_share_of(self, packet_id: str, user_id: str) -> Share | None:
        """Return the share that a user durably owns."""


class RecordReader(ClaimReader, Protocol):
    """Reader of record pages, and of lists of sent packets."""

    def find_claimer(self, packet_id: str, user_id: str) -> Claimer | None:
        """Return the note of a user's share, eventually consistent."""

    def list_some_shares(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[Share], int | None]:
        """Return a page of shares, eventually consistent, and the start of the next one.

        They are sorted by number, and first by partition if there are several. *after_no* is 0 or a
        returned start; a negative one encodes a partition. A page may be short or empty without
        being the last.
        """

    def list_sent(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[SentItem], str | None]:
        """Return a page of sent packets in a UTC year, newest first, and the next cursor."""


class AuditReader(PacketReader, Protocol):
    """Reader of packets with their claimers, for reconciliation."""

    def list_claimers(self, packet_id: str, user_ids: Sequence[str]) -> list[Claimer]:
        """Return the existing claimer rows of these users."""

    def list_winners(self, packet_id: str, user_ids: Sequence[str]) -> list[Claimer]:
        """Return the claimer rows of a prize packet, of which a user may win several shares."""


class PaymentReader(PacketReader, Protocol):
    """Reader of packets with the payments that fund them."""

    def find_packet_of_payment(self, number: str) -> Packet | None:
        """Return the packet of a payment's number."""


class EndRepository(PacketReader, Protocol):
    """Repository of packets for functions that settle claims and close packets."""

    def mark_done(self, share: Share) -> None:
        """Remove a packet's last settled claim from the sweep's list."""

    def put_shard_end(self, packet_id: str, shard: int, end: PacketEnd) -> None:
        """Store the final sums of a shard; a repeat changes nothing."""

    def list_shard_ends(self, packet_id: str) -> list[PacketEnd]:
        """Return the stored final sums of the shards."""

    def begin_close(self, packet: Packet, now_ms: int) -> Packet:
        """Set an expired packet to CLOSING, last in the sweep's list, or return it if CLOSED."""

    def mark_step(self, packet: Packet) -> None:
        """Store the progress of a CLOSING packet."""


class LoadRepository(PacketReader, Protocol):
    """Repository of packets for functions that load them into the cache."""

    def mark_loaded(self, packet: Packet) -> None:
        """Remove the packet from the sweep's list of packets to load."""


class SweepRepository(LoadRepository, EndRepository, Protocol):
    """Repository of packets for the sweep."""

    def mark_requeued(self, share: Share, again_at_ms: int) -> None:
        """Hide a waiting claim from the sweep until *again_at_ms*."""


class RescheduleRepository(PacketReader, Protocol):
    """Repository of prize packets, which end with their campaign."""

    def reschedule(
        self, packet_id: str, expires_at_ms: int, snapshot_version: int, *, only_later: bool = False
    ) -> None:
        """Set an open prize packet's end, unless a newer one did or *only_later* forbids it."""


@dataclass(frozen=True, slots=True)
class Settled:
    """Number and sum of a packet's settled claims."""

    count: int
    fen: int


class Pages(Protocol):
    """Eventually consistent reads for record pages, which never read all shares of a packet."""

    def get_eventually_consistent(self, packet_id: str) -> Packet | None:
        """Return a packet."""

    def list_eventually_consistent(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return the existing packets of at most 100."""

    def put_final(self, packet_id: str, shares: Sequence[Share]) -> None:
        """Write pages of the claims among *shares*, which are all shares of a shard by number."""

    def list_final(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[Share], int | None]:
        """Return a page of a closed packet's claims, as `RecordReader.list_some_shares`."""

    def add_settled(self, packet_id: str, settled: Settled) -> None:
        """Add to a large packet's displayed sums, which may be inexact until it closes."""

    def find_settled(self, packet_id: str) -> Settled:
        """Return a large packet's displayed sums."""

    def put_thanks(self, packet_id: str, share_no: int, emoji: str) -> str:
        """Store the thanks for a share unless it has some, and return the stored ones."""

    def list_thanks(self, packet_id: str, share_nos: Collection[int]) -> dict[int, str]:
        """Return the existing thanks for at most 102 shares, in one read."""


class PayoutQueue(Protocol):
    """Queue of claims for the payout function, with at-least-once delivery."""

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        """Queue claims for settlement after *delay_s* seconds, at most 900."""


class DeadLetters(Protocol):
    """Messages that exceeded their receive limit."""

    def count(self) -> int:
        """Return the approximate number of messages."""


class Phrases(Protocol):
    """Comparison of spoken or typed phrases."""

    def similarity(self, entered: str, phrase: str) -> int:
        """Return the similarity of two normalized phrases, from 0 to 100, by writing or sound."""


class PacketPayments(Protocol):
    """Payment orders of packets, for functions that reach no provider."""

    def order(self, number: str, host_id: str) -> Mapping[str, Any]:
        """Return a payment in the form of GET /me/payments/{payment_id}."""


class Pictures(Protocol):
    """Pictures that users uploaded; one that is not kept goes away after a day."""

    def put(
        self, picture_id: str, picture: Picture, owner_id: str, *, is_kept: bool = False
    ) -> None:
        """Store a new picture of a user."""

    def find(self, picture_id: str) -> Picture | None:
        """Return a picture, or None if it never existed or was removed."""

    def owner_of(self, picture_id: str) -> str | None:
        """Return who uploaded a picture, or None if it never existed or was removed."""

    def keep(self, picture_id: str) -> None:
        """Store a picture permanently, because a packet uses it; a repeat changes nothing."""

    def blank(self, picture_id: str) -> None:
        """Remove a picture's content and owner; no user can use its id again."""
