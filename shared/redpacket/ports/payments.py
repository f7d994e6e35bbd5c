"""What payments and withdrawals need from outside: gateways, their callbacks, and the books.

The contract between flows and gateways (docs/architecture.md has the steps):

* **Numbers are ours.** Each order, refund and transfer has a number that we choose: at most 32
  letters and digits. A gateway carries a number out once at most, for ever. A call that comes again
  with the same number and the same content changes nothing, and answers as things stand then.
* **Unknown is not refused.** `Unavailable` means that nothing is known: a time-out, a lost
  connection, HTTP 5xx, `SYSTEM_ERROR`, a throttle whose effect is not certain, an answer that can't
  be read or whose signature is wrong. The flow repeats the SAME number and queries.
* **A refusal is a hint.** Answers outside of 2xx are not signed, so that even a clear refusal is
  confirmed by a query before any money comes back.
* **NOT_FOUND needs time.** A query may miss what was just called. NOT_FOUND counts only once
  `settling_ms` have passed since the last moment at which a call can have begun; the flow adds its
  lease and its function's time-out.
* **Final is for ever.** SUCCEEDED, FAILED and CANCELLED of a number never change.
* **No retries inside.** An adapter makes one HTTP call for each method, with a time-out of
  `call_ms_max` at most, and keeps nothing: pacing, repeats and breakers are the flows'.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Each flow and adapter imports this page; none needs the words of all the others.
    from collections.abc import Mapping, Sequence

    from redpacket.domain.authorization import Authorization
    from redpacket.domain.gateway import (
        BillLine,
        Channel,
        Merchant,
        Notice,
        OrderFound,
        OutsideAccount,
        PaymentOrder,
        RefundFound,
        RefundOrder,
        Transaction,
        TransferFound,
        TransferOrder,
    )
    from redpacket.domain.ledger import Transfer
    from redpacket.domain.packet import Packet
    from redpacket.domain.payments import Payment, PaymentRefund, PaymentReturn
    from redpacket.domain.withdrawals import Stop, Withdrawal
    from redpacket.ports.accounts import Request


PAYMENTS_CURSOR = r"[0-9]{13}#[!-~]{1,200}"
"""The form of where a list of withdrawals, returns or debts goes on: a sort key."""


class PaymentsIn(Protocol):
    """A gateway's side of money that comes in."""

    channel: Channel
    merchant: Merchant
    """In whose name orders are made: a transaction in another one's name is not ours."""
    settling_ms: int
    """For how long after a call a query may still answer NOT_FOUND for what the call made."""
    call_ms_max: int
    """After how long a call is given up."""

    def order(self, order: PaymentOrder) -> Mapping[str, str] | None:
        """Announce a payment, and return what the payer's client needs to pay.

        That is `{"code_url"}` for native, the client's signed parameters for jsapi; for the host
        what its wallet answered. None where the number takes no payment any more, because it is
        paid or closed: a query says which. Raises Unavailable.
        """

    def query(self, number: str) -> OrderFound:
        """Return an order with every payment that was taken for it, not only the first.

        Raises Unavailable.
        """

    def query_transaction(self, transaction_id: str) -> Transaction | None:
        """Return a payment by the gateway's own id; None where there is none (NOT_FOUND).

        For payments that `query` does not list: a callback or a bill named them. Raises
        Unavailable.
        """

    def close(self, number: str) -> None:
        """Take no payment for a number from now on; a payment under way may still arrive.

        Returns as well where it is closed, paid, or not known: a query says which. Raises
        Unavailable.
        """

    def refund(self, order: RefundOrder) -> RefundFound:
        """Give a payment back, wholly or in part, once for its *refund_no*. Raises Unavailable.

        A refusal is the state FAILED only where the gateway's signed answer says so.
        """

    def query_refund(self, refund_no: str) -> RefundFound:
        """Return a refund, ours or one that was made outside; NOT_FOUND as a state.

        Raises Unavailable.
        """

    def read_bill(self, day: str) -> list[BillLine] | None:
        """Return all payments and refunds of a day, "2026-11-22" in the gateway's time zone.

        None where the gateway has no bill of the day yet. The adapter has compared the file's hash.
        Raises Unavailable.
        """


class PaymentsOut(Protocol):
    """A gateway's side of money that goes out."""

    channel: Channel
    settling_ms: int
    """For how long after a call a query may still answer NOT_FOUND for what the call made."""
    call_ms_max: int
    """After how long a call is given up."""

    def details(self) -> str:
        """Return what the settings add to each transfer, like its scene and remark, as text.

        A withdrawal keeps it, so that a repeat after a deployment sends what the first call sent.
        """

    def transfer(self, order: TransferOrder) -> TransferFound:
        """Pay out, once for its *bill_no*, and return where it stands, or REFUSED.

        REFUSED is only for answers that name their reason. THROTTLED and OUT_OF_FUNDS pass by
        themselves; NOT_AUTHORIZED is USER_NOT_AUTHORIZED; OTHER is for what no repeat changes. Of a
        number that is carried out already the state is returned, whatever the gateway calls it.
        Raises Unavailable.
        """

    def query(self, bill_no: str) -> TransferFound:
        """Return where a transfer stands; NOT_FOUND as a state. Raises Unavailable."""

    def cancel(self, bill_no: str) -> None:
        """Ask that a transfer which the payee has not confirmed is not made.

        It only asks: a query says what came of it, and SUCCEEDED may. Returns as well where the
        transfer can't be cancelled, or is not known. Raises Unavailable.
        """

    def read_bill(self, day: str) -> list[BillLine] | None:
        """Return all transfers that moved money on a day, as `PaymentsIn.read_bill`."""


class Callbacks(Protocol):
    """Checks what a gateway sends to us."""

    def read(self, headers: Mapping[str, str], body: bytes, now_ms: int) -> Notice:
        """Return what a callback is about; header names come in lower case.

        Over the raw bytes: the signature, by a key that is configured; the timestamp, at most five
        minutes from *now_ms*; then the content is decrypted and read. Raises SignatureInvalid for
        all of them. Nonces are the flow's (`PaymentBook.note_notice`).
        """


class NoticeQueue(Protocol):
    """Carries notices to the payment function, at least once."""

    def put(self, channel: Channel, *notices: Notice) -> None:
        """Queue notices. Raises Unavailable; some may be queued then."""


@dataclass(frozen=True, slots=True)
class Payee:
    """A user's account at a gateway, and when it took another one's place; 0 for the first one.

    *authorization_no* names the user's consent to transfers that need no confirmation, while it is
    ACTIVE. *asked_no* names it from when it was asked for.
    """

    account: OutsideAccount
    rebound_at_ms: int = 0
    authorization_no: str | None = None
    asked_no: str | None = None


@dataclass(frozen=True, slots=True)
class WithdrawalLimits:
    """How often, and how much, one user may withdraw on one day."""

    count_max: int
    fen_max: int


@dataclass(frozen=True, slots=True)
class PaymentLimits:
    """How many payments one user may begin on one day; a paid one counts, too."""

    count_max: int


class PaymentBook(Protocol):
    """Payments, durably; nothing else may credit one. All reads are strong but those of lists."""

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

    def list_payments(self, numbers: Sequence[str]) -> list[Payment]:
        """Return those that exist, in no order."""

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

    def has_notice(self, channel: Channel, notice_id: str) -> bool:
        """Tell whether a callback was taken."""

    def note_notice(self, channel: Channel, notice_id: str, expires_at_ms: int) -> None:
        """Note that a callback was taken."""

    def list_lines(self, channel: Channel, day: str) -> list[BillLine]:
        """Return what the bill of a day must have, by our rows: payments, refunds, transfers."""


class PaymentLists(Protocol):
    """What operators look through, newest first; InvalidRequest where a cursor is of no list."""

    def list_listed_returns(
        self, cursor: str | None, limit: int
    ) -> tuple[list[PaymentReturn], str | None]:
        """Return a page of transactions that wait for a person, and the next page's cursor."""

    def list_debts(self, cursor: str | None, limit: int) -> tuple[list[PaymentRefund], str | None]:
        """Return a page of refunds made outside that left a debt, whatever became of it."""


class WithdrawalBook(Protocol):
    """Withdrawals, durably. Each change names what it was judged by, and is refused otherwise."""

    def hold(self, withdrawal: Withdrawal, request: Request, limits: WithdrawalLimits) -> str:
        """Take the money and write the frozen request, once; return the id that it made.

        Raises InsufficientFunds, WithdrawalLimitReached, IdempotencyKeyReused, Busy.
        """

    def find_held(self, request: Request) -> str | None:
        """Return the id that this request made before. Raises IdempotencyKeyReused."""

    def find(self, withdrawal_id: str) -> Withdrawal | None:
        """Return a withdrawal, read strongly."""

    def list_withdrawals(self, withdrawal_ids: Sequence[str]) -> list[Withdrawal]:
        """Return those that exist, read strongly, in no order."""

    def list_of_user(
        self, user_id: str, cursor: str | None, limit: int
    ) -> tuple[list[Withdrawal], str | None]:
        """Return a page of a user's withdrawals, newest first, and the next page's cursor."""

    def list_to_call(self, channel: Channel, until_ms: int, limit: int) -> list[str]:
        """Return ids whose transfer is to be called, those that wait longest first."""

    def list_to_look(self, channel: Channel, until_ms: int, limit: int) -> list[str]:
        """Return ids to ask the gateway for."""

    def promise(self, withdrawal_id: str, expected_at_ms: int) -> None:
        """Keep when the user was told that it is made."""

    def lease(self, seen: Withdrawal, until_ms: int, now_ms: int) -> Withdrawal | None:
        """Take the right to call until *until_ms*; None, without effect, if it has changed.

        From then on the row is found by `list_to_look` after the lease, and no longer to be called.
        Refused where the withdrawal has ended or stopped, or another lease still runs at *now_ms*.
        """

    def stop(self, seen: Withdrawal, stop: Stop, reason: str, look_at_ms: int) -> Withdrawal | None:
        """Make no further call for this bill; None, without effect, as in `lease`."""

    def await_confirmation(self, seen: Withdrawal, found: TransferFound, look_at_ms: int) -> None:
        """Keep what the payee's client needs to confirm."""

    def look_again(self, seen: Withdrawal, at_ms: int) -> None:
        """Let `list_to_look` find it again at a time."""

    def call_again(self, seen: Withdrawal, at_ms: int) -> bool:
        """Let `list_to_call` find it at a time, with the same number."""

    def renumber(self, seen: Withdrawal, at_ms: int) -> bool:
        """Begin a new bill, without authorization, after the one before can never be made."""

    def post(self, seen: Withdrawal, found: TransferFound, now_ms: int) -> bool:
        """Turn to PAID, once. False where it was before. Raises InvariantViolated if returned."""

    def give_back(self, seen: Withdrawal, *, is_cancelled: bool, reason: str, now_ms: int) -> bool:
        """Turn to CANCELLED or FAILED, and give the money back; False if it has changed."""


class GatewayPace(Protocol):
    """A gateway's limits as all functions share them, durably."""

    def find_slot(self, channel: Channel, name: str) -> int:
        """Return the microsecond of the next free slot; 0 where none was taken."""

    def take_slots(self, channel: Channel, name: str, seen_us: int, next_us: int) -> bool:
        """Move the next free slot from *seen_us* to *next_us*; False if it is elsewhere by now."""

    def find_breaker(self, channel: Channel) -> tuple[int, int]:
        """Return until when calls rest, and how often in a row they have."""

    def set_breaker(self, channel: Channel, until_ms: int, times: int) -> None:
        """Let calls rest until a time."""


class Payees(Protocol):
    """Which account at a gateway belongs to a user."""

    def find(self, user_id: str, channel: Channel) -> Payee | None:
        """Return a user's account, read strongly; None where none is bound."""


class BoundPayees(Payees, Protocol):
    """Accounts that users bind by themselves; one account belongs to one user."""

    def bind(self, user_id: str, channel: Channel, account: OutsideAccount, now_ms: int) -> Payee:
        """Bind an account to a user in place of the one before, if any, which is free then.

        The account that is bound already stays as it is. A consent that was asked for is for the
        account before: it turns to CLOSING, and is in no work list but `list_waiting`. Raises
        OpenidInUse.
        """


class AuthorizationBook(Protocol):
    """Users' consent to transfers without a tap, durably; a user has one at most per channel."""

    def begin(self, authorization: Authorization, payee: Payee) -> bool:
        """Write a request whose number the user's account names from then on.

        False, without effect, where the account or its consent is not as in *payee* any more.
        """

    def find(self, number: str) -> Authorization | None:
        """Return a consent, read strongly."""

    def list_waiting(self, channel: Channel, until_ms: int, limit: int) -> list[str]:
        """Return numbers to ask the gateway for, those that wait longest first."""

    def look_again(self, number: str, at_ms: int) -> None:
        """Let `list_waiting` find a consent at a time that it finds already."""

    def keep_confirmation(self, authorization: Authorization, confirmation: str) -> None:
        """Keep what the user's client needs, while the consent is AWAITING_CONFIRMATION."""

    def activate(self, authorization: Authorization) -> bool:
        """Turn to ACTIVE, so that transfers use it; then it is looked at no more.

        False, without effect, where the user's account does not name it any more.
        """

    def doubt(self, user_id: str, channel: Channel, number: str, now_ms: int) -> None:
        """Let no transfer use an ACTIVE consent until the gateway was asked for it again."""

    def begin_close(self, authorization: Authorization, now_ms: int) -> bool:
        """Turn to CLOSING: no transfer uses it from then on; it is looked at until it has ended.

        False, without effect, where the user's account does not name it any more.
        """

    def close(self, authorization: Authorization, now_ms: int) -> None:
        """Turn to CLOSED, and let the user's account name it no longer."""
