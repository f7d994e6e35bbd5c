"""Interfaces and settings of payments, withdrawals, payout accounts and consents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from redpacket.payments.errors import ProviderChanged
from redpacket.payments.model.provider import NO_MERCHANT
from redpacket.payments.ports.providers import required

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from redpacket.ledger.model import Transfer
    from redpacket.operations.model.operators import Action
    from redpacket.packets.ledger_ports import Ledger
    from redpacket.packets.model.packet import Packet
    from redpacket.packets.ports import PaymentReader
    from redpacket.packets.work_list_ports import WorkLists
    from redpacket.payments.model.authorization import Authorization
    from redpacket.payments.model.payments import Payment, PaymentRefund, PaymentReturn
    from redpacket.payments.model.provider import (
        ExternalAccount,
        Payee,
        RefundFound,
        StatementLine,
        Transaction,
        TransferFound,
    )
    from redpacket.payments.model.provider_name import ProviderName
    from redpacket.payments.model.withdrawals import ProviderAnswer, Stop, Withdrawal
    from redpacket.payments.ports.providers import Authorizations, PaymentProvider
    from redpacket.platform.idempotency import Request
    from redpacket.platform.runtime import Clock, EventLogger

PENDING_CURSOR = "[0-9]{1,2}(\\.[0-9]{1,13}\\.[0-9a-f]{30})?"
"""Work list of a page's first withdrawal, and the one before it."""

PAYMENTS_CURSOR = r"[0-9]{13}#[!-~]{1,200}"
"""Pattern of a cursor in lists of withdrawals, returns and debts: a sort key."""


@dataclass(frozen=True, slots=True)
class PaymentLimits:
    """Maximum payments that one user may start on one day, including paid ones."""

    count_max: int


class PaymentRepository(Protocol):
    """Repository of payments; only it credits them. Lists may lag."""

    def put(self, payment: Payment, request: Request, limits: PaymentLimits) -> str:
        """Store an intent, once for each request; return its number. Raises RateLimited."""

    def put_of_packet(self, payment: Payment, limits: PaymentLimits) -> Payment:
        """Store the intent of an unpaid packet, or return the existing one. Raises RateLimited."""

    def find(self, number: str) -> Payment | None:
        """Return a payment."""

    def begin_order(self, payment: Payment, now_ms: int) -> bool:
        """Record an order before its call; False if another was recorded or the payment ended."""

    def keep_prompt(self, number: str, prompt: str) -> None:
        """Store the payer's client parameters, unless the payment has ended."""

    def list_waiting(self, channel: ProviderName, until_ms: int, limit: int) -> list[str]:
        """Return numbers of payments to query at the provider, oldest first."""

    def look_again(self, number: str, at_ms: int | None) -> None:
        """Reschedule a payment in `list_waiting`, or with None remove it."""

    def close(self, payment: Payment, now_ms: int, again_at_ms: int | None) -> bool:
        """Set a PENDING payment to CLOSED; return False if it is no longer PENDING.

        A payment that was never ordered stays open if an order has begun since the read.
        """

    def credit(
        self,
        payment: Payment,
        transaction: Transaction,
        now_ms: int,
        *,
        funding: tuple[Packet, Transfer] | None = None,
    ) -> bool:
        """Credit a payment to its user's account, once for each number.

        With *funding* (the paid packet and its transfer) the same transaction moves the money to
        the packet and changes it from UNPAID to OPEN. Return False if the payment has a transaction
        or the packet is not UNPAID; the caller must then read again.
        """

    def has_notice(self, channel: ProviderName, notice_id: str) -> bool:
        """Return whether a callback was processed."""

    def note_notice(self, channel: ProviderName, notice_id: str, expires_at_ms: int) -> None:
        """Record that a callback was processed."""

    def list_lines(self, channel: ProviderName, day: str) -> list[StatementLine]:
        """Return the payments, refunds and transfers that a day's statement must contain."""


class ReturnRepository(Protocol):
    """Repository of uncredited transactions and of refunds made outside. Lists may lag."""

    def put_return(self, returned: PaymentReturn, transaction: Transaction) -> PaymentReturn:
        """Record once that a transaction is not credited. Raises InvariantViolated if it was."""

    def list_returns(self, number: str) -> list[PaymentReturn]:
        """Return all uncredited transactions of a payment."""

    def list_returns_due(
        self, channel: ProviderName, until_ms: int, limit: int
    ) -> list[tuple[str, str]]:
        """Return number and transaction id of pending returns, oldest first."""

    def find_return(self, number: str, transaction_id: str) -> PaymentReturn | None:
        """Return one transaction's record."""

    def delay_return(self, returned: PaymentReturn, at_ms: int) -> None:
        """Reschedule a return in `list_returns_due`."""

    def end_return(self, returned: PaymentReturn, refund: RefundFound, now_ms: int) -> bool:
        """Record a completed return, once, at the provider's time."""

    def list_return(self, returned: PaymentReturn) -> None:
        """Move a return that the provider will never make to the operators' list."""

    def resolve(self, returned: PaymentReturn, action: Action) -> bool:
        """Set a LISTED return to RESOLVED by its reference, and log the action.

        Return False, without effect, if the return has changed or the reference was used before.
        """

    def list_refunds(self, number: str) -> list[PaymentRefund]:
        """Return the refunds of a payment that were made outside."""

    def reverse(self, payment: Payment, refund: PaymentRefund, answer: RefundFound) -> bool:
        """Debit an outside refund to the user's account and receivable, once for each number.

        Return False if it was recorded, the balance no longer covers its part, or the payment has
        changed; the caller must then read again.
        """

    def note_outside(
        self, returned: PaymentReturn, refund: PaymentRefund, answer: RefundFound
    ) -> bool:
        """Record an outside refund of an uncredited transaction, once for each number.

        The remainder waits for an operator. Return False if it was recorded or the return has
        changed; the caller must then read again.
        """

    def collect(self, user_id: str, fen: int, at_ms: int, name: str) -> bool:
        """Collect a debt from a user's account; return False if debt or balance is too small."""


class ComparedDays(Protocol):
    """Last compared statement day of each provider."""

    def find_compared(self, channel: ProviderName) -> str | None:
        """Return the day, or None before the first comparison."""

    def note_compared(self, channel: ProviderName, day: str) -> None:
        """Store the day."""


class PaymentLists(Protocol):
    """Operators' lists, newest first. Raises InvalidRequest for a bad cursor."""

    def list_listed_returns(
        self, cursor: str | None, limit: int
    ) -> tuple[list[PaymentReturn], str | None]:
        """Return a page of returns that wait for an operator, and the next cursor."""

    def list_pending_withdrawals(
        self, cursor: str | None, limit: int
    ) -> tuple[list[Withdrawal], str | None]:
        """Return a page of withdrawals that have not ended, by work list, the oldest first."""

    def list_debts(self, cursor: str | None, limit: int) -> tuple[list[PaymentRefund], str | None]:
        """Return a page of outside refunds that left a debt, paid or not, and the next cursor."""


@dataclass(frozen=True, slots=True)
class WithdrawalLimits:
    """Maximum number and sum of one user's withdrawals on one day."""

    count_max: int
    fen_max: int


class WithdrawalRepository(Protocol):
    """Repository of users' withdrawals."""

    def hold(self, withdrawal: Withdrawal, request: Request, limits: WithdrawalLimits) -> str:
        """Hold the money once per request. Raises InsufficientFunds, WithdrawalLimitReached."""

    def find_held(self, request: Request) -> str | None:
        """Return the request's withdrawal id, if it was executed. Raises IdempotencyKeyReused."""

    def find(self, withdrawal_id: str) -> Withdrawal | None:
        """Return a withdrawal."""

    def list_of_user(
        self, user_id: str, cursor: str | None, limit: int
    ) -> tuple[list[Withdrawal], str | None]:
        """Return a page of a user's withdrawals, newest first, and the next cursor; it may lag."""

    def promise(self, withdrawal_id: str, expected_at_ms: int) -> None:
        """Store the completion time that the user was shown."""


class TransferRepository(Protocol):
    """Repository of withdrawals' transfers; each change is conditional on what the caller read."""

    def list_to_call(self, channel: ProviderName, until_ms: int, limit: int) -> list[str]:
        """Return ids of withdrawals to transfer, oldest first; the list may lag."""

    def list_to_look(self, channel: ProviderName, until_ms: int, limit: int) -> list[str]:
        """Return ids of withdrawals to query at the provider; the list may lag."""

    def note_call(self, seen: Withdrawal, answer: ProviderAnswer) -> None:
        """Keep a provider's answer for operators, with the last ones of *seen*."""

    def lease(self, seen: Withdrawal, until_ms: int, now_ms: int) -> Withdrawal | None:
        """Lease the right to call until *until_ms*; return None if the withdrawal has changed.

        It moves from `list_to_call` to `list_to_look`, due at the end of the lease. Return None
        also if it has ended or stopped, or another lease runs at *now_ms*.
        """

    def stop(self, seen: Withdrawal, stop: Stop, reason: str, look_at_ms: int) -> Withdrawal | None:
        """Stop calls for this transfer; return None, without effect, if the withdrawal has changed.

        The first stop counts, but one of CANCELS replaces a refusal.
        """

    def await_confirmation(
        self, seen: Withdrawal, transfer: TransferFound, look_at_ms: int
    ) -> None:
        """Store the confirmation data for the payee's client."""

    def look_again(self, seen: Withdrawal, at_ms: int) -> None:
        """Reschedule a withdrawal in `list_to_look`."""

    def call_again(self, seen: Withdrawal, at_ms: int) -> bool:
        """Schedule a withdrawal in `list_to_call` with the same number."""

    def renumber(self, seen: Withdrawal, at_ms: int) -> bool:
        """Start a new transfer without consent; the previous one must be unpayable."""

    def post(self, seen: Withdrawal, transfer: TransferFound, now_ms: int) -> bool:
        """Set to PAID; return False if it already was. Raises InvariantViolated if returned."""

    def refund(self, seen: Withdrawal, *, is_cancelled: bool, reason: str, now_ms: int) -> bool:
        """Set to CANCELLED or FAILED and return the money; return False if the row has changed."""


class Payees(Protocol):
    """Mapping from users to payout accounts."""

    def find(self, user_id: str, channel: ProviderName) -> Payee | None:
        """Return a user's account, or None."""


class BoundPayees(Payees, Protocol):
    """Accounts that users bind; one account belongs to one user."""

    def bind(
        self,
        user_id: str,
        channel: ProviderName,
        account: ExternalAccount,
        now_ms: int,
        first_wait_ms: int = 0,
    ) -> Payee:
        """Bind an account to a user, and free the previous one.

        An account that is already bound stays unchanged. The previous account's consent changes to
        CLOSING and stays only in `list_waiting`. Raises OpenidInUse.
        """


class AuthorizationRepository(Protocol):
    """Repository of consents to transfers without confirmation, one per user and provider."""

    def begin(self, authorization: Authorization, payee: Payee) -> bool:
        """Store a consent's request and refer to it; False if the account differs from *payee*."""

    def find(self, number: str) -> Authorization | None:
        """Return a consent."""

    def list_waiting(self, channel: ProviderName, until_ms: int, limit: int) -> list[str]:
        """Return numbers of consents to query at the provider, oldest first; the list may lag."""

    def look_again(self, number: str, at_ms: int) -> None:
        """Reschedule a consent in `list_waiting`."""

    def keep_confirmation(self, authorization: Authorization, confirmation: str) -> None:
        """Store the confirmation data for the user's client while AWAITING_CONFIRMATION."""

    def activate(self, authorization: Authorization) -> bool:
        """Set to ACTIVE for transfers; False if the payee row refers to another consent."""

    def doubt(self, user_id: str, channel: ProviderName, number: str, now_ms: int) -> None:
        """Disable an ACTIVE consent until the provider is queried again."""

    def begin_close(self, authorization: Authorization, now_ms: int) -> bool:
        """Set to CLOSING to stop its use in transfers; False if the payee row changed."""

    def close(self, authorization: Authorization, now_ms: int) -> None:
        """Set to CLOSED, and remove it from the payee row."""


class ProviderPace(Protocol):
    """Durable rate limits and circuit breaker of a provider, shared by all functions."""

    def find_slot(self, channel: ProviderName, name: str) -> int:
        """Return the next free slot in microseconds, or 0 if none was taken."""

    def take_slots(self, channel: ProviderName, name: str, seen_us: int, next_us: int) -> bool:
        """Move the next free slot; return False if it is no longer *seen_us*."""

    def find_breaker(self, channel: ProviderName) -> tuple[int, int]:
        """Return the end of the current rest in milliseconds, and the number of rests in a row."""

    def set_breaker(self, channel: ProviderName, until_ms: int, times: int) -> None:
        """Open the breaker until a time."""


@dataclass(frozen=True, slots=True)
class PaymentPorts:
    """Dependencies of payments; *limits* apply to one user and day."""

    providers: Mapping[ProviderName, PaymentProvider]
    repository: PaymentRepository
    returns: ReturnRepository
    compared: ComparedDays
    ledger: Ledger
    packets: PaymentReader
    work: WorkLists
    clock: Clock
    logger: EventLogger
    new_number: Callable[[], str]
    limits: PaymentLimits

    def provider(self, channel: ProviderName) -> PaymentProvider:
        """Return a provider. Raises ChannelUnavailable."""
        return required(self.providers, channel)

    def provider_of(self, row: Payment | PaymentReturn) -> PaymentProvider:
        """Return the provider that has a row's order. Raises ProviderChanged."""
        provider = self.providers.get(row.channel)
        if provider and row.merchant in {NO_MERCHANT, provider.merchant}:
            return provider
        error = ProviderChanged(f"{row.channel} {row.merchant.mch_id} is no longer configured")
        self.logger.failure("payment_mismatched", error, number=row.number)
        raise error


@dataclass(frozen=True, slots=True)
class AuthorizationPorts:
    """Dependencies of authorizations; *new_number* returns 32 characters."""

    providers: Mapping[ProviderName, Authorizations]
    repository: AuthorizationRepository
    payees: Payees
    clock: Clock
    logger: EventLogger
    new_number: Callable[[], str]

    def provider(self, channel: ProviderName) -> Authorizations:
        """Return a provider. Raises ChannelUnavailable."""
        return required(self.providers, channel)
