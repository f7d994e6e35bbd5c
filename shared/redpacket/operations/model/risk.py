"""What the host says of a user for a while: a verdict of its own risk control."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class VerdictKind(StrEnum):
    """Whether a user may take part in anything."""

    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class RiskDecision:
    """A verdict, until *until_ms*; a later one takes its place."""

    kind: VerdictKind
    until_ms: int
