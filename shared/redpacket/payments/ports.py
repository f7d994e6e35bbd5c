"""Ports for payment providers: money, callbacks, consent, and sign-in.

The contract between use cases and providers (docs/architecture.md has the steps):

* **Numbers are ours.** Each order, refund and transfer has a number that we choose, of at most 32
  letters and digits. A provider executes each number at most once. Repeating a call with the
  same number and content changes nothing and returns the current state.
* **Unknown is not refused.** `Unavailable` means that the outcome is unknown: a timeout, a lost
  connection, HTTP 5xx, `SYSTEM_ERROR`, throttling that may have had an effect, or an answer that is
  malformed or has a wrong signature. The caller retries the SAME number and queries.
* **A refusal is a hint.** Answers other than 2xx are not signed. A query confirms even a clear
  refusal before any money is returned.
* **NOT_FOUND needs time.** A query may miss a recent call. NOT_FOUND counts only after
  `settling_ms` have passed since the last moment at which a call can have started; the caller adds
  its lease and its function's timeout.
* **Providers forget.** When a number is `query_horizon_ms` old, NOT_FOUND proves nothing. From then
  on, no call is made, and after NOT_FOUND only an operator can return the money.
* **Final states are permanent.** A number's SUCCEEDED, FAILED or CANCELLED never changes.
* **No retries inside.** An adapter never repeats a request, limits each one to `call_ms_max`, and
  has no state: pacing, retries and breakers belong to the use cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypedDict, TypeVar

from redpacket.ledger.errors import ChannelUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from redpacket.ledger.provider_name import ProviderName
    from redpacket.payments.model.authorization import AuthorizationFound
    from redpacket.payments.model.provider import (
        ExternalAccount,
        Merchant,
        OrderFound,
        Payee,
        PaymentOrder,
        ProviderEvent,
        RefundFound,
        RefundOrder,
        StatementLine,
        Transaction,
        TransferFound,
        TransferOrder,
    )
    from redpacket.payments.sealed_accounts import Accounts
    from redpacket.platform.settings import Settings
    from redpacket.platform.ssrf_safe_http import HttpClient

PENDING_CURSOR = "[0-9]{1,2}(\\.[0-9]{1,13}\\.[0-9a-f]{30})?"
"""Pattern of a cursor in lists of pending withdrawals: a work list, and the last withdrawal."""

PAYMENTS_CURSOR = r"[0-9]{13}#[!-~]{1,200}"
"""Pattern of a cursor in lists of withdrawals, returns and debts: a sort key."""

Part = TypeVar("Part")
ProviderSettings = TypeVar("ProviderSettings", bound="Settings")

CALL_MS_MAX = 5_000
"""Timeout of a provider call in milliseconds; most calls take less than one second."""

SETTLING_MS = 60_000
"""Milliseconds for which a provider may return NOT_FOUND after a call (docs/adr/0030)."""

QUERY_HORIZON_MS = 29 * 24 * 3_600_000
"""Age of a number in milliseconds up to which NOT_FOUND proves that no transfer was made.

WeChat remembers transfers for 30 days, but does not document when this period begins. The host
wallet's protocol also requires 30 days.
"""


RETURN_DAYS = 2
"""Maximum days from a lock to the money's return: one to confirm, and one to book the return."""


def required(by_provider: Mapping[ProviderName, Part], channel: ProviderName) -> Part:
    """Return a provider's part. Raises ChannelUnavailable."""
    if channel not in by_provider:
        raise ChannelUnavailable
    return by_provider[channel]


@dataclass(frozen=True, slots=True)
class ProviderEnvironment:
    """Dependencies of a provider in this process."""

    settings: Settings
    secret: Callable[[str], str]
    """Function that returns the secret with a given ARN."""
    accounts: Callable[[str], Accounts]
    """Function that returns the encryption of account names for a context."""
    http: Callable[[str], HttpClient]
    """Function that returns an HTTP client for a single URL."""
    now_ms: Callable[[], int]


class Provider(Generic[ProviderSettings]):
    """Payment provider. A part is None if the provider lacks it or if it is not configured.

    Each part is built when it is first read, because a function has settings, secrets and
    libraries only for the parts that it uses.
    """

    settings_type: type[ProviderSettings]
    """Environment variables for this provider, in addition to those for all functions."""
    only_unit = ""
    """Name of the only unit of account that the provider supports; empty means any unit."""
    pays_out_automatically = False
    """Whether balances that reach the operator's threshold are paid out without a request."""
    confirms_transfers = False
    """Whether users may have to confirm transfers; responses then say how."""

    def __init__(self, environment: ProviderEnvironment) -> None:
        self.environment = environment
        self.settings = self.settings_type(environment.settings.variables)

    @cached_property
    def payments(self) -> PaymentProvider | None:
        """Provider of incoming payments."""
        return None

    @cached_property
    def payouts(self) -> PayoutProvider | None:
        """Provider for outgoing transfers."""
        return None

    @cached_property
    def callbacks(self) -> CallbackVerifier | None:
        """Verifier of callbacks."""
        return None

    @cached_property
    def consents(self) -> Authorizations | None:
        """Provider for consents to transfers."""
        return None

    @cached_property
    def logins(self) -> Logins | None:
        """Exchange of sign-in codes."""
        return None

    @cached_property
    def token_issuer(self) -> TokenIssuer | None:
        """Issuer of tokens for users who sign in through this provider."""
        return None

    @cached_property
    def page_signer(self) -> Callable[[str], JsSignature] | None:
        """Function that signs page addresses. Raises InvalidRequest, Unavailable."""
        return None


class PaymentProvider(Protocol):
    """Provider of incoming payments; each provider has an adapter."""

    channel: ProviderName
    merchant: Merchant
    """Payee of our orders; a transaction for another merchant is not ours."""
    currency: str
    """Currency of our orders: the name of the unit of account."""
    settling_ms: int
    """Milliseconds after a call for which a query may still return NOT_FOUND."""
    call_ms_max: int
    """Timeout of a call in milliseconds."""

    def order(self, order: PaymentOrder) -> Mapping[str, str] | None:
        """Create a payment order, and return the parameters that the payer's client needs.

        WeChat needs `code_url` for native and signed parameters for jsapi; the host's wallet
        defines its own. Return None if the number is already paid or closed; `query` tells which.
        """

    def query(self, number: str) -> OrderFound:
        """Return an order with its payments, of which there may be several."""

    def query_transaction(self, transaction_id: str) -> Transaction | None:
        """Return a payment by the provider's id, including one that `query` does not list."""

    def close(self, number: str) -> None:
        """Close an open order; a payment may still arrive afterwards."""

    def refund(self, order: RefundOrder) -> RefundFound:
        """Refund a payment once per *refund_no*; return FAILED only for a signed answer."""

    def query_refund(self, refund_no: str) -> RefundFound:
        """Return a refund, requested by us or made outside; NOT_FOUND is a state."""

    def read_statement(self, day: str) -> list[StatementLine] | None:
        """Return payments and refunds of *day*, such as "2026-11-22" in the provider's time zone.

        Return None if the statement does not exist yet. Adapters verify each statement.
        """


class PayoutProvider(Protocol):
    """Provider for outgoing transfers; each provider has an adapter."""

    channel: ProviderName
    merchant: Merchant
    """Payer of our transfers; withdrawals store it."""
    needs_consent: bool
    """Whether payees confirm every transfer, unless they consented to all transfers."""
    locks_money: bool
    """Whether statements may list a transfer before it is paid, and its return if it is not."""
    settling_ms: int
    call_ms_max: int
    query_horizon_ms: int
    """Age of a number in milliseconds up to which NOT_FOUND proves that no transfer was made."""

    def details(self) -> str:
        """Return the transfer settings as text, which withdrawals store for identical retries."""

    def transfer(self, order: TransferOrder) -> TransferFound:
        """Pay out once per *transfer_no*, and return the transfer's state, or REFUSED.

        Return REFUSED only if the provider states a reason that maps to a `Refusal`; otherwise,
        raise Unavailable. THROTTLED and OUT_OF_FUNDS are temporary; NOT_AUTHORIZED means that the
        user has not consented; OTHER is permanent. For a number that was already executed, return
        its state, regardless of the provider's code.
        """

    def query(self, transfer_no: str) -> TransferFound:
        """Return a transfer's state; NOT_FOUND is a state."""

    def cancel(self, transfer_no: str) -> None:
        """Request the cancellation of a transfer that the payee has not confirmed.

        Only a query returns the result, which may be SUCCEEDED. An unknown transfer, or one that
        cannot be canceled, is not an error.
        """

    def read_statement(self, day: str) -> list[StatementLine] | None:
        """Return the transfers that moved money on *day*; see `PaymentProvider.read_statement`."""


class CallbackVerifier(Protocol):
    """Verifier of a provider's callbacks; each provider has an adapter."""

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> ProviderEvent:
        """Return a callback's notice; header names are lowercase.

        Verify the signature over the raw bytes with a configured key, and the timestamp within five
        minutes of *now_ms*; then decrypt and parse. Raises SignatureInvalid.
        """


class NoticeQueue(Protocol):
    """At-least-once queue of provider notices; tests have a double."""

    def put(self, channel: ProviderName, *notices: ProviderEvent, delay_s: int = 0) -> None:
        """Queue notices, visible after *delay_s*. After Unavailable, some may already be queued."""


class Logins(Protocol):
    """Exchange of a provider's authorization code for an account; tests have a double."""

    def find_account(self, code: str, owner_of: Callable[[str], str]) -> ExternalAccount | None:
        """Return a code's account, or None if the code is wrong, used or expired.

        *owner_of* returns the user id for an account's *name_hash*.
        """


class Authorizations(Protocol):
    """Provider of users' consents to transfers without confirmation; we choose the numbers.

    Tests have a double.
    """

    def ask(
        self, authorization_no: str, payee: ExternalAccount, display_name: str
    ) -> AuthorizationFound:
        """Request a consent once per number; the provider shows *display_name* to the user."""

    def query(self, authorization_no: str) -> AuthorizationFound:
        """Return a consent's state; NOT_FOUND is a state."""

    def close(self, authorization_no: str) -> None:
        """Close a consent; a consent that is closed or unknown is not an error."""


class JsSignature(TypedDict):
    """Arguments of the page's `wx.config`."""

    app_id: str
    timestamp: int
    nonce: str
    signature: str


class TokenIssuer(Protocol):
    """Issuer of tokens for users who sign in through a provider; tests have a double."""

    def subject_of(self, name_hash: str) -> str:
        """Return the subject of an account's tokens, which never changes."""

    def issue(self, account: ExternalAccount, now_ms: int) -> tuple[str, int]:
        """Return a token and its expiry in milliseconds."""


class Payees(Protocol):
    """Mapping from users to payout accounts.

    One adapter returns linked accounts. The other also returns the token user's host account.
    """

    def find(self, user_id: str, channel: ProviderName) -> Payee | None:
        """Return a user's account, or None."""
