"""Packet (红包): its terms, rules, status and shards."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING
from zlib import crc32

from redpacket.campaigns.model import AmountsShown
from redpacket.packets.model.packet_id import CUT
from redpacket.packets.model.passphrase import THRESHOLD_DEFAULT
from redpacket.packets.split import Terms
from redpacket.platform.bounds import AT_MS_MAX
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.packets.model.claim import Claimer

PACKET_COUNT_MAX = 100
"""Maximum shares of a packet without a campaign."""

SHARDS_MAX = 64
"""Maximum shards per packet. A late grab may query all of them."""

SMALL_MAX = 100
"""Maximum shares of a packet for which a record page reads all shares, about 25 KB."""


class Kind(StrEnum):
    """`equal`: all amounts are the same; `lucky`: random amounts (拼手气)."""

    EQUAL = "equal"
    LUCKY = "lucky"


class Opening(StrEnum):
    """`one_step`: a grab takes a share; `two_step`: a grab (抢) admits, and an open (拆) takes."""

    ONE_STEP = "one_step"
    TWO_STEP = "two_step"


class PacketStatus(StrEnum):
    """State of a packet; EMPTIED is computed, the others are stored.

    CLOSED is final: every share is decided and every claim is settled. Users see a fully claimed
    packet as EMPTIED. An UNPAID packet has no money; it becomes OPEN when paid, or CANCELLED.
    """

    UNPAID = "unpaid"
    CANCELLED = "cancelled"
    OPEN = "open"
    EMPTIED = "emptied"
    CLOSING = "closing"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Rules:
    """Conditions for claiming a share. After the send, only *ends_at_ms* may change.

    If there are *recipients*, only they may claim. The user's text must equal a
    *passphrase* (口令), or match a long one by *passphrase_threshold* percent. *campaign_id* names
    the campaign whose quota and window apply; *starts_at_ms* and *ends_at_ms* are the sender's
    limits within this window. Shares with a *prize_id* are won, not grabbed. *chat_id* limits
    claims to that chat.
    """

    opening: Opening = Opening.ONE_STEP
    recipients: frozenset[str] = frozenset()
    passphrase: str | None = None
    passphrase_threshold: int = THRESHOLD_DEFAULT
    campaign_id: str | None = None
    prize_id: str | None = None
    starts_at_ms: int = 0
    ends_at_ms: int = AT_MS_MAX
    chat_id: str | None = None

    def window_in(self, starts_at_ms: int, ends_at_ms: int) -> tuple[int, int]:
        """Return the packet's start and end, given the start and end of its campaign."""
        return max(starts_at_ms, self.starts_at_ms), min(ends_at_ms, self.ends_at_ms)

    @property
    def is_exclusive(self) -> bool:
        """Whether only listed recipients or members of a chat may claim."""
        return bool(self.recipients) or self.chat_id is not None

    def admits(self, user: User) -> bool:
        """Return whether the user is invited, and acts in the packet's chat if it has one."""
        is_invited = not self.recipients or user.user_id in self.recipients
        return is_invited and self.chat_id in {None, user.chat_id}

    @property
    def is_plain(self) -> bool:
        """Return whether the cache may grant any user a share at once, without a rule check."""
        return replace(self, passphrase_threshold=THRESHOLD_DEFAULT, prize_id=None) == Rules()


@dataclass(frozen=True, slots=True)
class PacketEnd:
    """Final sums of a packet or shard after every share is decided and every claim settled.

    A packet with one claim or none has no *luckiest*; *last_claimed_at_ms* is 0 without claims.
    """

    claimed_count: int = 0
    claimed_fen: int = 0
    refunded_count: int = 0
    refunded_fen: int = 0
    refunded_at_ms: int | None = None
    last_claimed_at_ms: int = 0
    luckiest: Claimer | None = None


@dataclass(frozen=True, slots=True)
class Packet:
    """Packet row. After the send, only its window, state and payment time change.

    *sent_ends_at_ms* is the original end of a packet that ended early; retries of the send return
    it. *closing_step* counts finished closing steps (model/closing.py::recovery_point). In the
    shard of the next step, shares up to *closing_no* are decided. A packet funded by *payment_id*
    starts at *paid_at_ms* or later. *pay_channel* is a ProviderName, and *pay_method* a PayMethod
    (payments/model/provider.py). *has_card* means that a chat shows the packet's state.
    """

    packet_id: str
    sender: User
    kind: Kind
    rules: Rules
    greeting: str
    terms: Terms
    created_at_ms: int
    starts_at_ms: int
    expires_at_ms: int
    sent_ends_at_ms: int | None = None
    amounts_shown: AmountsShown = AmountsShown.LIVE
    cover_url: str | None = None
    has_card: bool = False
    status: PacketStatus = PacketStatus.OPEN
    closing_step: int = 0
    closing_no: int = 0
    closed_at_ms: int | None = None
    end: PacketEnd | None = None
    payment_id: str | None = None
    pay_channel: str = ""
    pay_method: str = ""
    paid_at_ms: int | None = None

    @property
    def funded_at_ms(self) -> int | None:
        """Time at which the packet received its money, or None."""
        return self.paid_at_ms if self.payment_id else self.created_at_ms

    @property
    def funded_fen(self) -> int:
        """The total once the packet is funded, otherwise 0."""
        return 0 if self.funded_at_ms is None else self.terms.total_fen

    @property
    def is_small(self) -> bool:
        """Return whether record pages read all shares until the packet is closed."""
        return self.terms.count <= SMALL_MAX and not is_sharded(self.packet_id)

    @property
    def has_luckiest(self) -> bool:
        """Return whether the packet has a luckiest claim (手气最佳), unlike equal packets."""
        return self.kind is Kind.LUCKY

    @property
    def counts_as_open(self) -> bool:
        """Return whether the packet counts toward the sender's limit on open packets."""
        return self.rules.campaign_id is None

    @property
    def follows_campaign(self) -> bool:
        """Return whether the sweep moves this packet after an edit of the campaign's window."""
        is_open = self.status is PacketStatus.OPEN
        return is_open and self.rules.campaign_id is not None and self.rules.prize_id is None

    @property
    def is_emptied(self) -> bool:
        """Return whether the packet is closed and users took every share."""
        return self.end is not None and self.end.claimed_count == self.terms.count

    def hides_amounts(self, status: PacketStatus) -> bool:
        """Return whether others' amounts are hidden in the displayed *status*."""
        is_over = status in {PacketStatus.EMPTIED, PacketStatus.CLOSED}
        return self.amounts_shown is AmountsShown.END and not is_over

    def may_be_read_by(self, viewer: User | None) -> bool:
        """Return whether *viewer* (None without a token) may see the packet."""
        is_let_in = viewer is not None and (viewer == self.sender or self.rules.admits(viewer))
        return is_let_in or not self.rules.is_exclusive


def shard_count(packet_id: str) -> int:
    """Return a packet's number of shards, 1 for nearly every packet (docs/adr/0010)."""
    _, _, count = packet_id.partition(CUT)
    return int(count or 1)


def shard_of_share(packet_id: str, share_no: int) -> int:
    """Return the shard of a share. Consecutive shares alternate, so all shards empty evenly."""
    return (share_no - 1) % shard_count(packet_id)


def shard_of_user(packet_id: str, user_id: str) -> int:
    """Return the user's home shard, where a claim starts. Any stable hash would do."""
    return crc32(user_id.encode()) % shard_count(packet_id)


def other_shards(packet_id: str, user_id: str) -> list[int]:
    """Return the shards to try after the home shard, in an order that spreads the users."""
    shards = shard_count(packet_id)
    home = shard_of_user(packet_id, user_id)
    first = crc32(user_id.encode()) // shards % (shards - 1)
    return [(home + 1 + (first + step) % (shards - 1)) % shards for step in range(shards - 1)]


def shard_id(packet_id: str, shard: int) -> str:
    """Return the id under which the cache stores a shard like a packet."""
    return f"{packet_id}.{shard}"


def share_numbers(packet: Packet, shard: int) -> range:
    """Return the share numbers of a shard."""
    return range(shard + 1, packet.terms.count + 1, shard_count(packet.packet_id))


def partition_count(packet_id: str) -> int:
    """Return how many ledger partitions a packet's shares have, a multiple of its shard count.

    A partition accepts about 1,000 write units a second; a settlement needs two (docs/adr/0017).
    """
    shards = shard_count(packet_id)
    return shards if shards == 1 else shards * max(1, min(8, SHARDS_MAX // shards))


def shard_size(packet: Packet, shard: int) -> int:
    """Return the number of shares in a shard."""
    return len(share_numbers(packet, shard))


def local_no(packet_id: str, share_no: int) -> int:
    """Return a share's number within its shard, from 1."""
    return (share_no - 1) // shard_count(packet_id) + 1


def share_no_of(packet_id: str, shard: int, number: int) -> int:
    """Return the share number for a number within a shard."""
    return (number - 1) * shard_count(packet_id) + shard + 1


def shards_for(count: int, shard_share_count: int) -> int:
    """Return the number of shards for *count* shares, about *shard_share_count* in each shard."""
    return min(-(-count // shard_share_count), SHARDS_MAX)


def is_sharded(packet_id: str) -> bool:
    """Return whether a packet has more than one shard."""
    return CUT in packet_id
