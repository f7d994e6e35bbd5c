"""What signing in by a gateway, and consent to its transfers, need from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Each flow and adapter imports this page; none needs the words of all the others.
    from redpacket.domain.authorization import AuthorizationFound
    from redpacket.domain.gateway import OutsideAccount


class Logins(Protocol):
    """Tells whose a code is that a gateway gave to a client."""

    def find_account(self, code: str) -> OutsideAccount | None:
        """Return the account of a code; None where it is wrong, used, or too old.

        Raises Unavailable.
        """


class Authorizations(Protocol):
    """A gateway's side of users' consent to transfers without a tap; numbers are ours."""

    def ask(
        self, authorization_no: str, payee: OutsideAccount, display_name: str
    ) -> AuthorizationFound:
        """Ask for a consent, once for each number; a repeat answers as things stand.

        *display_name* is what the user is called here, for the gateway to show. Raises Unavailable.
        """

    def query(self, authorization_no: str) -> AuthorizationFound:
        """Return where a consent stands; NOT_FOUND as a state. Raises Unavailable."""

    def close(self, authorization_no: str) -> None:
        """End a consent; returns as well where it has ended, or is not known.

        Raises Unavailable.
        """


class TokenIssuer(Protocol):
    """Signs tokens for users who signed in by a gateway."""

    def subject_of(self, account: OutsideAccount) -> str:
        """Return the subject of this user's tokens, the same for ever."""

    def issue(self, account: OutsideAccount, now_ms: int) -> tuple[str, int]:
        """Return a token for the user of *account*, and when it expires, in ms."""
