"""The books of payments: what came in, what went back, and what waits for a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.domain.gateway import BillLine, Channel, RefundFound, Transaction
    from redpacket.domain.ledger import Transfer
    from redpacket.domain.packet import Packet
    from redpacket.domain.payments import Payment, PaymentRefund, PaymentReturn
    from redpacket.ports.accounts import Request


PAYMENTS_CURSOR = r"[0-9]{13}#[!-~]{1,200}"
"""The form of where a list of withdrawals, returns or debts goes on: a sort key."""


@dataclass(frozen=True, slots=True)
class PaymentLimits:
    """How many payments one user may begin on one day; a paid one counts, too."""

    count_max: int


class PaymentBook(Protocol):
    """Payments, durably; nothing else may credit one. Reads are strong, except those of lists."""

    def put(self, payment: Payment, request: Request, limits: PaymentLimits) -> str:
        """Write an intent once per request; return the number that it made, now or then.

        Raises RateLimited, IdempotencyKeyReused, Busy.
        """

    def put_of_packet(self, payment: Payment, limits: PaymentLimits) -> Payment:
        """Write the intent of an unpaid packet, which names its number; return what is there.

        Raises RateLimited.
        """

    def find(self, number: str) -> Payment | None:
        """Return a payment."""

    def keep_prompt(self, number: str, prompt: str) -> None:
        """Keep what the payer's client needs, unless the payment has ended."""

    def list_waiting(self, channel: Channel, until_ms: int, limit: int) -> list[str]:
        """Return numbers of payments to ask the gateway for, those that wait longest first."""

    def look_again(self, number: str, at_ms: int | None) -> None:
        """Let `list_waiting` find a payment again at a time; None: not by itself any more."""

    def close(self, payment: Payment, now_ms: int, again_at_ms: int | None) -> bool:
        """Turn a PENDING payment to CLOSED; False, without effect, if it is not any more."""

    def credit(
        self,
        payment: Payment,
        transaction: Transaction,
        now_ms: int,
        *,
        may_be_closed: bool,
        funding: tuple[Packet, Transfer] | None = None,
    ) -> bool:
        """Credit a payment, once for our number, to its user's account.

        With *funding*, a packet as it is once it is paid and the transfer that funds it, the money
        goes on to that packet, which is UNPAID and turns to OPEN in the same move.
        False, without effect, where the payment has a transaction, is closed and not
        *may_be_closed*, or the packet is not UNPAID any more: then look again.
        """

    def has_notice(self, channel: Channel, notice_id: str) -> bool:
        """Tell whether a callback was taken."""

    def note_notice(self, channel: Channel, notice_id: str, expires_at_ms: int) -> None:
        """Note that a callback was taken."""

    def list_lines(self, channel: Channel, day: str) -> list[BillLine]:
        """Return what the bill of a day must have, by our rows: payments, refunds, transfers."""


class ReturnBook(Protocol):
    """Transactions that are not credited, and refunds that were made outside.

    Reads are strong, except those of lists.
    """

    def put_return(self, returned: PaymentReturn, transaction: Transaction) -> PaymentReturn:
        """Note once that a transaction is not credited; return what is noted.

        Raises InvariantViolated for the one that was credited.
        """

    def list_returns(self, number: str) -> list[PaymentReturn]:
        """Return all transactions of a payment that are not credited."""

    def list_returns_due(
        self, channel: Channel, until_ms: int, limit: int
    ) -> list[tuple[str, str]]:
        """Return number and transaction id of what is to be given back."""

    def find_return(self, number: str, transaction_id: str) -> PaymentReturn | None:
        """Return one of them."""

    def delay_return(self, returned: PaymentReturn, at_ms: int) -> None:
        """Let `list_returns_due` find it again at a time."""

    def end_return(self, returned: PaymentReturn, found: RefundFound, now_ms: int) -> bool:
        """Note that it was given back, once, at the time that the gateway names."""

    def list_return(self, returned: PaymentReturn) -> None:
        """Leave one to a person that the gateway will never give back."""

    def list_refunds(self, number: str) -> list[PaymentRefund]:
        """Return the refunds of a payment that were made outside."""

    def reverse(self, payment: Payment, refund: PaymentRefund, found: RefundFound) -> bool:
        """Take a refund that was made outside from the user's account, and what they owe.

        Once for its number. False, without effect, where it was taken, or the account holds less
        than its part by now, or the payment has changed: then look again.
        """

    def collect(self, user_id: str, fen: int, at_ms: int, name: str) -> bool:
        """Take what a user owes from their account; False, without effect, if it is not so."""


class PaymentLists(Protocol):
    """What operators look through, newest first; InvalidRequest where a cursor is of no list."""

    def list_listed_returns(
        self, cursor: str | None, limit: int
    ) -> tuple[list[PaymentReturn], str | None]:
        """Return a page of transactions that wait for a person, and the next page's cursor."""

    def list_debts(self, cursor: str | None, limit: int) -> tuple[list[PaymentRefund], str | None]:
        """Return a page of refunds made outside that left a debt, whatever became of it."""
