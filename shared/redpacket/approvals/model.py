"""Pending changes, which a second operator approves or rejects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from redpacket.campaigns.model import CampaignPlan
from redpacket.lottery.model.lottery import Prize
from redpacket.operations.model.operators import Change, campaign_subject, user_subject
from redpacket.packets.model.packet_id import PACKET_ID
from redpacket.platform.user import User

CAMPAIGN_CURSOR = "[0-9]{13}#[a-z0-9_-]{1,63}"
"""Pattern of a campaign list cursor: start time and id."""

APPROVAL_CURSOR = "[0-9]{13}#[0-9a-f]{32}"
"""Pattern of an approval list cursor: time and id."""

OPEN_CURSOR = rf"(1[01][0-9]|12[0-7]|[1-9]?[0-9])\.[0-9]{{1,13}}\.{PACKET_ID.pattern}"
"""Pattern of an open packet list cursor: shard, time and packet id."""

LIFE_MS = 72 * 3_600_000
"""Milliseconds after which a pending change expires and must be requested again."""


class ApprovalStatus(StrEnum):
    """Status of an approval; EXPIRED is computed from the time, and the others are stored."""

    AWAITING = "awaiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class ApprovalKind(StrEnum):
    """Kind of the pending change."""

    DEPOSIT = "deposit"
    CAMPAIGN = "campaign"
    PRIZE = "prize"
    STOCK = "stock"
    CAMPAIGN_MONEY = "campaign_money"
    # Kind of a row that cannot be verified: altered, forged, or written by an earlier release.
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class DepositAsked:
    """Pending deposit, with the hashes of its request."""

    payee_id: str
    amount_fen: int
    key_hash: str
    body_hash: str
    is_for_campaigns: bool = False
    case: str | None = None

    @property
    def subject(self) -> str:
        """The payee."""
        return user_subject(self.payee_id)


@dataclass(frozen=True, slots=True)
class CampaignAsked:
    """Pending edit of a campaign. The operator saw *version*, which is 0 for a new campaign."""

    plan: CampaignPlan
    budget_fen: int | None
    version: int
    amount_fen: int

    @property
    def subject(self) -> str:
        """The campaign."""
        return campaign_subject(self.plan.campaign_id)


@dataclass(frozen=True, slots=True)
class PrizeAsked:
    """Pending edit of a prize. *version* is 0 for a new prize."""

    plan: Prize
    version: int
    amount_fen: int

    @property
    def subject(self) -> str:
        """The prize's campaign."""
        return campaign_subject(self.plan.campaign_id)


@dataclass(frozen=True, slots=True)
class StockAsked:
    """Pending change of stock, with the hashes of its request."""

    campaign_id: str
    prize_id: str
    delta: int
    version: int
    key_hash: str
    body_hash: str
    amount_fen: int

    @property
    def subject(self) -> str:
        """The prize's campaign."""
        return campaign_subject(self.campaign_id)


@dataclass(frozen=True, slots=True)
class CampaignMoneyAsked:
    """Pending move of campaign money, with the hashes of its request."""

    owner_id: str
    payee_id: str
    reason: str
    key_hash: str
    body_hash: str
    amount_fen: int

    @property
    def subject(self) -> str:
        """The payee; the move counts toward the operator's limit for this payee."""
        return user_subject(self.payee_id)


PendingChange: TypeAlias = (
    DepositAsked | CampaignAsked | PrizeAsked | StockAsked | CampaignMoneyAsked
)
Keyed: TypeAlias = DepositAsked | StockAsked | CampaignMoneyAsked
"""Changes whose request has an idempotency key."""

KIND_OF: dict[type[PendingChange], ApprovalKind] = {
    DepositAsked: ApprovalKind.DEPOSIT,
    CampaignAsked: ApprovalKind.CAMPAIGN,
    PrizeAsked: ApprovalKind.PRIZE,
    StockAsked: ApprovalKind.STOCK,
    CampaignMoneyAsked: ApprovalKind.CAMPAIGN_MONEY,
}


_Paying: TypeAlias = DepositAsked | CampaignMoneyAsked


@dataclass(frozen=True, slots=True)
class Approval:
    """Change that *operator* requested, and another operator's decision.

    *change* is None if its row is unreadable. Only a verified change can be applied. *refusal* is
    the error code of an approved change that failed.
    """

    approval_id: str
    operator: User
    changes: tuple[Change, ...]
    change: PendingChange | None
    asked_at_ms: int
    status: ApprovalStatus = ApprovalStatus.AWAITING
    decider: User | None = None
    decided_at_ms: int | None = None
    is_applied: bool = False
    refusal: str | None = None
    is_verified: bool = True

    @property
    def subject(self) -> str:
        """Subject of the change, for the operator's limit."""
        return self.change.subject if self.change else "unknown"

    @property
    def amount_fen(self) -> int:
        """Money that the change moves or affects."""
        return self.change.amount_fen if self.change else 0

    @property
    def operator_id(self) -> str:
        """Pseudonym of the requester."""
        return self.operator.user_id

    @property
    def decided_by(self) -> str | None:
        """Pseudonym of the operator who decided, if any."""
        return self.decider.user_id if self.decider else None

    @property
    def kind(self) -> ApprovalKind:
        """Kind of the pending change."""
        return KIND_OF[type(self.change)] if self.change else ApprovalKind.UNREADABLE

    @property
    def payee_id(self) -> str | None:
        """User who receives the money, if any."""
        return self.change.payee_id if isinstance(self.change, _Paying) else None

    @property
    def version(self) -> int | None:
        """Version that the requester saw: 0 for a creation, None for money to a user."""
        return None if isinstance(self.change, _Paying | None) else self.change.version

    def status_at(self, now_ms: int) -> ApprovalStatus:
        """Return the status. A pending change expires after LIFE_MS, or at once if unverified."""
        is_over = not self.is_verified or now_ms >= self.asked_at_ms + LIFE_MS
        is_expired = self.status is ApprovalStatus.AWAITING and is_over
        return ApprovalStatus.EXPIRED if is_expired else self.status
