"""Provider ports over the in-process simulator, and small fakes."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from local.gateways.core import Clock, Gateway, confirmation_of, day_of
from local.gateways.policy import Books, Call, Meeting, Policy, Statement
from local.gateways.records import Changed, Line, Made, Order, Refund, Refused, Transfer
from local.gateways.records import Transaction as Paid
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.authorization import AuthorizationFound, AuthorizationState
from redpacket.payments.model.provider import (
    ExternalAccount,
    Merchant,
    OrderFound,
    OrderState,
    Payee,
    PaymentOrder,
    ProviderEvent,
    RefundFound,
    RefundOrder,
    RefundState,
    Refusal,
    StatementKind,
    StatementLine,
    Transaction,
    TransferFound,
    TransferOrder,
    TransferState,
)
from redpacket.payments.ports import QUERY_HORIZON_MS
from redpacket.platform.errors import Unavailable

MERCHANT = Merchant("app", "merchant")
Bill: TypeAlias = Callable[[str, tuple[str, ...], list[Line]], list[Line] | None]
SETTLING_MS = 60_000
CALL_MS_MAX = 10_000
CONFIRM_MS = 23 * 3_600_000
"""Milliseconds within which users must confirm: an hour less than the provider's day."""
_REFUSALS = {
    "FREQUENCY_LIMITED": Refusal.THROTTLED,
    "NOT_ENOUGH": Refusal.OUT_OF_FUNDS,
    "USER_NOT_AUTHORIZED": Refusal.NOT_AUTHORIZED,
    "PARAM_ERROR": Refusal.OTHER,
}
_CODES = {refusal: code for code, refusal in _REFUSALS.items()}
_FINAL = {"succeeded", "failed", "cancelled"}


class FakeGateway(Gateway):
    """Simulator with hooks that a suite may set at any time.

    *hides_for_ms*: a transfer is NOT_FOUND for this time; *next_state*: a transfer's state at the
    next query; *refusal*: the answer to a transfer call, even to a retry; *is_away*: every call
    fails; *ends_orders*: overdue orders are closed before a call closes them;
    *refund_takes_ms*: a refund is PROCESSING for this time; *billed_on*: the day whose statement
    has a line; *edit_statement*: changes a day's lines, or returns None if there is no statement;
    *remembers_ms*: an older transfer is unknown, and would be paid again; *locks_money*: statements
    have locks; with this or *ends_in_time*, a transfer ends within CONFIRM_MS of its request;
    *has_lost_orders*: a restore lost some orders, so a retry may end differently.
    """

    def __init__(
        self,
        clock: Clock,
        merchant: Merchant = MERCHANT,
        report: Callable[[Made], object] = lambda _: None,
    ) -> None:
        super().__init__(clock, _Hooks(self), report)
        self.merchant = merchant
        self.called_at_ms: list[int] = []
        self.seen_from_ms: dict[str, int] = {}
        self.is_away = False
        self.ends_orders = False
        self.hides_for_ms: Callable[[], int] = lambda: 0
        self.next_state: Callable[[TransferState], TransferState] = lambda _: (
            TransferState.SUCCEEDED
        )
        self.refusal: Callable[[TransferOrder], Refusal | None] = lambda _: None
        self.refund_takes_ms: Callable[[str], int] = lambda _: 0
        self.billed_on: Callable[[Line], str] = lambda line: day_of(line.moved_at_ms)
        self.edit_statement: Bill = lambda _day, _kinds, lines: lines
        self.remembers_ms = 10**15
        self.has_lost_orders = False
        self.locks_money = False
        self.ends_in_time = False

    def lapse(self) -> None:
        """Delete transfers older than *remembers_ms*; *next_state* decides about the others."""
        since_ms = self.clock.now_ms() - self.remembers_ms
        for made in [*self.transfers.values()]:
            if made.created_at_ms < since_ms:
                if self.locks_money and made.state not in _FINAL:
                    until_ms = made.created_at_ms + CONFIRM_MS
                    self.move(made, "failed", "OVERDUE_CLOSE", until_ms)
                del self.transfers[made.number]

    def order(self, order: Order) -> Order:
        never_ms = self.clock.now_ms() + 10**12
        try:
            return super().order(
                order if self.ends_orders else replace(order, closes_at_ms=never_ms)
            )
        except Changed as changed:
            if not self.has_lost_orders:
                raise
            raise Refused(changed.status, changed.code) from changed

    def statement(self, day: str, *kinds: str) -> Statement | None:
        if day_of(self.clock.now_ms()) <= day:
            return None
        of_day = [
            movement
            for movement in (*self.book, *self.locks)
            if movement.kind in kinds and self.billed_on(movement) == day
        ]
        told = self.edit_statement(day, kinds, of_day)
        return None if told is None else Statement(told)

    def pay(
        self,
        number: str,
        *,
        amount_fen: int | None = None,
        payer_hash: str | None = None,
        is_forced: bool = False,
    ) -> Transaction | None:
        """Pay an order as a user; return None if it is unknown or, unless *is_forced*, it is paid
        or closed.
        """
        order = self.orders.get(number)
        if order is None or (not is_forced and order.state(self.clock.now_ms()) != "unpaid"):
            return None
        if payer_hash:
            order = replace(order, user=payer_hash)
        paid = self.take_payment(order, "anybody", amount_fen, is_forced=is_forced)
        return _transaction(paid)

    def refund_outside(self, number: str, amount_fen: int) -> str:
        """Refund a payment manually, in the provider's own console."""
        return self.refund_by_hand(self.orders[number], amount_fen, is_forced=True).number

    def refund_paid(self, paid: Paid, amount_fen: int) -> str:
        """Refund one transaction manually."""
        return self.refund_by_hand(self.orders[paid.number], amount_fen, paid=paid).number

    def run(self, transfer: Transfer) -> None:
        """Set a transfer to the state that *next_state* returns."""
        state = self.next_state(TransferState(transfer.state))
        if transfer.state not in _FINAL and transfer.state != state:
            until_ms = transfer.created_at_ms + CONFIRM_MS
            # The transfer ended in time, even if no query was made until now.
            is_timely = self.locks_money or self.ends_in_time
            at_ms = min(self.clock.now_ms(), until_ms) if is_timely else None
            self.move(transfer, state, state.upper(), at_ms)

    def lines(self, kind: StatementKind) -> list[Line]:
        return [line for line in self.book if line.kind == kind]

    def bill_lines(self) -> list[StatementLine]:
        return [_bill_line(line) for line in self.book]


class _Hooks(Policy):
    """Policy that calls the hooks of a FakeGateway."""

    def __init__(self, gateway: FakeGateway) -> None:
        super().__init__()
        self._of = gateway

    def meet(self, books: Books, call: Call) -> Meeting:
        of, transfer = self._of, self._of.transfers.get(call.number)
        if of.is_away:
            return _not_done(Refused(503, "SYSTEM_ERROR", "the gateway does not answer"))
        if call.action == "transfer":
            of.called_at_ms.append(of.clock.now_ms())
            if refusal := of.refusal(call.wanted):
                return _not_done(Refused(403, _CODES[refusal]))
        if call.action == "find_transfer" and transfer:
            if of.clock.now_ms() < of.seen_from_ms[call.number]:
                return _not_done(Refused(404, "NOT_FOUND"))
            of.run(transfer)
        return Meeting()

    def after_transfer(self, books: Books, transfer: Transfer, meeting: Meeting) -> None:
        self._of.seen_from_ms[transfer.number] = transfer.created_at_ms + self._of.hides_for_ms()


class _Port:
    """Port over a simulator that executes calls in virtual time, as its policy decides."""

    settling_ms = SETTLING_MS
    call_ms_max = CALL_MS_MAX
    query_horizon_ms = QUERY_HORIZON_MS

    def __init__(self, gateway: Gateway, channel: ProviderName = ProviderName.WECHAT) -> None:
        self._gateway, self.channel = gateway, channel
        self.merchant: Merchant = gateway.merchant or MERCHANT

    def _call(self, call: Call, do: Callable[[Meeting], Any], *expected: str) -> Any:
        """Return the result of *do*, or None for a refusal that equals or begins with
        *expected*.
        """
        self._gateway.lapse()
        meeting = self._gateway.policy.meet(self._gateway, call)
        self._gateway.clock.sleep_ms(meeting.wait_ms)
        try:
            done = do(meeting) if meeting.is_carried_out else None
            self._gateway.clock.sleep_ms(meeting.hang_ms)
            if meeting.refusal:
                raise meeting.refusal
        except Changed as error:
            raise AssertionError("a repeat is the same request") from error
        except Refused as refused:
            if refused.code.startswith(expected):
                return None
            raise Unavailable(refused.code) from refused
        return done

    def _bill(self, day: str, *kinds: str) -> list[StatementLine] | None:
        statement = self._call(
            Call("statement", ""), lambda _: self._gateway.statement(day, *kinds)
        )
        return None if statement is None else [_bill_line(line) for line in statement.lines]


class FakePaymentsIn(_Port):
    """Implements PaymentsIn."""

    currency = "CNY"

    def order(self, order: PaymentOrder) -> Mapping[str, str] | None:
        user = order.payer.name_hash if order.payer else None
        made = Order(order.number, order, order.amount_fen, user, order.expires_at_ms)
        call = Call("order", order.number, order, creates=True)
        placed = self._call(call, lambda _: self._gateway.order(made), "ORDER", "OUT_TRADE")
        return placed and {"code_url": f"pay://{order.number}"}

    def query(self, number: str) -> OrderFound:
        order = self._find("find_order", self._gateway.orders, number)
        if order is None:
            return OrderFound(OrderState.NOT_FOUND)
        # Like WeChat Pay, the simulator shows only the first transaction.
        paid = tuple(self._shown(transaction) for transaction in order.transactions[:1])
        return OrderFound(OrderState(order.state(self._gateway.clock.now_ms())), paid)

    def query_transaction(self, transaction_id: str) -> Transaction | None:
        call = Call("find_transaction", transaction_id)
        paid = self._call(call, lambda _: self._gateway.find_transaction(transaction_id), "ORDER")
        return paid and self._shown(paid)

    def close(self, number: str) -> None:
        self._call(Call("close", number), lambda _: self._gateway.close(number), "ORDER")

    def refund(self, order: RefundOrder) -> RefundFound:
        call = Call("refund", order.refund_no, order, creates=True)
        # Like WeChat Pay, the simulator finds the payment by its transaction id.
        of = order.refund_no, "", order.transaction_id, order.amount_fen, order
        return self._refund(self._call(call, lambda _: self._gateway.refund(*of)))

    def query_refund(self, refund_no: str) -> RefundFound:
        refund = self._find("find_refund", self._gateway.refunds, refund_no)
        return self._refund(refund) if refund else RefundFound(refund_no, RefundState.NOT_FOUND)

    def read_statement(self, day: str) -> list[StatementLine] | None:
        return self._bill(day, "payment", "refund")

    def _refund(self, refund: Refund) -> RefundFound:
        takes_ms = getattr(self._gateway, "refund_takes_ms", lambda _: 0)(refund.number)
        of = RefundState(refund.state), refund.of_number, refund.transaction_id, refund.amount_fen
        if self._gateway.clock.now_ms() < refund.refunded_at_ms + takes_ms:
            return RefundFound(refund.number, RefundState.PROCESSING, *of[1:])
        return RefundFound(refund.number, *of, refund.refunded_at_ms)

    def _shown(self, paid: Paid) -> Transaction:
        is_refunded = self._gateway.refunded_fen(paid) > 0
        return replace(_transaction(paid), is_refunded=is_refunded)

    def _find(self, action: str, records: Mapping[str, Any], number: str) -> Any:
        return self._call(Call(action, number), lambda _: records.get(number), "ORDER")


class FakePaymentsOut(_Port):
    """Implements PaymentsOut."""

    def __init__(
        self, gateway: Gateway, details: str = "scene", channel: ProviderName = ProviderName.WECHAT
    ) -> None:
        super().__init__(gateway, channel)
        self.needs_consent = self.locks_money = channel is ProviderName.WECHAT
        self._details = details

    def details(self) -> str:
        return self._details

    def transfer(self, order: TransferOrder) -> TransferFound:
        asks = order.authorization_no is None and "confirm" in order.details
        is_authorized = order.authorization_no is not None
        call = Call("transfer", order.transfer_no, order, creates=True, is_authorized=is_authorized)
        of = order.transfer_no, order, order.amount_fen, order.payee.name_hash
        try:
            made = self._call(call, lambda met: self._gateway.transfer(met, *of, asks=asks))
        except Unavailable as error:
            if refusal := _REFUSALS.get(str(error)):
                return TransferFound(TransferState.REFUSED, refusal=refusal, reason=str(error))
            raise
        return _transfer(made)

    def query(self, transfer_no: str) -> TransferFound:
        call = Call("find_transfer", transfer_no)
        made = self._call(call, lambda _: self._gateway.transfers.get(transfer_no), "NOT_FOUND")
        # As with WeChat Pay, only answers to transfer calls have the data for the payee's client.
        return replace(_transfer(made), confirmation="")

    def cancel(self, transfer_no: str) -> None:
        expected = "INVALID_REQUEST", "NOT_FOUND"
        self._call(
            Call("cancel", transfer_no), lambda _: self._gateway.cancel(transfer_no), *expected
        )

    def read_statement(self, day: str) -> list[StatementLine] | None:
        has_locks = getattr(self._gateway, "locks_money", False)
        return self._bill(day, *(("lock", "unlock") if has_locks else ("transfer",)))


class FakePayees:
    """Payees in which every user has an account, unless a test removes it."""

    def __init__(self) -> None:
        self.bound: dict[str, Payee | None] = {}
        self.authorization_no: str | None = None

    def find(self, user_id: str, channel: ProviderName) -> Payee | None:
        payee = Payee(an_account(user_id), authorization_no=self.authorization_no)
        return self.bound.get(user_id, payee)

    def bind(
        self,
        user_id: str,
        channel: ProviderName,
        account: ExternalAccount,
        now_ms: int,
        first_wait_ms: int = 0,
    ) -> Payee:
        self.bound[user_id] = bound = Payee(account)
        return bound


class FakeAuthorizations(_Port):
    """Authorizations; *requests* has every requested number."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(gateway)
        self.requests: list[str] = []

    def ask(
        self, authorization_no: str, payee: ExternalAccount, display_name: str
    ) -> AuthorizationFound:
        of = authorization_no, display_name, payee.name_hash
        self._call(Call("ask", authorization_no), lambda _: self._gateway.ask(*of))
        self.requests.append(authorization_no)
        confirmation = f"agree-{payee.name_hash}"
        return replace(self.query(authorization_no), confirmation=confirmation)

    def query(self, authorization_no: str) -> AuthorizationFound:
        consents = self._gateway.consents
        consent = self._call(
            Call("find_consent", authorization_no), lambda _: consents.get(authorization_no)
        )
        if consent is None:
            return AuthorizationFound(AuthorizationState.NOT_FOUND)
        return AuthorizationFound(AuthorizationState(consent.state), consent.user)

    def close(self, authorization_no: str) -> None:
        call = Call("end", authorization_no)
        self._call(call, lambda _: self._gateway.end(authorization_no, "us"), "NOT_FOUND")


class FakeLogins:
    """Logins that accept the code `code-<name>` for that user, once."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        self.calls = 0

    def find_account(self, code: str, owner_of: Callable[[str], str]) -> ExternalAccount | None:
        self.calls += 1
        head, _, name = code.partition("-")
        if head != "code" or code in self.used:
            return None
        self.used.add(code)
        account = an_account(name.partition("#")[0])
        return replace(account, owner=owner_of(account.name_hash))


class FakeIssuer:
    """Implements TokenIssuer."""

    def subject_of(self, name_hash: str) -> str:
        return f"wechat|{name_hash}"

    def issue(self, account: ExternalAccount, now_ms: int) -> tuple[str, int]:
        return f"token-{account.name_hash}", now_ms + 3_600_000


class FakeNoticeQueue:
    """NoticeQueue backed by a list."""

    def __init__(self) -> None:
        self.notices: list[ProviderEvent] = []
        self.delays_s: list[int] = []
        self.is_away = False

    def put(self, channel: ProviderName, *notices: ProviderEvent, delay_s: int = 0) -> None:
        if self.is_away:
            raise Unavailable("the queue does not answer")
        self.notices += notices
        self.delays_s += [delay_s] * len(notices)


def an_account(user_id: str) -> ExternalAccount:
    """Return a user's account at the provider."""
    return ExternalAccount(f"1:sealed-{user_id}", f"hash-{user_id}", user_id)


def _not_done(refusal: Refused) -> Meeting:
    return Meeting(is_carried_out=False, refusal=refusal)


def _transaction(paid: Paid) -> Transaction:
    return Transaction(
        *(paid.outside_no, paid.number, paid.amount_fen, "CNY"),
        *(paid.merchant or MERCHANT, paid.user, paid.paid_at_ms),
    )


def _transfer(made: Transfer | None) -> TransferFound:
    if made is None:
        return TransferFound(TransferState.NOT_FOUND)
    return TransferFound(
        TransferState(made.state),
        *(made.outside_no, made.amount_fen, made.user),
        made.changed_at_ms if made.state in _FINAL else 0,
        confirmation_of(made),
        reason=made.reason,
    )


def _bill_line(line: Line) -> StatementLine:
    of = line.number, line.outside_no, line.amount_fen, line.moved_at_ms, line.of_number
    kind = StatementKind.TRANSFER if "lock" in line.kind else StatementKind(line.kind)
    return StatementLine(kind, *of, is_return=line.kind == "unlock")
