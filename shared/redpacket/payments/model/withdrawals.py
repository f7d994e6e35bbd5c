"""Outgoing withdrawals: at most one transfer succeeds per withdrawal (I6).

The money leaves the user's account before any call. The row holds the money until the provider has
paid the withdrawal or can no longer pay it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from redpacket.ledger.model import (
    Transfer,
    TransferKind,
    user_account,
    withdrawal_account,
)
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import (
    NO_MERCHANT,
    ExternalAccount,
    Merchant,
    Refusal,
    TransferFound,
    TransferOrder,
    TransferState,
)
from redpacket.platform.bounds import CLOCKS_DIFFER_MS
from redpacket.platform.errors import InvariantViolated

LEASE_MS = 20_000
"""Milliseconds for which one worker has the exclusive right to call the provider."""

FUNCTION_MS = 60_000
"""Function timeout in milliseconds; a stalled worker cannot call after the timeout."""

WITHDRAWAL_FEN_MIN = 30
"""Smallest amount in fen that every provider accepts for a transfer."""

GIVEN_UP_AFTER_MS = 72 * 3_600_000
"""Age in milliseconds at which calls for an unpaid withdrawal stop and we try to cancel it."""

ID_LENGTH = 30
"""Length of a withdrawal id. A transfer number adds two digits, up to the providers' limit."""


@dataclass(frozen=True, slots=True)
class WithdrawalLimits:
    """Maximum number and sum of one user's withdrawals on one day."""

    count_max: int
    fen_max: int


class WithdrawalStatus(StrEnum):
    """Status of a withdrawal; PAID, FAILED and CANCELLED are final."""

    QUEUED = "queued"
    PROCESSING = "processing"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    CANCELLING = "cancelling"
    PAID = "paid"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL = frozenset({WithdrawalStatus.PAID, WithdrawalStatus.FAILED, WithdrawalStatus.CANCELLED})
RETURNED = frozenset({WithdrawalStatus.FAILED, WithdrawalStatus.CANCELLED})


class Stop(StrEnum):
    """Reasons to stop calls for a transfer; then queries or statements decide its outcome."""

    CANCELLED = "cancelled"
    EXPIRED = "expired"
    REFUSED = "refused"
    NOT_AUTHORIZED = "not_authorized"


CANCELS = frozenset({Stop.CANCELLED, Stop.EXPIRED})
"""Stops that request a cancellation. They replace a refusal, but not each other."""


CALLS_KEPT = 10
"""Maximum number of provider answers that a withdrawal stores for operators."""


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """State and code in the provider's answer to a call or query, or "no answer"."""

    at_ms: int
    answer: str


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """Row of a withdrawal: the frozen request, the transfer number, and the current state.

    *lease_until_ms* never decreases; *call_count* counts leases. The withdrawal counts
    toward the limits of *day*.
    """

    withdrawal_id: str
    user_id: str
    amount_fen: int
    channel: ProviderName
    payee: ExternalAccount
    authorization_no: str | None
    details: str
    day: str
    created_at_ms: int
    merchant: Merchant = NO_MERCHANT
    status: WithdrawalStatus = WithdrawalStatus.QUEUED
    attempt_no: int = 1
    call_count: int = 0
    lease_until_ms: int = 0
    stop: Stop | None = None
    expected_at_ms: int = 0
    confirmation: str = field(default="", repr=False)
    outside_no: str = ""
    reason: str = ""
    ended_at_ms: int | None = None
    returned_on: str = ""
    """State in the last provider answer before the money was returned."""
    is_listed: bool = field(default=True, compare=False)
    """Whether a work list contains the withdrawal."""
    next_at_ms: int | None = field(default=None, compare=False)
    """Time at which the withdrawal is due in its work list; None after the withdrawal ends."""
    calls: tuple[ProviderAnswer, ...] = field(default=(), compare=False)

    @property
    def transfer_no(self) -> str:
        """Return the number of the only transfer that may be in flight."""
        return f"{self.withdrawal_id}{self.attempt_no:02d}"

    @property
    def next_transfer_no(self) -> str:
        """Return the number of the transfer that may replace this one."""
        return replace(self, attempt_no=self.attempt_no + 1).transfer_no

    def has_unpaid(self, transfer_no: str, *, is_over: bool) -> bool:
        """Return whether a transfer is unpaid or, if *is_over*, whether it will never be paid.

        A transfer that another number has replaced will never be paid.
        """
        if transfer_no == self.transfer_no:
            return self.status in RETURNED or not (is_over or self.is_final)
        numbers = (replace(self, attempt_no=each) for each in range(1, self.attempt_no))
        return any(transfer_no == each.transfer_no for each in numbers)

    @property
    def order(self) -> TransferOrder:
        """Return the order for the provider, identical on each retry of a transfer."""
        return TransferOrder(
            self.transfer_no, self.amount_fen, self.payee, self.authorization_no, self.details
        )

    @property
    def is_final(self) -> bool:
        """Return whether the status is final."""
        return self.status in FINAL


def withdrawal_of_transfer(transfer_no: str) -> str:
    """Return the withdrawal id that a transfer number contains."""
    return transfer_no[:ID_LENGTH]


class NextAction(StrEnum):
    """Action to take after the provider's answer."""

    POST = "post"
    RETURN_FAILED = "return_failed"
    RETURN_CANCELLED = "return_cancelled"
    AWAIT = "await"
    LOOK = "look"
    ASK_TO_CANCEL = "ask_to_cancel"
    CALL = "call"
    NEW_NUMBER = "new_number"
    STOP_REFUSED = "stop_refused"
    STOP_NOT_AUTHORIZED = "stop_not_authorized"
    CALL_LATER = "call_later"


_ENDS = {
    # A requested cancellation does not undo a transfer that the provider has paid.
    TransferState.SUCCEEDED: NextAction.POST,
    TransferState.FAILED: NextAction.RETURN_FAILED,
    TransferState.CANCELLED: NextAction.RETURN_CANCELLED,
}


GONE = frozenset({TransferState.NOT_FOUND, TransferState.FAILED, TransferState.CANCELLED})
"""States of a transfer that was not paid and that another number may have replaced."""


def judge(
    withdrawal: Withdrawal, transfer: TransferFound, now_ms: int, settling_ms: int, horizon_ms: int
) -> NextAction:
    """Return the next action for a withdrawal, given the provider's answer.

    Raises InvariantViolated if the provider's transfer differs from the order.
    """
    _check_same(withdrawal, transfer)
    state = transfer.state
    if state in _ENDS:
        return _ENDS[state]
    if state is TransferState.REFUSED:
        return _judge_refusal(withdrawal, transfer)
    if state is TransferState.NOT_FOUND:
        return _judge_missing(withdrawal, now_ms, settling_ms, horizon_ms)
    is_awaiting = state is TransferState.AWAITING_CONFIRMATION
    if withdrawal.stop in CANCELS and state is not TransferState.CANCELLING:
        return NextAction.ASK_TO_CANCEL
    if withdrawal.stop and is_awaiting:
        # Calls have stopped, so the payee will never get the confirmation data.
        return NextAction.ASK_TO_CANCEL
    return NextAction.AWAIT if is_awaiting else NextAction.LOOK


def settled_after_ms(withdrawal: Withdrawal, settling_ms: int) -> int:
    """Return the time from which NOT_FOUND means that no transfer with this number will exist.

    The time is valid only if no further call begins. A stalled worker may call until its function
    times out, and a query may miss a recent transfer.
    """
    return withdrawal.lease_until_ms + FUNCTION_MS + CLOCKS_DIFFER_MS + settling_ms


def _judge_refusal(withdrawal: Withdrawal, transfer: TransferFound) -> NextAction:
    """Return the action after a refusal: retry later if it is temporary, otherwise stop calls."""
    if transfer.refusal is Refusal.NOT_AUTHORIZED and withdrawal.authorization_no:
        return NextAction.STOP_NOT_AUTHORIZED
    if transfer.refusal in {Refusal.THROTTLED, Refusal.OUT_OF_FUNDS}:
        return NextAction.CALL_LATER
    return NextAction.STOP_REFUSED


def _judge_missing(
    withdrawal: Withdrawal, now_ms: int, settling_ms: int, horizon_ms: int
) -> NextAction:
    if now_ms + CLOCKS_DIFFER_MS >= withdrawal.created_at_ms + horizon_ms:
        # The provider may have forgotten a paid transfer, and would pay again if called again.
        return NextAction.LOOK
    if withdrawal.stop is None:
        # Retry under the same number, so that a transfer that appears later has this number.
        return NextAction.CALL
    if now_ms < settled_after_ms(withdrawal, settling_ms):
        return NextAction.LOOK
    if withdrawal.stop is Stop.NOT_AUTHORIZED:
        return NextAction.NEW_NUMBER
    is_asked = withdrawal.stop is Stop.CANCELLED
    return NextAction.RETURN_CANCELLED if is_asked else NextAction.RETURN_FAILED


def _check_same(withdrawal: Withdrawal, transfer: TransferFound) -> None:
    """Raise InvariantViolated if the provider reports another amount or payee."""
    pairs = (
        ("amount", withdrawal.amount_fen, transfer.amount_fen),
        ("payee", withdrawal.payee.name_hash, transfer.payee_hash),
    )
    for name, ours, theirs in pairs:
        if theirs is not None and theirs != ours:
            raise InvariantViolated(
                f"transfer {withdrawal.transfer_no} has another {name} at the provider"
            )


def hold_transfer(withdrawal: Withdrawal) -> Transfer:
    """Return the ledger transfer that holds a withdrawal's money."""
    return Transfer(
        transfer_id=f"withdrawal:{withdrawal.withdrawal_id}",
        kind=TransferKind.WITHDRAWAL,
        debit=user_account(withdrawal.user_id),
        credit=withdrawal_account(withdrawal.withdrawal_id),
        amount_fen=withdrawal.amount_fen,
        at_ms=withdrawal.created_at_ms,
    )


def return_transfer(withdrawal: Withdrawal, at_ms: int) -> Transfer:
    """Return the ledger transfer that returns a withdrawal's money to the user."""
    return Transfer(
        transfer_id=f"withdrawal_returned:{withdrawal.withdrawal_id}",
        kind=TransferKind.WITHDRAWAL_RETURNED,
        debit=withdrawal_account(withdrawal.withdrawal_id),
        credit=user_account(withdrawal.user_id),
        amount_fen=withdrawal.amount_fen,
        at_ms=at_ms,
    )
