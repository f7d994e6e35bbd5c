"""Temporary decision of the host's risk control on a user."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class VerdictKind(StrEnum):
    """Decision on whether a user may take part."""

    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class RiskDecision:
    """Risk decision that is valid until *until_ms* or until a later decision replaces it."""

    kind: VerdictKind
    until_ms: int
