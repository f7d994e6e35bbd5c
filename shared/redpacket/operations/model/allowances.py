"""Daily sums of money that operators may move without approval."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.operations.model.operators import Change

WINDOW_MS = 24 * 3_600_000
"""What an operator moved longer ago does not count."""


PERIOD_MS = WINDOW_MS // 4
"""Length of the periods for which sums over all subjects are stored."""


PERIODS = 5
"""Periods that count, with the current one: they cover the window at any time."""


EVERYONE = ""
"""Owner of the sums that all operators moved; no operator has this id."""


_ROUND_MS = 300_000
"""Sums of five minutes are kept as one: a day has 288 of them, whatever the count of calls."""


@dataclass(frozen=True, slots=True)
class ApprovalLimits:
    """Fen that move without approval in 24 hours."""

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
    """What an operator moved alone to a subject: sums by their newest time, and a version.

    Its transaction also writes *counts*. They add up, so concurrent moves do not fail one another.
    """

    operator_id: str
    subject: str
    sums: tuple[tuple[int, int], ...] = ()
    version: int = 0
    counts: tuple[Count, ...] = ()

    def sum_fen(self, now_ms: int) -> int:
        """Return what was moved within the window."""
        return sum(fen for at_ms, fen in self.sums if at_ms > now_ms - WINDOW_MS)

    def spent(self, amount_fen: int, now_ms: int) -> Allowance:
        """Return it with *amount_fen* more; what is out of the window is forgotten."""
        sums = [(at_ms, fen) for at_ms, fen in self.sums if at_ms > now_ms - WINDOW_MS]
        if sums and now_ms // _ROUND_MS == sums[-1][0] // _ROUND_MS:
            # Of the newest time, so that none of it is forgotten early.
            amount_fen += sums.pop()[1]
        sums.append((now_ms, amount_fen))
        return Allowance(self.operator_id, self.subject, tuple(sums), self.version + 1)


class ApprovalNeededError(Exception):
    """It is above what the operator may move alone: another one must approve it."""

    def __init__(
        self, subject: str, amount_fen: int, version: int, changes: tuple[Change, ...]
    ) -> None:
        super().__init__("another operator must approve this")
        self.subject = subject
        self.amount_fen = amount_fen
        self.version = version
        self.changes = changes
