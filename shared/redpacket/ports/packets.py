"""What packets, claims and payouts need from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    # Each flow and adapter imports this page; none needs the words of all the others.
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from redpacket.domain.claim import (
        AdmitOutcome,
        GrabOutcome,
        Quota,
        QuotaStatus,
        RecordStatus,
        ShareFate,
        ShareRef,
        Taker,
    )
    from redpacket.domain.packet import Packet, PacketEnd, Rules

SENT_CURSOR = r"[0-9]{13}#[!-~]{1,100}"
"""The form of where a list of sent packets goes on: a sort key."""


class ClaimCache(Protocol):
    """The cache that keeps the crowd away from the ledger; it never decides about money."""

    def grab(self, packet_id: str, user_id: str) -> GrabOutcome:
        """Hand a share number to the user, the same one whenever they ask.

        A packet with rules answers PACKET_GATED, and hands out nothing.
        """

    def take(self, packet_id: str, user_id: str, terms: str) -> GrabOutcome:
        """Hand out a share number of a packet with rules; *terms* are what `grab` answered."""

    def admit(
        self, packet_id: str, user_id: str, *, life_ms: int, admitted_max: int
    ) -> AdmitOutcome:
        """Let a user open within *life_ms*, unless *admitted_max* others may at this moment."""

    def load(self, packet: Packet, shares: Sequence[ShareFate], part: int | None = None) -> None:
        """Bring the cache up to what the ledger knows; never takes anything back.

        *shares* are those of one *part*. Without it they are the whole packet's; if that is cut,
        it must not be open for claims at this moment.
        """

    def load_sent(self, packet: Packet) -> None:
        """Load a packet whose id has not been told to anybody: the cache will see every claim."""

    def knows_takers(self, packet_id: str, user_id: str) -> bool:
        """Tell whether the cache has lost nothing of a packet: a refusal is certain then.

        False where it can't tell. What is true stays so for a second in the memory of a process.
        """

    def begin_look(self, packet_id: str, part: int, life_ms: int) -> bool:
        """Give one of many callers its turn to look for owners whom the cache may have lost."""

    def begin_load(self, packet_id: str, part: int, life_ms: int) -> bool:
        """Give one of many callers its turn to load a part, for *life_ms*; the others wait."""

    def hold_load(self, packet_id: str, part: int, life_ms: int) -> None:
        """Change how long a turn still lasts; 0 ends it."""

    def is_loaded(self, packet_id: str, part: int) -> bool:
        """Tell whether the cache has a part, and not only notes of some of its users."""

    def revoke(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Take a number from a user who turned out not to own it: it is somebody else's."""

    def reassign(self, packet_id: str, user_id: str, share_no: int, *, owned_no: int) -> None:
        """Swap a number for the one that the user owned all along, and offer it again."""

    def release(self, packet_id: str, user_id: str, share_no: int) -> None:
        """Take a number from a user who may not have it, and offer it again."""

    def close(self, packet_id: str) -> None:
        """Answer "expired" from now on, except to those who have a share."""

    def held_numbers(self, packet_id: str, owned: Mapping[str, int]) -> dict[str, int] | None:
        """Return the share numbers that the cache has of those users, of some or all of them.

        *owned* are the shares that they own. None where the cache doesn't have the packet.
        """

    def emptied_by(self, packet_id: str) -> frozenset[str] | None:
        """Return all users of a small packet that is emptied, in one read; None if it isn't."""


class PartCache(ClaimCache, Protocol):
    """A claim cache that treats a part as a packet, under the id of `domain/packet.part_id`.

    It hands out the part's own numbers, from 1 on. A number below 0 is what `note` brought.
    """

    def load_part(
        self, packet: Packet, part: int, shares: Sequence[ShareFate], *, is_whole: bool
    ) -> None:
        """Bring a part up to *shares*, which have its own numbers.

        Not *is_whole*: notes may be missing. No refusal is certain then, for as long as it lives.
        """

    def load_sent_part(self, packet: Packet, part: int) -> None:
        """Load a part of a packet whose id has not been told to anybody."""

    def note(self, cache_id: str, numbers: Mapping[str, int]) -> None:
        """Note numbers of users who have none here, also where the part isn't loaded yet."""


class Quotas(Protocol):
    """The cache's memory of who takes how much of a campaign; the ledger decides.

    It spares the ledger the users whose quota is full. A lost or leftover reservation costs no user
    a share: a user who is FULL here is let through if the ledger has fewer claims.
    """

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        """Reserve one of the user's shares for this packet; *claimed_count* is the ledger's.

        Only for users who may take part, as far as the cache knows.
        """

    def find_member(self, campaign_id: str, user_id: str) -> bool | None:
        """Tell whether a user is on a campaign's list; None where that part is not loaded."""

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        """Give a reservation back that came to nothing."""


@dataclass(frozen=True, slots=True)
class SentItem:
    """A line of what a user sent."""

    packet_id: str
    total_fen: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class ReceivedItem:
    """A line of what a user was paid: a share of a packet, and when it was claimed."""

    packet_id: str
    share_no: int
    amount_fen: int
    at_ms: int


class ClaimRecorder(Protocol):
    """Makes claims durable, each at most once, and counts them against quotas."""

    def record_claim(self, share: ShareFate, quota: Quota | None = None) -> RecordStatus:
        """Make a claim durable, unless its share or its user already has a fate here.

        With a *quota* only if the user has claimed fewer shares of the campaign, all in one move.
        """

    def count_claims(self, campaign_id: str, user_id: str) -> int:
        """Return how many shares of a campaign's packets a user owns, read strongly."""


class Packets(Protocol):
    """Packet rows and share fates: which share is whose, for ever."""

    def find_packet(self, packet_id: str) -> Packet | None:
        """Return the packet, read strongly."""

    def find_packet_of_payment(self, number: str) -> Packet | None:
        """Return the packet that waits, or waited, for the payment of a number, read strongly."""

    def find_known(self, packet_id: str) -> Packet | None:
        """Return the packet as it was at some time, sealed: what never changes of it is right."""

    def find_rules(self, packet_id: str) -> Rules | None:
        """Return the packet's rules; they never change, and may be remembered."""

    def list_packets(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return those of at most 100 packets that exist, read strongly, in no order."""

    def list_shares(self, packet_id: str) -> list[ShareFate]:
        """Return every share that has a fate, by number, read strongly."""

    def list_part_shares(self, packet_id: str, part: int) -> list[ShareFate]:
        """Return the shares of one part that have a fate, by number, read strongly."""

    def scan_part_shares(self, packet_id: str, part: int, after_no: int = 0) -> Iterator[ShareFate]:
        """Yield the shares of one part that have a fate and a number above *after_no*.

        Read strongly, page by page while they are taken; not sorted where a part has partitions.
        """

    def find_share_of(self, packet_id: str, user_id: str) -> ShareFate | None:
        """Return the share that a user durably owns, read strongly."""

    def find_taker(self, packet_id: str, user_id: str) -> Taker | None:
        """Return the note of a user's share, as it is or was a moment ago."""

    def list_refs(self, refs: Sequence[ShareRef]) -> list[ShareFate]:
        """Return the fates of at most 100 shares that have one, read strongly, in no order."""

    def mark_loaded(self, packet: Packet) -> None:
        """Take the packet from the sweep's list of packets to load."""

    def mark_requeued(self, share: ShareFate, again_at_ms: int) -> None:
        """Hide a claim that waits for settlement, or for its packet's end, until *again_at_ms*."""

    def mark_done(self, share: ShareFate) -> None:
        """Take a settled claim, the last one of its packet, from the sweep's list."""

    def begin_close(self, packet: Packet, now_ms: int) -> Packet:
        """Turn a packet that has expired to CLOSING unless it is CLOSED; return it as it is then.

        It goes to the end of the sweep's list, so that it blocks no other if it can't be closed.
        """

    def mark_step(self, packet: Packet) -> None:
        """Note on the row of a packet that is CLOSING how far it is on its way to CLOSED."""

    def put_part_end(self, packet_id: str, part: int, end: PacketEnd) -> None:
        """Write the final sums of a part; repeating it changes nothing."""

    def list_part_ends(self, packet_id: str) -> list[PacketEnd]:
        """Return the final sums of the parts that have them, read strongly."""

    def reschedule(
        self, packet_id: str, expires_at_ms: int, table_version: int, *, only_later: bool = False
    ) -> None:
        """Let an open packet of a prize expire when its campaign ends by this table.

        Any other packet stays as it is, and so does one whose end a newer table has set, and with
        *only_later* one that does not end earlier.
        """

    def list_takers(self, packet_id: str, user_ids: Sequence[str]) -> list[Taker]:
        """Return the takers' rows of those users who have one, read strongly, in no order."""

    def list_winners(self, packet_id: str, user_ids: Sequence[str]) -> list[Taker]:
        """Return the takers' rows of a prize's packet, of which a user may win several shares."""

    def list_some_shares(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[ShareFate], int | None]:
        """Return a page of fates, not read strongly, and where the next one begins.

        They come by number; those of a packet in parts by partition, and by number within it.
        *after_no* 0 is the beginning, and a number below 0 is one that this method returned. A page
        may be short, or empty, and not be the last.
        """

    def list_sent(
        self, user_id: str, year: int | None, cursor: str | None, limit: int
    ) -> tuple[list[SentItem], str | None]:
        """Return a page of what a user sent, newest first, and the next page's cursor.

        *year* is a UTC year. Raises InvalidRequest where *cursor* is not one of this list.
        """


@dataclass(frozen=True, slots=True)
class Settled:
    """How many claims of a packet are settled, and what they sum up to."""

    count: int
    fen: int


class Pages(Protocol):
    """What record pages read: never all fates of a packet, and no row strongly without need."""

    def find_seen(self, packet_id: str) -> Packet | None:
        """Return the packet as it is, or was a moment ago."""

    def list_seen(self, packet_ids: Sequence[str]) -> list[Packet]:
        """Return those of at most 100 packets that exist, as they are or were, in no order."""

    def put_final(self, packet_id: str, shares: Sequence[ShareFate]) -> None:
        """Write pages of the claims among *shares*, all fates of a part, by number."""

    def list_final(
        self, packet_id: str, after_no: int, limit: int
    ) -> tuple[list[ShareFate], int | None]:
        """Return a page of a closed packet's claims, and where the next one begins.

        In the order and with the numbers of `Packets.list_some_shares`.
        """

    def add_settled(self, packet_id: str, settled: Settled) -> None:
        """Add to the sums of a large packet, for its page alone.

        What is cut off before is missing until the packet's end, and a lost answer may add twice.
        """

    def find_settled(self, packet_id: str) -> Settled:
        """Return the sums of a large packet, perhaps as they were a moment ago."""


class PayoutQueue(Protocol):
    """Carries the names of claims to the payout function, at least once."""

    def put(self, refs: Iterable[ShareRef], *, delay_s: int = 0) -> None:
        """Queue claims for settlement, to be delivered after *delay_s* seconds, 900 at most."""


class DeadLetters(Protocol):
    """Messages that were given up after all their receives."""

    def count(self) -> int:
        """Return about how many there are."""


class Phrases(Protocol):
    """Compares what was said with what should have been."""

    def similarity(self, said: str, phrase: str) -> int:
        """Return from 0 to 100 how alike two normalised phrases are, to the eye or to the ear."""


class PacketPayments(Protocol):
    """Orders the payments of packets, for functions that reach no gateway."""

    def order(self, number: str, host_id: str) -> Mapping[str, Any]:
        """Return a payment as GET /me/payments/{payment_id} shows it to its payer.

        Raises Unavailable.
        """
