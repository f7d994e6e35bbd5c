"""Ports for payments, their returns and refunds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.ledger.model import Transfer
    from redpacket.operations.model.operators import Action
    from redpacket.packets.model.packet import Packet
    from redpacket.payments.model.payments import Payment, PaymentRefund, PaymentReturn
    from redpacket.payments.model.provider import RefundFound, StatementLine, Transaction
    from redpacket.payments.model.provider_name import ProviderName
    from redpacket.payments.model.withdrawals import Withdrawal
    from redpacket.platform.idempotency import Request


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
