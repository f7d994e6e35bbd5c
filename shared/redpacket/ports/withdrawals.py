"""The books of withdrawals, of the accounts that they go to, and of users' consent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.domain.authorization import Authorization
    from redpacket.domain.gateway import Channel, OutsideAccount, TransferFound
    from redpacket.domain.withdrawals import Stop, Withdrawal
    from redpacket.ports.accounts import Request


@dataclass(frozen=True, slots=True)
class WithdrawalLimits:
    """How often, and how much, one user may withdraw on one day."""

    count_max: int
    fen_max: int


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
