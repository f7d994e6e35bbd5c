"""A payment gateway in memory, both ways, with a book of its own that tests compare."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from redpacket.domain.authorization import AuthorizationFound, AuthorizationState
from redpacket.domain.errors import Unavailable
from redpacket.domain.gateway import (
    CURRENCY,
    BillKind,
    BillLine,
    Channel,
    Merchant,
    Notice,
    OrderFound,
    OrderState,
    OutsideAccount,
    PaymentOrder,
    RefundFound,
    RefundOrder,
    RefundState,
    Refusal,
    Transaction,
    TransferFound,
    TransferOrder,
    TransferState,
    bill_day,
)
from redpacket.ports.runtime import Clock
from redpacket.ports.withdrawals import Payee

MERCHANT = Merchant("app", "merchant")
SETTLING_MS = 60_000
CALL_MS_MAX = 10_000


@dataclass
class _Order:
    order: PaymentOrder
    is_closed: bool = False
    transactions: list[Transaction] = field(default_factory=list)


@dataclass
class _Transfer:
    order: TransferOrder
    found: TransferFound
    seen_from_ms: int = 0


@dataclass
class FakeGateway:
    """What a gateway knows; *book* are all lines of all its bills.

    What it does at any time happens where a suite sets it: *hides_for_ms* (NOT_FOUND, then found),
    *next_state* (what becomes of a transfer between two looks), *refusal* (instead of a transfer).
    """

    clock: Clock
    orders: dict[str, _Order] = field(default_factory=dict)
    refunds: dict[str, RefundFound] = field(default_factory=dict)
    transfers: dict[str, _Transfer] = field(default_factory=dict)
    book: list[BillLine] = field(default_factory=list)
    called_at_ms: list[int] = field(default_factory=list)
    hides_for_ms: Callable[[], int] = lambda: 0
    next_state: Callable[[TransferState], TransferState] = lambda _: TransferState.SUCCEEDED
    refusal: Callable[[TransferOrder], Refusal | None] = lambda _: None
    is_away: bool = False
    merchant: Merchant = MERCHANT
    paid_in_advance: Counter[str] = field(default_factory=Counter)
    _ids: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    # What people do

    def pay(
        self,
        number: str,
        *,
        amount_fen: int | None = None,
        payer_hash: str | None = None,
        is_forced: bool = False,
    ) -> Transaction | None:
        """Let somebody pay an order; None where it is closed, or paid and not *is_forced*."""
        order = self.orders.get(number)
        if order is None or (not is_forced and (order.is_closed or order.transactions)):
            return None
        payer = payer_hash or (order.order.payer.name_hash if order.order.payer else "anybody")
        transaction = Transaction(
            transaction_id=f"transaction{next(self._ids)}",
            number=number,
            amount_fen=order.order.amount_fen if amount_fen is None else amount_fen,
            currency=CURRENCY,
            merchant=self.merchant,
            payer_hash=payer,
            paid_at_ms=self.clock.now_ms(),
        )
        order.transactions.append(transaction)
        self._write(BillKind.PAYMENT, number, transaction.transaction_id, transaction.amount_fen)
        return transaction

    def refund_outside(self, number: str, amount_fen: int) -> str:
        """Refund a payment by hand, in the gateway's own console."""
        (transaction, *_) = self.orders[number].transactions
        refund_no = f"console{next(self._ids)}"
        self._give_back(refund_no, number, transaction.transaction_id, amount_fen)
        return refund_no

    def lines(self, kind: BillKind) -> list[BillLine]:
        return [line for line in self.book if line.kind is kind]

    # What the adapters call

    def check(self) -> None:
        if self.is_away:
            raise Unavailable("the gateway does not answer")

    def place(self, order: PaymentOrder) -> Mapping[str, str] | None:
        self.check()
        placed = self.orders.setdefault(order.number, _Order(order))
        assert placed.order == order, "a repeat of an order is the same order"
        if placed.is_closed or placed.transactions:
            return None
        return {"code_url": f"pay://{order.number}"}

    def give_back(self, order: RefundOrder) -> RefundFound:
        self.check()
        if order.refund_no not in self.refunds:
            taken = self.orders[order.number].transactions
            assert any(one.transaction_id == order.transaction_id for one in taken)
            self._give_back(order.refund_no, order.number, order.transaction_id, order.amount_fen)
        return self.refunds[order.refund_no]

    def _give_back(self, refund_no: str, number: str, transaction_id: str, fen: int) -> None:
        now_ms = self.clock.now_ms()
        self.refunds[refund_no] = RefundFound(
            refund_no, RefundState.SUCCEEDED, number, transaction_id, fen, now_ms
        )
        self._write(BillKind.REFUND, refund_no, transaction_id, fen, number)

    def transfer(self, order: TransferOrder) -> TransferFound:
        self.check()
        self.called_at_ms.append(self.clock.now_ms())
        if order.bill_no in self.transfers:
            before = self.transfers[order.bill_no]
            assert before.order == order, "a repeat of a transfer is the same transfer"
            return self._told(before)
        if refusal := self.refusal(order):
            return TransferFound(TransferState.REFUSED, refusal=refusal, reason=refusal.upper())
        state = TransferState.PROCESSING
        if order.authorization_no is None and "confirm" in order.details:
            state = TransferState.AWAITING_CONFIRMATION
        made = _Transfer(
            order,
            TransferFound(
                state,
                f"bill{next(self._ids)}",
                order.amount_fen,
                order.payee.name_hash,
                confirmation="package" if state is TransferState.AWAITING_CONFIRMATION else "",
            ),
            self.clock.now_ms() + self.hides_for_ms(),
        )
        self.transfers[order.bill_no] = made
        return self._told(made)

    def find(self, bill_no: str) -> TransferFound:
        self.check()
        made = self.transfers.get(bill_no)
        if made is None or self.clock.now_ms() < made.seen_from_ms:
            return TransferFound(TransferState.NOT_FOUND)
        self._move(made, self.next_state(made.found.state))
        # As at WeChat: what the payee's client needs is in the answers of calls alone.
        return replace(made.found, confirmation="")

    def cancel(self, bill_no: str) -> None:
        self.check()
        made = self.transfers.get(bill_no)
        if made and made.found.state is TransferState.AWAITING_CONFIRMATION:
            self._move(made, TransferState.CANCELLING)

    def _move(self, made: _Transfer, state: TransferState) -> None:
        if made.found.state in _FINAL or made.found.state is state:
            return
        made.found = replace(made.found, state=state)
        if state in _FINAL:
            made.found = replace(
                made.found, decided_at_ms=self.clock.now_ms(), reason=state.upper()
            )
        if state is TransferState.SUCCEEDED:
            order = made.order
            self._write(BillKind.TRANSFER, order.bill_no, made.found.outside_no, order.amount_fen)

    @staticmethod
    def _told(made: _Transfer) -> TransferFound:
        return made.found

    def _write(self, kind: BillKind, number: str, outside_no: str, fen: int, of: str = "") -> None:
        self.book.append(BillLine(kind, number, outside_no, fen, self.clock.now_ms(), of))


_FINAL = {TransferState.SUCCEEDED, TransferState.FAILED, TransferState.CANCELLED}


class FakePaymentsIn:
    """Implements PaymentsIn."""

    channel = Channel.WECHAT
    settling_ms = SETTLING_MS
    call_ms_max = CALL_MS_MAX

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self.merchant = MERCHANT
        self.ready_days: set[str] | None = None

    def order(self, order: PaymentOrder) -> Mapping[str, str] | None:
        return self._gateway.place(order)

    def query(self, number: str) -> OrderFound:
        self._gateway.check()
        order = self._gateway.orders.get(number)
        if order is None:
            return OrderFound(OrderState.NOT_FOUND)
        if order.transactions:
            # Like WeChat Pay it names the first one alone.
            return OrderFound(OrderState.PAID, (order.transactions[0],))
        return OrderFound(OrderState.CLOSED if order.is_closed else OrderState.UNPAID)

    def query_transaction(self, transaction_id: str) -> Transaction | None:
        self._gateway.check()
        taken = [one for order in self._gateway.orders.values() for one in order.transactions]
        return next((one for one in taken if one.transaction_id == transaction_id), None)

    def close(self, number: str) -> None:
        self._gateway.check()
        if number in self._gateway.orders:
            self._gateway.orders[number].is_closed = True

    def refund(self, order: RefundOrder) -> RefundFound:
        return self._gateway.give_back(order)

    def query_refund(self, refund_no: str) -> RefundFound:
        self._gateway.check()
        missing = RefundFound(refund_no, RefundState.NOT_FOUND)
        return self._gateway.refunds.get(refund_no, missing)

    def read_bill(self, day: str) -> list[BillLine] | None:
        return _bill(self._gateway, day, {BillKind.PAYMENT, BillKind.REFUND})


class FakePaymentsOut:
    """Implements PaymentsOut."""

    channel = Channel.WECHAT
    settling_ms = SETTLING_MS
    call_ms_max = CALL_MS_MAX

    def __init__(self, gateway: FakeGateway, details: str = "scene") -> None:
        self._gateway = gateway
        self._details = details

    def details(self) -> str:
        return self._details

    def transfer(self, order: TransferOrder) -> TransferFound:
        return self._gateway.transfer(order)

    def query(self, bill_no: str) -> TransferFound:
        return self._gateway.find(bill_no)

    def cancel(self, bill_no: str) -> None:
        self._gateway.cancel(bill_no)

    def read_bill(self, day: str) -> list[BillLine] | None:
        return _bill(self._gateway, day, {BillKind.TRANSFER})


class FakePayees:
    """Implements Payees: everybody has an account, unless a test takes it away."""

    def __init__(self) -> None:
        self.bound: dict[str, Payee | None] = {}
        self.authorization_no: str | None = None

    def find(self, user_id: str, channel: Channel) -> Payee | None:
        payee = Payee(an_account(user_id), authorization_no=self.authorization_no)
        return self.bound.get(user_id, payee)

    def bind(self, user_id: str, channel: Channel, account: OutsideAccount, now_ms: int) -> Payee:
        self.bound[user_id] = bound = Payee(account)
        return bound


class FakeAuthorizations:
    """Implements Authorizations; *states* is where each consent stands."""

    def __init__(self, gateway: FakeGateway) -> None:
        self._gateway = gateway
        self.states: dict[str, AuthorizationState] = {}
        self.payee_hashes: dict[str, str] = {}
        self.asked: list[str] = []

    def ask(
        self, authorization_no: str, payee: OutsideAccount, display_name: str
    ) -> AuthorizationFound:
        self._gateway.check()
        self.asked.append(authorization_no)
        before = self.payee_hashes.setdefault(authorization_no, payee.name_hash)
        assert before == payee.name_hash, "a repeat is the same request"
        self.states.setdefault(authorization_no, AuthorizationState.AWAITING_CONFIRMATION)
        return replace(self.query(authorization_no), confirmation=self._confirmation_of(payee))

    def query(self, authorization_no: str) -> AuthorizationFound:
        self._gateway.check()
        state = self.states.get(authorization_no, AuthorizationState.NOT_FOUND)
        return AuthorizationFound(state, self.payee_hashes.get(authorization_no))

    def close(self, authorization_no: str) -> None:
        self._gateway.check()
        if authorization_no in self.states:
            self.states[authorization_no] = AuthorizationState.CLOSED

    def agree(self, authorization_no: str) -> None:
        assert self.states[authorization_no] is AuthorizationState.AWAITING_CONFIRMATION
        self.states[authorization_no] = AuthorizationState.ACTIVE

    @staticmethod
    def _confirmation_of(payee: OutsideAccount) -> str:
        return f"agree-{payee.name_hash}"


class FakeLogins:
    """Implements Logins: a code of the form code-<name> is that name's, once."""

    def __init__(self) -> None:
        self.used: set[str] = set()

    def find_account(self, code: str) -> OutsideAccount | None:
        head, _, name = code.partition("-")
        if head != "code" or code in self.used:
            return None
        self.used.add(code)
        return an_account(name.partition("#")[0])


class FakeIssuer:
    """Implements TokenIssuer."""

    def subject_of(self, account: OutsideAccount) -> str:
        return f"wechat|{account.name_hash}"

    def issue(self, account: OutsideAccount, now_ms: int) -> tuple[str, int]:
        return f"token-{account.name_hash}", now_ms + 3_600_000


class FakeNoticeQueue:
    """Implements NoticeQueue with a list."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.is_away = False

    def put(self, channel: Channel, *notices: Notice) -> None:
        if self.is_away:
            raise Unavailable("the queue does not answer")
        self.notices += notices


def an_account(user_id: str) -> OutsideAccount:
    """Return a user's account at the gateway."""
    return OutsideAccount(sealed=f"sealed-{user_id}", name_hash=f"hash-{user_id}")


def _bill(gateway: FakeGateway, day: str, kinds: set[BillKind]) -> list[BillLine] | None:
    gateway.check()
    if bill_day(gateway.clock.now_ms()) <= day:
        return None
    return [
        line for line in gateway.book if line.kind in kinds and bill_day(line.moved_at_ms) == day
    ]
