"""Books of a simulated provider: orders, refunds, transfers, consents, and movements.

The books have no wire format. A `Policy` decides how the provider behaves, and *report* receives
every notification for the merchant.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from local.gateways.policy import Meeting, Policy, Statement
from local.gateways.records import (
    Changed,
    Consent,
    Line,
    Made,
    Order,
    Refund,
    Refused,
    Transaction,
    Transfer,
)

MS_PER_S = 1_000
BEIJING = timezone(timedelta(hours=8))
CONFIRM_WITHIN_MS = 24 * 60 * 60 * MS_PER_S
# Milliseconds for which a canceled transfer stays "cancelling".
CANCELLING_MS = 3 * MS_PER_S
FINAL = frozenset({"succeeded", "failed", "cancelled"})
Found = TypeVar("Found")


class Clock(Protocol):
    """Clock of a provider; simulations use a virtual clock."""

    def now_ms(self) -> int:
        """Return the time in milliseconds."""

    def sleep_ms(self, duration_ms: int) -> None:
        """Advance the clock."""


class WallClock:
    """This machine's clock, which tests can advance."""

    def __init__(self) -> None:
        self._ahead_ms = 0

    def now_ms(self) -> int:
        """Return the machine's time plus the advance."""
        return time.time_ns() // 1_000_000 + self._ahead_ms

    def sleep_ms(self, duration_ms: int) -> None:
        """Advance the clock; it never moves back."""
        if duration_ms < 0:
            raise ValueError("a clock is never put back")
        self._ahead_ms += duration_ms


class Gateway:
    """A provider's books for one merchant."""

    def __init__(
        self, clock: Clock, policy: Policy, report: Callable[[Made], object] = lambda _: None
    ) -> None:
        self.clock, self.policy, self._tell = clock, policy, report
        self.merchant: Any = None
        self.forget()

    def forget(self) -> None:
        """Reset the books."""
        self.orders: dict[str, Order] = {}
        self.refunds: dict[str, Refund] = {}
        self.transfers: dict[str, Transfer] = {}
        self.consents: dict[str, Consent] = {}
        self.book: list[Line] = []
        # Movements that lock a transfer's money at the request, and unlock it if it is not paid.
        self.locks: list[Line] = []

    # -- money in

    def order(self, order: Order) -> Order:
        """Create an order, or return the order that an earlier identical request created."""
        existing = self.orders.setdefault(order.number, order)
        _check_same(existing.wanted, order.wanted, "OUT_TRADE_NO_USED", 403)
        if (state := existing.state(self.clock.now_ms())) != "unpaid":
            raise Refused(400, "ORDERPAID" if state == "paid" else "ORDER_CLOSED")
        return existing

    def find_transaction(self, transaction_id: str) -> Transaction:
        """Return the payment with the provider's id *transaction_id*."""
        for order in self.orders.values():
            for transaction in order.transactions:
                if transaction.outside_no == transaction_id:
                    return transaction
        raise Refused(404, "ORDER_NOT_EXIST")

    def refunded_fen(self, paid: Transaction) -> int:
        """Return the refunded amount of a payment."""
        refunds = self.orders[paid.number].refunds
        return sum(r.amount_fen for r in refunds if r.transaction_id == paid.outside_no)

    def close(self, number: str) -> Order:
        """Close an order to further payments."""
        order = get(self.orders, number, "ORDER_NOT_EXIST")
        if order.transactions:
            raise Refused(400, "ORDERPAID")
        order.is_closed = True
        return order

    def take_payment(
        self, order: Order, user: str, amount_fen: int | None = None, *, is_forced: bool = False
    ) -> Transaction:
        """Take a user's payment; *is_forced* allows an order that is closed or already paid."""
        now_ms = self.clock.now_ms()
        if not is_forced and order.state(now_ms) != "unpaid":
            raise Refused(409, "NOT_PAYABLE", f"the order is {order.state(now_ms)}")
        paid = Transaction(
            order.number,
            f"42{digest('transaction', order.number, len(order.transactions), digits=26)}",
            order.amount_fen if amount_fen is None else amount_fen,
            order.user or user,
            now_ms,
            self.merchant,
        )
        order.transactions.append(paid)
        self._write(paid, now_ms)
        self._happened(paid)
        return paid

    def refund(
        self, number: str, of_number: str, transaction_id: str, amount_fen: int, wanted: object
    ) -> Refund:
        """Refund part or all of a payment, once per refund *number*; *of_number* may be ""."""
        if existing := self.refunds.get(number):
            _check_same(
                (existing.transaction_id, existing.amount_fen, existing.wanted),
                (transaction_id, amount_fen, wanted),
            )
            return existing
        paid = self.find_transaction(transaction_id)
        order = self.orders[paid.number]
        given_fen = self.refunded_fen(paid)
        if given_fen + amount_fen > paid.amount_fen or of_number not in {"", paid.number}:
            raise Refused(400, "INVALID_REQUEST", "more than was paid, or of another order")
        return self._give_back(order, number, paid, amount_fen, wanted)

    def refund_by_hand(
        self,
        order: Order,
        amount_fen: int,
        *,
        paid: Transaction | None = None,
        is_forced: bool = False,
    ) -> Refund:
        """Refund as an operator does in the merchant's console, under a new number."""
        paid = paid or next(iter(order.transactions), None)
        if paid is None or (
            not is_forced and amount_fen > paid.amount_fen - self.refunded_fen(paid)
        ):
            raise Refused(409, "NOT_REFUNDABLE", "more than was paid")
        number = f"console{digest('console', order.number, len(order.refunds), digits=20)}"
        return self._give_back(order, number, paid, amount_fen, order.wanted)

    def _give_back(
        self, order: Order, number: str, paid: Transaction, amount_fen: int, wanted: object
    ) -> Refund:
        outside_no, now_ms = f"50{digest('refund', number, digits=27)}", self.clock.now_ms()
        of = order.number, paid.outside_no, amount_fen, now_ms, outside_no, wanted
        refund = self.refunds[number] = Refund(number, *of)
        order.refunds.append(refund)
        self._write(refund, now_ms, order.number)
        self._happened(refund)
        return refund

    # -- money out

    def transfer(
        self,
        meeting: Meeting,
        number: str,
        wanted: object,
        amount_fen: int,
        user: str,
        *,
        asks: bool,
    ) -> Transfer:
        """Pay a user, once per number; with *asks*, the user must first confirm the transfer."""
        if existing := self.transfers.get(number):
            _check_same(existing.wanted, wanted, "ALREADY_EXISTS")
            return existing
        now_ms = self.clock.now_ms()
        state = "awaiting_confirmation" if asks else "processing"
        outside_no = f"13{digest('transfer', number, digits=35)}"
        of = outside_no, wanted, amount_fen, user, state, now_ms, now_ms
        made = self.transfers[number] = Transfer(number, *of)
        self._lock(made, "lock")
        self.policy.after_transfer(self, made, meeting)
        return made

    def move(
        self, transfer: Transfer, state: str, reason: str = "", at_ms: int | None = None
    ) -> None:
        """Move a transfer to another state, now or at *at_ms*; a final state never changes."""
        if transfer.state in FINAL:
            raise Refused(409, "FINAL", f"the transfer is {transfer.state}")
        transfer.state, transfer.reason = state, reason
        transfer.changed_at_ms = self.clock.now_ms() if at_ms is None else at_ms
        if state == "succeeded":
            self._write(transfer, transfer.changed_at_ms)
        elif state in FINAL:
            self._lock(transfer, "unlock")
        if state in FINAL:
            self._happened(transfer)

    def cancel(self, number: str) -> Transfer:
        """Begin to cancel a transfer that the user has not confirmed."""
        transfer = get(self.transfers, number)
        if transfer.state == "awaiting_confirmation":
            self.move(transfer, "cancelling")
        if transfer.state not in {"cancelling", "cancelled"}:
            raise Refused(400, "INVALID_REQUEST", f"the transfer is {transfer.state}")
        return transfer

    def confirm(self, transfer: Transfer) -> None:
        """Confirm the transfer as the user; this overrides a cancellation in progress."""
        if transfer.state not in {"awaiting_confirmation", "cancelling"}:
            raise Refused(409, "NOT_CONFIRMABLE", f"the transfer is {transfer.state}")
        self.move(transfer, "succeeded")

    # -- consents

    def ask(self, number: str, wanted: object, user: str) -> Consent:
        """Request a user's consent to transfers without confirmation, once per number."""
        outside_no = digest("authorization", number, digits=27)
        made = Consent(number, outside_no, wanted, user, self.clock.now_ms())
        existing = self.consents.setdefault(number, made)
        _check_same(existing.wanted, wanted)
        return existing

    def agree(self, number: str) -> Consent:
        """Give a requested consent, as its user."""
        consent = get(self.consents, number)
        if consent.state != "awaiting_confirmation":
            raise Refused(409, "NOT_CONFIRMABLE", f"the consent is {consent.state}")
        consent.state, consent.authorized_at_ms = "active", self.clock.now_ms()
        self._happened(consent)
        return consent

    def end(self, number: str, reason: str) -> Consent:
        """End a consent; ending it again has no effect."""
        consent = get(self.consents, number)
        if consent.state != "closed":
            consent.state, consent.reason = "closed", reason
            consent.closed_at_ms = self.clock.now_ms()
            self._happened(consent)
        return consent

    def end_consents(self) -> None:
        """Revoke all consents, as their users."""
        for number in self.consents:
            self.end(number, "USER_CLOSE")

    # -- time

    def lapse(self) -> None:
        """Complete cancellations; end transfers and consents not confirmed within a day."""
        now_ms = self.clock.now_ms()
        for transfer in self.transfers.values():
            if transfer.state == "cancelling" and now_ms >= transfer.changed_at_ms + CANCELLING_MS:
                self.move(transfer, "cancelled")
            elif _is_overdue(transfer, now_ms):
                self.move(transfer, "failed", "OVERDUE_CLOSE")
        for consent in self.consents.values():
            if _is_overdue(consent, now_ms):
                self.end(consent.number, "USER_OVERDUE_UNCONFIRMED")

    def statement(self, day: str, *kinds: str) -> Statement | None:
        """Return a day's lines of *kinds*, with the policy's faults; None if it is not ready.

        For transfers, the kind is either "transfer", written when one is paid, or "lock" and
        "unlock", written when one is requested and when it ends unpaid.
        """
        if day_of(self.clock.now_ms()) <= day:
            return None
        of_day = [
            movement
            for movement in (*self.book, *self.locks)
            if movement.kind in kinds and day_of(movement.moved_at_ms) == day
        ]
        return self.policy.statement(day, of_day)

    def tell_again(self, number: str) -> None:
        """Resend the notifications about an order's payments, a transfer, or a consent."""
        if order := self.orders.get(number):
            for transaction in order.transactions:
                self._tell(transaction)
        else:
            self._tell(self.consents.get(number) or get(self.transfers, number))

    def _happened(self, made: Made) -> None:
        """Notify the merchant of a payment, a refund, a final transfer, or a changed consent."""
        self._tell(made)

    def _write(
        self, made: Transaction | Refund | Transfer, at_ms: int, of_number: str = ""
    ) -> None:
        of = made.number, made.outside_no, made.amount_fen, at_ms, of_number
        self.book.append(Line(made.kind, *of))

    def _lock(self, made: Transfer, kind: str) -> None:
        of = made.number, made.outside_no, made.amount_fen, made.changed_at_ms
        self.locks.append(Line(kind, *of))


def get(records: Mapping[str, Found], number: str, code: str = "NOT_FOUND") -> Found:
    """Return the record with a number."""
    if number not in records:
        raise Refused(404, code, "nothing has this number")
    return records[number]


def confirmation_of(operation: Transfer | Consent) -> str:
    """Return the data with which the user's client can confirm, while confirmation is possible."""
    is_waiting = operation.state == "awaiting_confirmation"
    return f"package-{digest(operation.kind, operation.number, digits=20)}" if is_waiting else ""


def digest(*of: object, digits: int) -> str:
    """Return *digits* digits that depend only on the given texts."""
    value = int.from_bytes(sha256("/".join(map(str, of)).encode()).digest())
    return str(value % 10**digits).zfill(digits)


def wall_s() -> int:
    """Return this machine's time in seconds, for signatures."""
    return int(time.time())


def day_of(at_ms: int) -> str:
    """Return the Beijing date whose statement lists a movement at *at_ms*."""
    return datetime.fromtimestamp(at_ms // MS_PER_S, UTC).astimezone(BEIJING).isoformat()[:10]


def _check_same(
    existing: object, wanted: object, code: str = "INVALID_REQUEST", status: int = 400
) -> None:
    if existing != wanted:
        raise Changed(status, code, "the number was used with other parameters")


def _is_overdue(operation: Transfer | Consent, now_ms: int) -> bool:
    is_waiting = operation.state == "awaiting_confirmation"
    return is_waiting and now_ms >= operation.created_at_ms + CONFIRM_WITHIN_MS
