"""Four eyes: what an operator may move alone in a day, and what waits for another one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from redpacket.domain.campaign import CampaignPlan, DrawBeacon
from redpacket.domain.lottery import Prize
from redpacket.domain.operators import Change

LIFE_MS = 72 * 3_600_000
"""After that what was asked for has to be asked for again."""

WINDOW_MS = 24 * 3_600_000
"""What an operator moved longer ago does not count."""

PERIOD_MS = WINDOW_MS // 4
"""Length of the periods for which sums over all subjects are stored."""

PERIODS = 5
"""Periods that count, with the current one: they cover the window at any time."""

EVERYONE = ""
"""Owner of the sums that all operators moved; no operator has this id."""

_ROUND_MS = 300_000
"""Sums of five minutes are kept as one: a day has 288 of them, whatever the count of calls."""


class ApprovalStatus(StrEnum):
    """Where an approval stands; EXPIRED is derived, the others are stored."""

    AWAITING = "awaiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"


class ApprovalKind(StrEnum):
    """What waits."""

    DEPOSIT = "deposit"
    CAMPAIGN = "campaign"
    PRIZE = "prize"
    STOCK = "stock"


@dataclass(frozen=True, slots=True)
class DepositAsked:
    """A deposit that waits, with the hashes of its request."""

    payee_id: str
    amount_fen: int
    key_hash: str
    body_hash: str
    is_for_campaigns: bool = False


@dataclass(frozen=True, slots=True)
class CampaignAsked:
    """An edit of a campaign that waits, of the *version* that was shown; 0 is of none."""

    plan: CampaignPlan
    budget_fen: int | None
    version: int
    draw_beacon: DrawBeacon | None = None


@dataclass(frozen=True, slots=True)
class PrizeAsked:
    """A cash prize that waits; *version* 0 is of a new one."""

    plan: Prize
    version: int


@dataclass(frozen=True, slots=True)
class StockAsked:
    """Stock of cash that waits, with the hashes of its request."""

    campaign_id: str
    prize_id: str
    delta: int
    version: int
    key_hash: str
    body_hash: str


Asked: TypeAlias = DepositAsked | CampaignAsked | PrizeAsked | StockAsked

KIND_OF: dict[type[Asked], ApprovalKind] = {
    DepositAsked: ApprovalKind.DEPOSIT,
    CampaignAsked: ApprovalKind.CAMPAIGN,
    PrizeAsked: ApprovalKind.PRIZE,
    StockAsked: ApprovalKind.STOCK,
}


@dataclass(frozen=True, slots=True)
class Approval:
    """A change that *operator_id* requested, and another operator's decision.

    *refusal* is the code with which an approved change failed.
    """

    approval_id: str
    operator_id: str
    subject: str
    amount_fen: int
    changes: tuple[Change, ...]
    asked: Asked
    asked_at_ms: int
    status: ApprovalStatus = ApprovalStatus.AWAITING
    decided_by: str | None = None
    decided_at_ms: int | None = None
    is_applied: bool = False
    refusal: str | None = None

    @property
    def kind(self) -> ApprovalKind:
        """What waits."""
        return KIND_OF[type(self.asked)]

    @property
    def payee_id(self) -> str | None:
        """Who gets the money, if that is a user."""
        return self.asked.payee_id if isinstance(self.asked, DepositAsked) else None

    @property
    def version(self) -> int | None:
        """The version that was shown to who asked; a deposit has none, 0 is of something new."""
        return None if isinstance(self.asked, DepositAsked) else self.asked.version

    def status_at(self, now_ms: int) -> ApprovalStatus:
        """Return where it stands now: one that waits ends by itself."""
        if self.status is ApprovalStatus.AWAITING and now_ms >= self.asked_at_ms + LIFE_MS:
            return ApprovalStatus.EXPIRED
        return self.status


@dataclass(frozen=True, slots=True)
class ApprovalLimits:
    """Fen that move without approval in 24 hours."""

    subject_fen: int
    """By one operator to one subject."""
    operator_fen: int
    """By one operator to all subjects."""
    everyone_fen: int


@dataclass(frozen=True, slots=True)
class Count:
    """Addition to an owner's sum of a period, which must be at most *fen_max* before."""

    owner: str
    period: int
    amount_fen: int
    fen_max: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """What an operator moved alone to a subject: sums by their newest time, and a version.

    Its transaction also writes *counts*. They add up, so concurrent moves do not fail one another.
    """

    operator_id: str
    subject: str
    sums: tuple[tuple[int, int], ...] = ()
    version: int = 0
    counts: tuple[Count, ...] = ()

    def sum_fen(self, now_ms: int) -> int:
        """Return what was moved within the window."""
        return sum(fen for at_ms, fen in self.sums if at_ms > now_ms - WINDOW_MS)

    def spent(self, amount_fen: int, now_ms: int) -> Allowance:
        """Return it with *amount_fen* more; what is out of the window is forgotten."""
        sums = [(at_ms, fen) for at_ms, fen in self.sums if at_ms > now_ms - WINDOW_MS]
        if sums and now_ms // _ROUND_MS == sums[-1][0] // _ROUND_MS:
            # Of the newest time, so that none of it is forgotten early.
            amount_fen += sums.pop()[1]
        sums.append((now_ms, amount_fen))
        return Allowance(self.operator_id, self.subject, tuple(sums), self.version + 1)


class ApprovalNeededError(Exception):
    """It is above what the operator may move alone: another one must approve it."""

    def __init__(
        self, subject: str, amount_fen: int, version: int, changes: tuple[Change, ...]
    ) -> None:
        super().__init__("another operator must approve this")
        self.subject = subject
        self.amount_fen = amount_fen
        self.version = version
        self.changes = changes
