"""Values of a payment gateway: orders, transactions, transfers, and statement lines.

The gateway is WeChat Pay or the host's wallet. The modules payments and withdrawals decide what
the values mean for the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

CURRENCY = "CNY"

BILL_ZONE = timedelta(hours=8)
"""Bills are of days in China's time, by every channel."""


class Channel(StrEnum):
    """By which gateway money comes and goes."""

    HOST = "host"
    WECHAT = "wechat"


class PayMethod(StrEnum):
    """`jsapi`: the client pays inside of the app. `native`: anyone pays who scans a code."""

    JSAPI = "jsapi"
    NATIVE = "native"


@dataclass(frozen=True, slots=True)
class ExternalAccount:
    """A user's account at a gateway; only the gateway's adapter can open *sealed*.

    *name_hash* is a keyed hash of the account's name, for comparisons.
    """

    sealed: str = field(repr=False)
    name_hash: str


@dataclass(frozen=True, slots=True)
class Merchant:
    """In whose name a gateway acts; both are "" where a gateway has no such names."""

    app_id: str
    mch_id: str


NO_MERCHANT = Merchant("", "")


@dataclass(frozen=True, slots=True)
class PaymentOrder:
    """What a gateway is asked to collect, under OUR *number*; frozen, so a repeat is the same."""

    number: str
    amount_fen: int
    method: PayMethod
    payer: ExternalAccount | None
    expires_at_ms: int


class OrderState(StrEnum):
    """Where an order stands at the gateway; PAID and CLOSED take no further payment."""

    NOT_FOUND = "not_found"
    UNPAID = "unpaid"
    PAID = "paid"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Transaction:
    """One payment that a gateway took: *transaction_id* is the gateway's, *number* ours."""

    transaction_id: str
    number: str
    amount_fen: int
    currency: str
    merchant: Merchant
    payer_hash: str | None
    paid_at_ms: int
    is_refunded: bool = False
    """Whether the gateway has begun to give it back, wholly or in part."""


@dataclass(frozen=True, slots=True)
class OrderFound:
    """An order as a query found it, with every payment that the gateway took for its number."""

    state: OrderState
    transactions: tuple[Transaction, ...] = ()


@dataclass(frozen=True, slots=True)
class RefundOrder:
    """What a gateway is asked to give back, under OUR *refund_no*; frozen as a payment's order."""

    refund_no: str
    number: str
    transaction_id: str
    amount_fen: int
    total_fen: int


class RefundState(StrEnum):
    """Where a refund stands at the gateway; SUCCEEDED and FAILED are final."""

    NOT_FOUND = "not_found"
    PROCESSING = "processing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RefundFound:
    """A refund as the gateway knows it, ours or one that somebody made outside."""

    refund_no: str
    state: RefundState
    number: str = ""
    transaction_id: str = ""
    amount_fen: int = 0
    refunded_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class TransferOrder:
    """A transfer to request under OUR *bill_no*; frozen, like the order of a payment.

    With *authorization_no* the payee need not confirm. *details* is the first result of
    `PaymentsOut.details`.
    """

    bill_no: str
    amount_fen: int
    payee: ExternalAccount
    authorization_no: str | None
    details: str


class TransferState(StrEnum):
    """State of a transfer at the gateway; SUCCEEDED, FAILED and CANCELLED are final.

    Only a call returns REFUSED, never a query.
    """

    NOT_FOUND = "not_found"
    REFUSED = "refused"
    PROCESSING = "processing"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Refusal(StrEnum):
    """Why a gateway refused a call. Only OTHER means that repeating is pointless."""

    THROTTLED = "throttled"
    OUT_OF_FUNDS = "out_of_funds"
    NOT_AUTHORIZED = "not_authorized"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TransferFound:
    """A transfer as the gateway reports it; some gateways omit *amount_fen* and *payee_hash*.

    *confirmation* is for the payee's client while it is AWAITING_CONFIRMATION. *refusal* is set for
    REFUSED; *reason* is the gateway's own code.
    """

    state: TransferState
    outside_no: str = ""
    amount_fen: int | None = None
    payee_hash: str | None = None
    decided_at_ms: int = 0
    confirmation: str = field(default="", repr=False)
    refusal: Refusal | None = None
    reason: str = ""


class StatementKind(StrEnum):
    """What a line of a bill is about: a payment, its refund, a transfer."""

    PAYMENT = "payment"
    REFUND = "refund"
    TRANSFER = "transfer"


@dataclass(frozen=True, slots=True)
class StatementLine:
    """One movement of money at the gateway on one day; *amount_fen* is above 0.

    *number* is OURS, *outside_no* the gateway's. *of_number* is the refunded payment.
    """

    kind: StatementKind
    number: str
    outside_no: str
    amount_fen: int
    moved_at_ms: int
    of_number: str = ""


def bill_day(at_ms: int) -> str:
    """Return the day of the bill that has what moved at a time."""
    return (datetime.fromtimestamp(at_ms / 1000, tz=UTC) + BILL_ZONE).date().isoformat()


def bill_day_start_ms(day: str) -> int:
    """Return when a bill's day begins."""
    return int((datetime.fromisoformat(f"{day}T00:00:00+00:00") - BILL_ZONE).timestamp() * 1000)


class ProviderEventKind(StrEnum):
    """Kinds of callbacks. BALANCE is internal: *number* is a user id, *outside_no* the cause."""

    PAYMENT = "payment"
    REFUND = "refund"
    TRANSFER = "transfer"
    AUTHORIZATION = "authorization"
    BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class ProviderEvent:
    """A verified callback. It names a row to look at, and moves no money.

    *number* is OURS, *outside_no* the gateway's. Repeats have the same *notice_id*.
    """

    kind: ProviderEventKind
    notice_id: str
    number: str
    outside_no: str = ""
