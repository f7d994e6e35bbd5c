"""Daily amounts that operators may move without approval."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.operations.model.operators import Change

WINDOW_MS = 24 * 3_600_000
"""Milliseconds for which a move of money counts toward the limits."""


PERIOD_MS = WINDOW_MS // 4
"""Milliseconds per period; sums over all subjects are stored by period."""


PERIODS = 5
"""Number of counted periods, including the current one; together they always cover the window."""


EVERYONE = ""
"""Owner of the sums over all operators; no operator has this id."""


_ROUND_MS = 300_000
"""Milliseconds within which moves are merged, so that a day has about 288 sums at most."""


@dataclass(frozen=True, slots=True)
class ApprovalLimits:
    """Limits in fen for moves without approval in 24 hours."""

    subject_fen: int
    """Maximum amount that one operator may move to one subject."""
    operator_fen: int
    """Maximum amount that one operator may move to all subjects together."""
    everyone_fen: int


@dataclass(frozen=True, slots=True)
class Count:
    """Addition to an owner's sum for a period. Beforehand, the sum may be at most *fen_max*."""

    owner: str
    period: int
    amount_fen: int
    fen_max: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """Versioned sums that an operator moved to a subject without approval, each with a time.

    The transaction that stores the allowance also adds *counts*. Additions commute, so concurrent
    moves to different subjects, or by different operators, succeed within the limits.
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
            # Merge the moves under the newest time, so that no part expires early.
            amount_fen += sums.pop()[1]
        sums.append((now_ms, amount_fen))
        return Allowance(self.operator_id, self.subject, tuple(sums), self.version + 1)


class ApprovalNeededError(Exception):
    """The amount exceeds a limit, so another operator must approve the change."""

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
