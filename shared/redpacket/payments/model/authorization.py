"""Users' consent to transfers without confirmation.

A consent's row is durable before the provider is called, and names the payout account.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import ExternalAccount

CONSENT_MS = 24 * 3_600_000
"""Milliseconds within which a user must give a requested consent."""

ASKED_MS = 23 * 3_600_000
"""Milliseconds for which retries repeat the request, so that all calls end before CONSENT_MS."""

_FIRST_LOOK_MS = 10_000
_LOOK_PAUSE_MS_MAX = 3_600_000


class AuthorizationState(StrEnum):
    """State of a consent at the provider; CLOSED is final, and a new consent needs a new number."""

    NOT_FOUND = "not_found"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    ACTIVE = "active"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class AuthorizationFound:
    """A consent as the provider reports it.

    *confirmation* is for the user's client during AWAITING_CONFIRMATION; *reason* is the
    provider's code if the state is CLOSED.
    """

    state: AuthorizationState
    payee_hash: str | None = None
    confirmation: str = field(default="", repr=False)
    reason: str = ""


class AuthorizationStatus(StrEnum):
    """Consent status in our row; transfers do not use CLOSING consents, and CLOSED is final."""

    AWAITING_CONFIRMATION = "awaiting_confirmation"
    ACTIVE = "active"
    CLOSING = "closing"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Authorization:
    """Row of a consent: a frozen request under OUR *number*, and its current state."""

    number: str
    user_id: str
    channel: ProviderName
    account: ExternalAccount
    display_name: str
    asked_at_ms: int
    status: AuthorizationStatus = AuthorizationStatus.AWAITING_CONFIRMATION
    confirmation: str = field(default="", repr=False)


def next_look_ms(authorization: Authorization, now_ms: int) -> int:
    """Return the time of the next query to the provider; pauses grow with age."""
    age_ms = now_ms - authorization.asked_at_ms
    return now_ms + min(max(_FIRST_LOOK_MS, age_ms), _LOOK_PAUSE_MS_MAX)
