"""Ports for withdrawals, payout accounts and consents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.payments.model.authorization import Authorization
    from redpacket.payments.model.provider import ExternalAccount, TransferFound
    from redpacket.payments.model.provider_name import ProviderName
    from redpacket.payments.model.withdrawals import ProviderAnswer, Stop, Withdrawal
    from redpacket.platform.idempotency import Request


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


@dataclass(frozen=True, slots=True)
class Payee:
    """User's payout account; it takes no withdrawal before *opens_at_ms*.

    *authorization_no* is the user's ACTIVE consent to transfers without confirmation, *asked_no*
    the latest requested one.
    """

    account: ExternalAccount
    opens_at_ms: int = 0
    authorization_no: str | None = None
    asked_no: str | None = None
    bound_at_ms: int = field(default=0, compare=False)


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
