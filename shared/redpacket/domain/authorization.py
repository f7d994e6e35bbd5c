"""A user's consent to transfers that they need not confirm one by one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class AuthorizationState(StrEnum):
    """Where a consent stands at the gateway; CLOSED is final, a new one needs a new number."""

    NOT_FOUND = "not_found"
    AWAITING_CONFIRMATION = "awaiting_confirmation"
    ACTIVE = "active"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class AuthorizationFound:
    """A consent as the gateway knows it.

    *confirmation* is what the user's client needs to ask for it, while it is
    AWAITING_CONFIRMATION. *reason* is the gateway's word for why it is CLOSED.
    """

    state: AuthorizationState
    payee_hash: str | None = None
    confirmation: str = field(default="", repr=False)
    reason: str = ""
