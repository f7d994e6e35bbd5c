"""What a payment gateway says: orders, transactions, transfers and the lines of its bills.

A gateway is WeChat Pay, or the wallet of the embedding app. Its word is about money outside of this
ledger; domain/payments.py and domain/withdrawals.py say what becomes of it inside.
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
class OutsideAccount:
    """A user's account at a gateway: *sealed* is for the gateway's adapter alone to open.

    *name_hash* is a keyed hash of the same name, the same for ever, so that it can be compared.
    """

    sealed: str = field(repr=False)
    name_hash: str


@dataclass(frozen=True, slots=True)
class Merchant:
    """In whose name a gateway acts; both are "" where a gateway has no such names."""

    app_id: str
    mch_id: str


@dataclass(frozen=True, slots=True)
class PaymentOrder:
    """What a gateway is asked to collect, under OUR *number*; frozen, so a repeat is the same."""

    number: str
    amount_fen: int
    method: PayMethod
    payer: OutsideAccount | None
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
    """What a gateway is asked to pay out, under OUR *bill_no*; frozen as a payment's order.

    With *authorization_no* the payee need not confirm. *details* is what the adapter's own settings
    said at the first time, as `PaymentsOut.details` returned it.
    """

    bill_no: str
    amount_fen: int
    payee: OutsideAccount
    authorization_no: str | None
    details: str


class TransferState(StrEnum):
    """Where a transfer stands at the gateway; SUCCEEDED, FAILED and CANCELLED are final.

    REFUSED is an answer of a call alone: no query returns it.
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
    """A transfer as the gateway knows it.

    *amount_fen* and *payee_hash* are there where the gateway names them. *confirmation* is what the
    payee's client needs to confirm, while it is AWAITING_CONFIRMATION. *refusal* comes with
    REFUSED; *reason* is the gateway's own code of a refusal or a failure.
    """

    state: TransferState
    outside_no: str = ""
    amount_fen: int | None = None
    payee_hash: str | None = None
    decided_at_ms: int = 0
    confirmation: str = field(default="", repr=False)
    refusal: Refusal | None = None
    reason: str = ""


class BillKind(StrEnum):
    """What a line of a bill is about: a payment, its refund, a transfer."""

    PAYMENT = "payment"
    REFUND = "refund"
    TRANSFER = "transfer"


@dataclass(frozen=True, slots=True)
class BillLine:
    """Money that moved at the gateway on one day.

    *number* is OURS: of the payment, the refund, the transfer. *outside_no* is the gateway's.
    *of_number* is the payment that a refund is of. *amount_fen* is always above 0.
    """

    kind: BillKind
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


class NoticeKind(StrEnum):
    """What a gateway tells about by a callback; BALANCE is what we tell ourselves.

    Then the number is a user's id, and the other one names what raised their balance.
    """

    PAYMENT = "payment"
    REFUND = "refund"
    TRANSFER = "transfer"
    AUTHORIZATION = "authorization"
    BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class Notice:
    """A callback whose signature was right: it says where to look, and moves no money.

    *number* is OURS, *outside_no* the gateway's. *notice_id* is the same when the gateway repeats
    the callback.
    """

    kind: NoticeKind
    notice_id: str
    number: str
    outside_no: str = ""
