"""Payment provider types: orders, transactions, transfers, and statement lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

STATEMENT_ZONE = timedelta(hours=8)
"""UTC offset of statement days at every provider: China's time zone."""


_CALLBACK_AGE_MS_MAX = 5 * 60_000
_TIMESTAMP_DIGITS_MAX = 12

OWNED = ":"
"""Mark after the key's name in a seal that is bound to its owner; older seals lack the mark."""


class PayMethod(StrEnum):
    """Payment method: `jsapi` inside the app, `native` through a QR code that anyone can pay."""

    JSAPI = "jsapi"
    NATIVE = "native"


@dataclass(frozen=True, slots=True)
class ExternalAccount:
    """Account at a provider; the provider's adapter decrypts *sealed*, which is bound to *owner*.

    *name_hash* is a keyed hash of the account's name, for comparisons. *owner* is the user whose
    row contains *sealed*. Only `Logins` sets *nickname* and *picture_url*, if the user shares them.
    """

    sealed: str = field(repr=False)
    name_hash: str
    owner: str = field(default="", compare=False)
    nickname: str = field(default="", repr=False, compare=False)
    picture_url: str = field(default="", repr=False, compare=False)

    @property
    def has_owner(self) -> bool:
        """Return whether the seal is bound to its owner; seals from earlier versions are not."""
        return OWNED in self.sealed


@dataclass(frozen=True, slots=True)
class Payee:
    """User's payout account; it accepts no withdrawal before *opens_at_ms*.

    *authorization_no* is the user's ACTIVE consent to transfers without confirmation. *asked_no* is
    the number of the latest requested consent.
    """

    account: ExternalAccount
    opens_at_ms: int = 0
    authorization_no: str | None = None
    asked_no: str | None = None
    bound_at_ms: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Merchant:
    """Merchant for which a provider acts; both fields are "" for a provider without merchants."""

    app_id: str
    mch_id: str


NO_MERCHANT = Merchant("", "")


@dataclass(frozen=True, slots=True)
class PaymentOrder:
    """Payment to collect under OUR *number*; frozen, so retries are identical."""

    number: str
    amount_fen: int
    method: PayMethod
    payer: ExternalAccount | None
    expires_at_ms: int


class OrderState(StrEnum):
    """State of an order at the provider; another payment may arrive even after PAID or CLOSED."""

    NOT_FOUND = "not_found"
    UNPAID = "unpaid"
    PAID = "paid"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Transaction:
    """Payment that a provider received; *transaction_id* is the provider's, *number* ours."""

    transaction_id: str
    number: str
    amount_fen: int
    currency: str
    merchant: Merchant
    payer_hash: str | None
    paid_at_ms: int
    is_refunded: bool = False
    """Whether the provider has refunded any part of the payment."""


@dataclass(frozen=True, slots=True)
class OrderFound:
    """Result of an order query, with the payments that the provider lists for the order."""

    state: OrderState
    transactions: tuple[Transaction, ...] = ()


@dataclass(frozen=True, slots=True)
class RefundOrder:
    """Refund to request under OUR *refund_no*; frozen, so retries are identical."""

    refund_no: str
    number: str
    transaction_id: str
    amount_fen: int
    total_fen: int


class RefundState(StrEnum):
    """State of a refund at the provider; SUCCEEDED and FAILED are final."""

    NOT_FOUND = "not_found"
    PROCESSING = "processing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RefundFound:
    """Refund as the provider reports it, requested by us or made outside."""

    refund_no: str
    state: RefundState
    number: str = ""
    transaction_id: str = ""
    amount_fen: int = 0
    refunded_at_ms: int = 0


@dataclass(frozen=True, slots=True)
class TransferOrder:
    """Transfer to request under OUR *transfer_no*; frozen, so retries are identical.

    With *authorization_no* the payee need not confirm. *details* is the stored result of
    `PayoutProvider.details`.
    """

    transfer_no: str
    amount_fen: int
    payee: ExternalAccount
    authorization_no: str | None
    details: str


class TransferState(StrEnum):
    """State of a transfer at the provider; SUCCEEDED, FAILED and CANCELLED are final.

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
    """Reasons for a refused call; only THROTTLED and OUT_OF_FUNDS are temporary."""

    THROTTLED = "throttled"
    OUT_OF_FUNDS = "out_of_funds"
    NOT_AUTHORIZED = "not_authorized"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class TransferFound:
    """Transfer as the provider reports it; some providers omit *amount_fen* and *payee_hash*.

    *confirmation* is for the payee's client while the transfer is AWAITING_CONFIRMATION. *refusal*
    is set for REFUSED; *reason* is the provider's own code.
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
    """Kinds of statement lines."""

    PAYMENT = "payment"
    REFUND = "refund"
    TRANSFER = "transfer"


@dataclass(frozen=True, slots=True)
class StatementLine:
    """Movement of money at the provider on one day; *amount_fen* is positive.

    *number* is OURS, *outside_no* the provider's. *of_number* is the number of the refunded
    payment. *is_return* means that the money of an unpaid transfer went back to the merchant.
    """

    kind: StatementKind
    number: str
    outside_no: str
    amount_fen: int
    moved_at_ms: int
    of_number: str = ""
    is_return: bool = False


def statement_day(at_ms: int) -> str:
    """Return the statement day that contains a time."""
    return (datetime.fromtimestamp(at_ms / 1000, tz=UTC) + STATEMENT_ZONE).date().isoformat()


def statement_day_start_ms(day: str) -> int:
    """Return the start of a statement day."""
    return int(
        (datetime.fromisoformat(f"{day}T00:00:00+00:00") - STATEMENT_ZONE).timestamp() * 1000
    )


class ProviderEventKind(StrEnum):
    """Kinds of events. BALANCE is internal: *number* is a user id, and *outside_no* the cause."""

    PAYMENT = "payment"
    REFUND = "refund"
    TRANSFER = "transfer"
    AUTHORIZATION = "authorization"
    BALANCE = "balance"


@dataclass(frozen=True, slots=True)
class ProviderEvent:
    """Notice from a verified callback, a statement line, or a claim; it only names what to check.

    *number* is OURS, *outside_no* the provider's. Redeliveries have the same *notice_id*.
    """

    kind: ProviderEventKind
    notice_id: str
    number: str
    outside_no: str = ""


def is_fresh(timestamp: str, now_ms: int) -> bool:
    """Return whether a callback's time, in seconds, is within five minutes of *now_ms*."""
    is_number = timestamp.isascii() and timestamp.isdecimal()
    if not is_number or len(timestamp) > _TIMESTAMP_DIGITS_MAX:
        return False
    return abs(now_ms - int(timestamp) * 1_000) <= _CALLBACK_AGE_MS_MAX
