"""Records and refusals of a simulated provider."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar


class Refused(Exception):
    """Non-2xx response: a status, a stable code, and a message for people."""

    def __init__(self, status: int, code: str, message: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message or code


class Changed(Refused):
    """Refusal of a request that reuses a number with different content."""


@dataclass(slots=True)
class Transaction:
    """Payment for an order."""

    kind: ClassVar = "payment"
    state: ClassVar = "paid"
    number: str
    outside_no: str
    amount_fen: int
    user: str
    paid_at_ms: int
    merchant: Any = None


@dataclass(slots=True)
class Refund:
    """Refund to a payer; after a failure its state is "failed"."""

    kind: ClassVar = "refund"
    number: str
    of_number: str
    transaction_id: str
    amount_fen: int
    refunded_at_ms: int
    outside_no: str
    wanted: Any
    state: str = "succeeded"


@dataclass(slots=True)
class Order:
    """Order that a user may pay once."""

    number: str
    wanted: Any
    amount_fen: int
    user: str | None
    """User who alone can pay the order; None if any user can."""
    closes_at_ms: int
    is_closed: bool = False
    transactions: list[Transaction] = field(default_factory=list)
    refunds: list[Refund] = field(default_factory=list)

    def state(self, now_ms: int) -> str:
        """Return "paid", "closed" or "unpaid"."""
        if self.transactions:
            return "paid"
        return "closed" if self.is_closed or now_ms >= self.closes_at_ms else "unpaid"


@dataclass(slots=True)
class Transfer:
    """Payout to a user."""

    kind: ClassVar = "transfer"
    number: str
    outside_no: str
    wanted: Any
    amount_fen: int
    user: str
    state: str
    created_at_ms: int
    changed_at_ms: int
    reason: str = ""


@dataclass(slots=True)
class Consent:
    """User's consent to transfers without confirmation."""

    kind: ClassVar = "authorization"
    number: str
    outside_no: str
    wanted: Any
    user: str
    created_at_ms: int
    state: str = "awaiting_confirmation"
    authorized_at_ms: int = 0
    closed_at_ms: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """Movement of money, as a day's statement lists it."""

    kind: str
    number: str
    outside_no: str
    amount_fen: int
    moved_at_ms: int
    of_number: str = ""


Made = Transaction | Refund | Transfer | Consent
