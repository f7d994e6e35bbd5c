"""Ports for the host's risk decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.operations.model.risk import RiskDecision


class RiskDecisions(Protocol):
    """The host's risk decisions on users, checked by claims and draws."""

    def put(self, user_id: str, verdict: RiskDecision) -> None:
        """Replace a user's decision."""


class RiskHook(Protocol):
    """The host's risk control, called over HTTP."""

    def ask(self, host_id: str) -> bool | None:
        """Return whether the user may take part, or None without a timely answer."""


class AskedVerdicts(Protocol):
    """Cache of the hook's answers."""

    def find(self, user_id: str) -> bool | None:
        """Return the cached answer, or None."""

    def keep(self, user_id: str, *, is_allowed: bool, for_ms: int) -> None:
        """Cache an answer."""
