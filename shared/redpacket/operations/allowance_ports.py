"""Port for the sums that operators moved without approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.operations.model.allowances import Allowance


class Allowances(Protocol):
    """Sums that operators moved alone, counted by the transactions that move them."""

    def find_allowance(self, operator_id: str, subject: str) -> Allowance:
        """Return an operator's recent sums for a subject."""

    def find_moved_fen(self, owner: str, periods: Sequence[int]) -> dict[int, int]:
        """Return the sums that an operator, or EVERYONE, moved to all subjects, by period."""
