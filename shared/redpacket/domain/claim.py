"""Shares and their fates: claimed by one user, or refunded; never both, never changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from redpacket.domain.packet import Person

if TYPE_CHECKING:
    from redpacket.domain.campaign import AudienceMode

EMPTIED_KEPT_MS = 1_000
"""How long a process may remember that a packet is emptied.

A number that comes back to an emptied packet is offered after this time (lua/packet_amend.lua).
"""


class GrabStatus(StrEnum):
    """What `lua/packet_grab.lua` answers, in order of precedence.

    PACKET_GATED is the claim cache's own: the packet has rules, and they have not been checked.
    """

    ALREADY_CLAIMED = "already_claimed"
    PACKET_NOT_LOADED = "packet_not_loaded"
    PACKET_EMPTIED = "packet_emptied"
    PACKET_GATED = "packet_gated"
    PACKET_EXPIRED = "packet_expired"
    PACKET_NOT_STARTED = "packet_not_started"
    CLAIMED = "claimed"


@dataclass(frozen=True, slots=True)
class GrabOutcome:
    """The cache's answer: *share_no* with CLAIMED and ALREADY_CLAIMED, else None.

    *terms* are the packet's in their canonical form, with either of them and with PACKET_GATED, and
    with PACKET_EMPTIED if they were at hand; *is_gated* tells that the packet has rules. *part* is
    the one to load with PACKET_NOT_LOADED. Not *is_certain*: the cache may have forgotten that this
    user has a share, and only the ledger can refuse them. *is_last* with a share number: no
    other share of the packet, or of its part, is left.
    """

    status: GrabStatus
    share_no: int | None = None
    terms: str = ""
    is_gated: bool = False
    part: int = 0
    is_certain: bool = True
    is_last: bool = False


class AdmitStatus(StrEnum):
    """What `lua/packet_admit.lua` answers, in order of precedence."""

    ALREADY_CLAIMED = "already_claimed"
    PACKET_NOT_LOADED = "packet_not_loaded"
    PACKET_EMPTIED = "packet_emptied"
    PACKET_EXPIRED = "packet_expired"
    PACKET_NOT_STARTED = "packet_not_started"
    ADMITTED = "admitted"
    CROWDED = "crowded"


@dataclass(frozen=True, slots=True)
class AdmitOutcome:
    """The cache's answer to who wants to open: *number* depends on the status.

    With ADMITTED it is when the admission ends, in ms; with CROWDED when the first of the others'
    does; with ALREADY_CLAIMED the share number; else 0. *part* is as in GrabOutcome.
    """

    status: AdmitStatus
    number: int = 0
    part: int = 0


@dataclass(frozen=True, slots=True)
class Admission:
    """Step one of two: *grab_token* opens a share until *expires_at_ms*, if one is left."""

    grab_token: str
    expires_at_ms: int


NO_LIMIT = 10**9
"""More shares than all packets of a campaign hold."""


@dataclass(frozen=True, slots=True)
class Quota:
    """How many shares one user may take over all packets of a campaign, and who may at all."""

    campaign_id: str
    count_max: int
    audience_mode: AudienceMode | None = None


class QuotaStatus(StrEnum):
    """What `lua/quota_reserve.lua` answers, in order of precedence."""

    AUDIENCE_NOT_LOADED = "audience_not_loaded"
    NOT_IN_AUDIENCE = "not_in_audience"
    EXHAUSTED = "exhausted"
    FULL = "full"
    RESERVED = "reserved"


@dataclass(frozen=True, slots=True)
class ShareRef:
    """Names one share of one packet.

    *taker* is who took it, where that is at hand; what their token says travels with it, and
    *said_at_ms*, when a message first said so.
    """

    packet_id: str
    share_no: int
    taker: Person | None = field(default=None, repr=False, compare=False)
    said_at_ms: int = field(default=0, repr=False, compare=False)

    @property
    def name(self) -> str:
        """What logs call it."""
        return f"share {self.share_no} of {self.packet_id}"


class Fate(StrEnum):
    """How a share ended; written once (I3)."""

    CLAIMED = "claimed"
    REFUNDED = "refunded"


@dataclass(frozen=True, slots=True)
class ShareFate:
    """The durable fate of one share; *taker* is None for a refunded one.

    *decided_at_ms* is when it was claimed or refunded, *settled_at_ms* when the taker was
    credited. *is_last*: the cache had no other share left when it was claimed, so its settlement
    tries to close the packet. *refund_no* is the first share of the chunk of a refunded one.
    """

    packet_id: str
    share_no: int
    fate: Fate
    amount_fen: int
    decided_at_ms: int
    taker: Person | None = None
    settled_at_ms: int | None = None
    requeued_count: int = 0
    is_last: bool = False
    refund_no: int = 0

    @property
    def ref(self) -> ShareRef:
        """The share that this is the fate of."""
        return ShareRef(self.packet_id, self.share_no, self.taker)

    @property
    def name(self) -> str:
        """What logs call it: never by its taker."""
        return self.ref.name


@dataclass(frozen=True, slots=True)
class Taker:
    """What keeps a user from a second share of a packet: a note of the first one (I4)."""

    packet_id: str
    user_id: str
    share_no: int
    amount_fen: int
    claimed_at_ms: int


class RecordStatus(StrEnum):
    """What became of an attempt to make a claim durable, in order of precedence."""

    USER_HAS_SHARE = "user_has_share"
    SHARE_REFUNDED = "share_refunded"
    SHARE_TAKEN = "share_taken"
    NOT_IN_AUDIENCE = "not_in_audience"
    QUOTA_EXHAUSTED = "quota_exhausted"
    RECORDED = "recorded"


@dataclass(frozen=True, slots=True)
class Claim:
    """What a taker is told; *is_new* is False where they had the share before."""

    share: ShareFate
    is_new: bool


def taker_of(share: ShareFate) -> Taker:
    """Return the note that a claim's taker has; of a user "" where the claim names none."""
    user_id = share.taker.user_id if share.taker else ""
    return Taker(share.packet_id, user_id, share.share_no, share.amount_fen, share.decided_at_ms)


def luckiest(shares: Iterable[ShareFate]) -> ShareFate | None:
    """Return the claim of the largest amount (手气最佳); the earliest wins a tie."""
    claimed = [share for share in shares if share.fate is Fate.CLAIMED]
    return min(
        claimed,
        key=lambda share: (-share.amount_fen, share.decided_at_ms, share.share_no),
        default=None,
    )
