"""Daily sums of money that operators may move without approval."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.operations.model.operators import Change

WINDOW_MS = 24 * 3_600_000
"""Milliseconds for which a move of money counts."""


PERIOD_MS = WINDOW_MS // 4
"""Length of the periods for which sums over all subjects are stored."""


PERIODS = 5
"""Number of counted periods, including the current one, which cover the window at any time."""


EVERYONE = ""
"""Owner of all operators' sums; no operator has this id."""


_ROUND_MS = 300_000
"""Milliseconds whose moves are merged, so that a day has at most 288 sums."""


@dataclass(frozen=True, slots=True)
class ApprovalLimits:
    """Limits in fen for moves without approval in 24 hours."""

    subject_fen: int
    """By one operator to one subject."""
    operator_fen: int
    """By one operator to all subjects."""
    everyone_fen: int


@dataclass(frozen=True, slots=True)
class Count:
    """Addition to an owner's sum of a period, which must be at most *fen_max* before."""

    owner: str
    period: int
    amount_fen: int
    fen_max: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """Sums that an operator moved alone to a subject, by their newest time, and a version.

    Its transaction also writes *counts*. They are added up, so concurrent moves do not fail one
    another.
    """

    operator_id: str
    subject: str
    sums: tuple[tuple[int, int], ...] = ()
    version: int = 0
    counts: tuple[Count, ...] = ()

    def sum_fen(self, now_ms: int) -> int:
        """Return the sum within the window."""
        return sum(fen for at_ms, fen in self.sums if at_ms > now_ms - WINDOW_MS)

    def spent(self, amount_fen: int, now_ms: int) -> Allowance:
        """Return the allowance with *amount_fen* added and sums outside the window removed."""
        sums = [(at_ms, fen) for at_ms, fen in self.sums if at_ms > now_ms - WINDOW_MS]
        if sums and now_ms // _ROUND_MS == sums[-1][0] // _ROUND_MS:
            # Use the newest time, so that no part expires early.
            amount_fen += sums.pop()[1]
        sums.append((now_ms, amount_fen))
        return Allowance(self.operator_id, self.subject, tuple(sums), self.version + 1)


class ApprovalNeededError(Exception):
    """The amount exceeds the operator's own limit, so another operator must approve it."""

    def __init__(
        self, subject: str, amount_fen: int, version: int, changes: tuple[Change, ...]
    ) -> None:
        super().__init__(
            "The amount exceeds your limit. Another operator must approve this change."
        )
        self.subject = subject
        self.amount_fen = amount_fen
        self.version = version
        self.changes = changes
