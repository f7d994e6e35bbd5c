"""Ports for sign-in through a provider and for consent to its transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypedDict

if TYPE_CHECKING:
    from redpacket.payments.model.authorization import AuthorizationFound
    from redpacket.payments.model.provider import ExternalAccount


class Logins(Protocol):
    """Exchange of a provider's authorization code for an account."""

    def find_account(self, code: str) -> ExternalAccount | None:
        """Return a code's account, or None if the code is wrong, used or expired."""


class Authorizations(Protocol):
    """Provider for users' consents to transfers without confirmation; numbers are ours."""

    def ask(
        self, authorization_no: str, payee: ExternalAccount, display_name: str
    ) -> AuthorizationFound:
        """Request a consent, once for each number; the provider shows *display_name*."""

    def query(self, authorization_no: str) -> AuthorizationFound:
        """Return a consent's state; NOT_FOUND is a state."""

    def close(self, authorization_no: str) -> None:
        """Close a consent; a closed or unknown one is not an error."""


class JsSignature(TypedDict):
    """Arguments of the page's `wx.config`."""

    app_id: str
    timestamp: int
    nonce: str
    signature: str


class PageSigner(Protocol):
    """Signer of the page's addresses for a provider's browser."""

    def sign(self, url: str) -> JsSignature:
        """Sign an address without its fragment. Raises InvalidRequest, Unavailable."""


class TokenIssuer(Protocol):
    """Issuer of tokens for users who sign in through a provider."""

    def subject_of(self, account: ExternalAccount) -> str:
        """Return the permanent subject of this user's tokens."""

    def issue(self, account: ExternalAccount, now_ms: int) -> tuple[str, int]:
        """Return a token and its expiry in milliseconds."""
