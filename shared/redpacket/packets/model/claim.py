"""Shares and claims. A share is claimed by one user or refunded, and this outcome is final."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.campaigns.model import AudienceMode

EMPTIED_KEPT_MS = 1_000
"""Milliseconds for which a process may remember that a packet is emptied. Only after this time does
lua/packet_amend.lua offer a returned number.
"""


class GrabStatus(StrEnum):
    """Results of `lua/packet_grab.lua`, in order of precedence.

    The claim cache adds two: PACKET_ALTERED if no loader wrote what the packet's key contains, and
    PACKET_GATED if the caller must check the packet's rules first.
    """

    ALREADY_CLAIMED = "already_claimed"
    PACKET_NOT_LOADED = "packet_not_loaded"
    PACKET_ALTERED = "packet_altered"
    PACKET_EMPTIED = "packet_emptied"
    PACKET_GATED = "packet_gated"
    PACKET_EXPIRED = "packet_expired"
    PACKET_NOT_STARTED = "packet_not_started"
    CLAIMED = "claimed"


@dataclass(frozen=True, slots=True)
class GrabOutcome:
    """The cache's answer to a grab; *share_no* is set for CLAIMED and ALREADY_CLAIMED.

    *terms*, in stored form, is set for both, for PACKET_GATED and, if known, for refusals.
    *shard* is the shard to load after PACKET_NOT_LOADED or PACKET_ALTERED. If *is_certain* is
    false, the cache may have lost this user's share, so only the ledger may refuse the user.
    *is_last* means that the shard has no other share left. *is_closed* means that the packet grants
    no new claims, so an interrupted claim fails.
    """

    status: GrabStatus
    share_no: int | None = None
    terms: str = ""
    is_gated: bool = False
    shard: int = 0
    is_certain: bool = True
    is_last: bool = False
    is_closed: bool = False


class AdmitStatus(StrEnum):
    """Results of `lua/packet_admit.lua`, in order of precedence."""

    ALREADY_CLAIMED = "already_claimed"
    PACKET_NOT_LOADED = "packet_not_loaded"
    PACKET_EMPTIED = "packet_emptied"
    PACKET_EXPIRED = "packet_expired"
    PACKET_NOT_STARTED = "packet_not_started"
    ADMITTED = "admitted"
    CROWDED = "crowded"


@dataclass(frozen=True, slots=True)
class AdmitOutcome:
    """The cache's answer to a request for admission; the meaning of *number* depends on *status*.

    ADMITTED: time when the admission ends. CROWDED: time when the earliest admission ends.
    ALREADY_CLAIMED: share number. Other statuses: 0. After PACKET_NOT_LOADED, load *shard*.
    """

    status: AdmitStatus
    number: int = 0
    shard: int = 0


@dataclass(frozen=True, slots=True)
class Admission:
    """Result of step one: *grab_token* opens a share, if one is left, until *expires_at_ms*."""

    grab_token: str
    expires_at_ms: int


NO_LIMIT = 10**9
"""Limit on a user's claims, attempts or wins that no user can reach."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Maximum shares per user in a campaign's packets, and the campaign's audience mode."""

    campaign_id: str
    count_max: int
    audience_mode: AudienceMode | None = None


class QuotaStatus(StrEnum):
    """Results of `lua/quota_reserve.lua`, in order of precedence."""

    AUDIENCE_NOT_LOADED = "audience_not_loaded"
    NOT_IN_AUDIENCE = "not_in_audience"
    EXHAUSTED = "exhausted"
    FULL = "full"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class ShareRef:
    """Reference to one share of one packet.

    *claimer* has the user's token data, if known. *said_at_ms* is the time of the first message.
    """

    packet_id: str
    share_no: int
    claimer: User | None = field(default=None, repr=False, compare=False)
    said_at_ms: int = field(default=0, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Name of the share in logs."""
        return f"share {self.share_no} of {self.packet_id}"


class ShareStatus(StrEnum):
    """Final status of a share; written once (I3)."""

    CLAIMED = "claimed"
    REFUNDED = "refunded"


@dataclass(frozen=True, slots=True)
class Share:
    """The durable state of one share; *claimer* is None if the share was refunded.

    *decided_at_ms* is the time of the claim or refund, and *settled_at_ms* that of the credit.
    *is_last* means that its shard was then empty, so the settlement tries to close the packet.
    *refund_no* is the first share number of the refund. *via* is the user who shared the link.
    """

    packet_id: str
    share_no: int
    status: ShareStatus
    amount_fen: int
    decided_at_ms: int
    claimer: User | None = None
    settled_at_ms: int | None = None
    requeued_count: int = 0
    is_last: bool = False
    refund_no: int = 0
    via: str | None = None

    @property
    def ref(self) -> ShareRef:
        """The reference to this share."""
        return ShareRef(self.packet_id, self.share_no, self.claimer)

    @property
    def name(self) -> str:
        """Name of the share in logs, without its claimer."""
        return self.ref.name


@dataclass(frozen=True, slots=True)
class Claimer:
    """Row that records a user's share of a packet and prevents a second share (I4)."""

    packet_id: str
    user_id: str
    share_no: int
    amount_fen: int
    claimed_at_ms: int


class RecordStatus(StrEnum):
    """Results of recording a claim, in order of precedence."""

    USER_HAS_SHARE = "user_has_share"
    SHARE_REFUNDED = "share_refunded"
    SHARE_TAKEN = "share_taken"
    NOT_IN_AUDIENCE = "not_in_audience"
    QUOTA_EXHAUSTED = "quota_exhausted"
    RECORDED = "recorded"


@dataclass(frozen=True, slots=True)
class Claim:
    """Claimed share; *is_new* is False if the user already owned the share."""

    share: Share
    is_new: bool


def claimer_of(share: Share) -> Claimer:
    """Return the claimer row for *share*; the user is "" if the share has no claimer."""
    user_id = share.claimer.user_id if share.claimer else ""
    return Claimer(share.packet_id, user_id, share.share_no, share.amount_fen, share.decided_at_ms)


def luckiest(shares: Iterable[Share]) -> Share | None:
    """Return the largest of two or more claims (手气最佳); the earliest wins a tie."""
    claims = [share for share in shares if share.status is ShareStatus.CLAIMED]
    return min(claims, key=luck_of) if len(claims) > 1 else None


def luck_of(share: Share) -> tuple[int, int, int]:
    """Return the sort key of a claim by luck; the luckiest claim has the smallest key."""
    return -share.amount_fen, share.decided_at_ms, share.share_no
