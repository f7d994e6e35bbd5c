"""Incoming payments: each of our numbers is credited at most once.

A payment's row acts as a ledger account, like a packet's row (docs/adr/0030).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum

from redpacket.ledger.model import (
    Transfer,
    TransferKind,
    payment_account,
    receivable_account,
    user_account,
)
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import (
    NO_MERCHANT,
    ExternalAccount,
    Merchant,
    PaymentOrder,
    PayMethod,
    RefundOrder,
    Transaction,
)

PAYMENT_LIFE_MS = 15 * 60_000
"""Milliseconds until an unpaid order is closed, and its unpaid packet is canceled."""

WATCHED_MS = 24 * 3_600_000
"""Milliseconds for which closed payments are polled, because callbacks may be lost."""

ORDER_PAUSE_MS_MAX = 5_000
"""Maximum pause in milliseconds before an order is retried; the first pauses are shorter."""

_FIRST_LOOK_MS = 10_000
_LOOK_PAUSE_MS_MAX = 3_600_000


class PaymentStatus(StrEnum):
    """Status of a payment; a CLOSED payment may still be paid late. REFUNDED is not stored."""

    PENDING = "pending"
    PAID = "paid"
    CLOSED = "closed"
    REFUNDED = "refunded"


@dataclass(frozen=True, slots=True)
class Payment:
    """Payment intent and its result; *number* is ours and identifies the payment at the provider.

    *ordered_at_ms* is the time of the last order call, or 0 if no call can have been made. *prompt*
    is JSON for the payer's client. *reversed_fen* left the ledger through outside refunds.
    *is_ended* means that the sender ended the packet early, so that no order follows.
    """

    number: str
    user_id: str
    amount_fen: int
    channel: ProviderName
    method: PayMethod
    payer: ExternalAccount | None
    created_at_ms: int
    expires_at_ms: int
    packet_id: str | None = None
    merchant: Merchant = NO_MERCHANT
    ordered_at_ms: int = 0
    status: PaymentStatus = PaymentStatus.PENDING
    prompt: str = field(default="", repr=False)
    closed_at_ms: int | None = None
    transaction_id: str = ""
    credited_at_ms: int | None = None
    reversed_fen: int = 0
    returned_fen: int = 0
    refunded_at_ms: int | None = None
    is_ended: bool = False
    is_listed: bool = field(default=True, compare=False)
    """Whether the sweep's work list contains the payment."""

    @property
    def order(self) -> PaymentOrder:
        """Return the order for the provider, identical on each retry."""
        return PaymentOrder(
            self.number, self.amount_fen, self.method, self.payer, self.expires_at_ms
        )

    @property
    def shown_status(self) -> PaymentStatus:
        """Return the status that the payer sees."""
        is_back = self.returned_fen and self.credited_at_ms is None
        if is_back or self.reversed_fen >= self.amount_fen:
            return PaymentStatus.REFUNDED
        return self.status

    @property
    def refunded_fen(self) -> int:
        """Return the amount refunded to the payer."""
        return self.reversed_fen + self.returned_fen


class ReturnReason(StrEnum):
    """Reasons not to credit a transaction.

    LATE is a legacy value: earlier versions returned payments of closed orders.
    """

    SECOND = "second"
    LATE = "late"
    REFUNDED = "refunded"
    MISMATCHED = "mismatched"


class ReturnStatus(StrEnum):
    """Status of uncredited money.

    LISTED money waits for an operator, REFUNDED money was fully refunded outside, and an operator
    has settled RESOLVED money.
    """

    DUE = "due"
    DONE = "done"
    LISTED = "listed"
    REFUNDED = "refunded"
    RESOLVED = "resolved"


OPEN_RETURNS = frozenset({ReturnStatus.DUE, ReturnStatus.LISTED})


@dataclass(frozen=True, slots=True)
class PaymentReturn:
    """Transaction that is refunded, or left to an operator, instead of credited.

    *refunded_fen* is the amount refunded outside.
    """

    number: str
    transaction_id: str
    amount_fen: int
    reason: ReturnReason
    channel: ProviderName
    noted_at_ms: int
    status: ReturnStatus = ReturnStatus.DUE
    refunded_fen: int = 0
    merchant: Merchant = NO_MERCHANT
    done_at_ms: int | None = None
    reference: str = ""
    """Deposit or outside transfer that resolved the return."""
    is_listed: bool = field(default=True, compare=False)
    """Whether the sweep's work list or the operators' list contains the return."""

    @property
    def is_over(self) -> bool:
        """Return whether no refund is outstanding."""
        return self.status not in OPEN_RETURNS

    @property
    def left_fen(self) -> int:
        """Return the amount that is left to refund."""
        return 0 if self.is_over else self.amount_fen - self.refunded_fen

    @property
    def refund_no(self) -> str:
        """Return our refund number, derived from the transaction."""
        return refund_no_of(self.number, self.transaction_id)

    @property
    def order(self) -> RefundOrder:
        """Return the refund order for the provider."""
        return RefundOrder(
            self.refund_no, self.number, self.transaction_id, self.amount_fen, self.amount_fen
        )


class ResolvedBy(StrEnum):
    """Resolution of a listed return; OUTSIDE moved no money in the ledger."""

    DEPOSIT = "deposit"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True)
class Resolution:
    """Operator's decision on a listed return; *reference* names the transfer if *by* is OUTSIDE."""

    number: str
    transaction_id: str
    by: ResolvedBy
    reference: str
    reason: str


@dataclass(frozen=True, slots=True)
class PaymentRefund:
    """Refund made outside this system.

    For a credited payment, the user's account pays *wallet_fen*, and *owed_fen* becomes a debt.
    *returned_fen* is the amount that was refunded for an uncredited transaction.
    """

    number: str
    refund_no: str
    user_id: str
    wallet_fen: int
    owed_fen: int
    noted_at_ms: int
    returned_fen: int = 0
    transaction_id: str = ""

    @property
    def reversed_fen(self) -> int:
        """Return the amount that left the ledger."""
        return self.wallet_fen + self.owed_fen

    @property
    def amount_fen(self) -> int:
        """Return the amount refunded to the payer."""
        return self.reversed_fen + self.returned_fen


def refund_no_of(number: str, transaction_id: str) -> str:
    """Return our refund number for a transaction."""
    return f"rf{hashlib.sha256(f'{number} {transaction_id}'.encode()).hexdigest()[:30]}"


def mismatches(
    payment: Payment, transaction: Transaction, merchant: Merchant, currency: str
) -> list[str]:
    """Return the names of the fields in which a transaction differs from its order.

    Anyone may pay a native order, so the payer is compared only for jsapi.
    """
    pairs: list[tuple[str, object, object]] = [
        ("number", payment.number, transaction.number),
        ("amount_fen", payment.amount_fen, transaction.amount_fen),
        ("currency", currency, transaction.currency),
        ("app_id", merchant.app_id, transaction.merchant.app_id),
        ("mch_id", merchant.mch_id, transaction.merchant.mch_id),
    ]
    # After an erasure, the row names no payer, and late money goes to the pseudonym's account.
    if payment.method is PayMethod.JSAPI and payment.payer:
        pairs.append(("payer", payment.payer.name_hash, transaction.payer_hash))
    return [name for name, expected, other in pairs if expected != other]


def may_order(payment: Payment, now_ms: int) -> bool:
    """Return whether a payment without a prompt may be ordered at the provider now."""
    pause_ms = min(payment.ordered_at_ms - payment.created_at_ms, ORDER_PAUSE_MS_MAX)
    is_pending = payment.status is PaymentStatus.PENDING and not payment.is_ended
    is_open = is_pending and now_ms < payment.expires_at_ms
    return is_open and now_ms >= payment.ordered_at_ms + pause_ms


def next_look_ms(payment: Payment, now_ms: int) -> int | None:
    """Return the time of the next query to the provider, or None to stop; pauses grow with age."""
    if payment.status is PaymentStatus.PAID:
        return None
    if payment.closed_at_ms is not None and now_ms >= payment.closed_at_ms + WATCHED_MS:
        return None
    pause_ms = min(max(_FIRST_LOOK_MS, now_ms - payment.created_at_ms), _LOOK_PAUSE_MS_MAX)
    again_ms = now_ms + pause_ms
    # A long pause must not delay the closing.
    return min(again_ms, payment.expires_at_ms) if now_ms < payment.expires_at_ms else again_ms


def credit_transfer(payment: Payment, at_ms: int) -> Transfer:
    """Return the transfer that credits a payment."""
    return Transfer(
        transfer_id=f"payment:{payment.number}",
        kind=TransferKind.PAYMENT,
        debit=payment_account(payment.number),
        credit=user_account(payment.user_id),
        amount_fen=payment.amount_fen,
        at_ms=at_ms,
    )


def refund_transfers(refund: PaymentRefund) -> list[Transfer]:
    """Return the transfers that book an outside refund."""
    sides = (
        (user_account(refund.user_id), refund.wallet_fen),
        (receivable_account(refund.user_id), refund.owed_fen),
    )
    return [
        Transfer(
            transfer_id=f"payment_refund:{refund.number}:{refund.refund_no}",
            kind=TransferKind.PAYMENT_REFUNDED,
            debit=account,
            credit=payment_account(refund.number),
            amount_fen=fen,
            at_ms=refund.noted_at_ms,
        )
        for account, fen in sides
        if fen
    ]
