"""Progress of a reconciliation, stored in one row between invocations."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from redpacket.reconciliation.checks.facts import Difference
from redpacket.reconciliation.ports import SavedRun
from redpacket.reconciliation.use_cases.line_sums import LineSums

DIFFERENCES_KEPT = 200
"""Differences stored in the row; all of them are logged and counted."""

_AUDITS_REMEMBERED = 1_000


@dataclass(slots=True)
class LocalSums:
    """Partition being read: names with their expected and actual numbers."""

    owner: tuple[str, ...] = ()
    numbers: dict[str, list[int]] = field(default_factory=dict)
    firsts: dict[str, int] = field(default_factory=dict)
    """Time of a user's first claim by campaign."""


@dataclass(slots=True)
class LogWalk:
    """Progress of the walk through the public log; sealed values are from the last walk."""

    size: int = 0
    peaks: list[str] = field(default_factory=list)
    head_size: int = -1
    head_root: str = ""
    first_at_ms: int = -1
    sealed_size: int = 0
    sealed_root: str = ""
    key_id: str = ""


@dataclass(slots=True)
class Progress:
    """Progress of a run, as JSON."""

    key: str
    started_at_ms: int
    until_ms: int
    sealed_until_ms: int = 0
    step: int = 0
    place: str | None = None
    is_over: bool = False
    row_count: int = 0
    account_count: int = 0
    entry_count: int = 0
    packet_count: int = 0
    moving_count: int = 0
    difference_count: int = 0
    booked_fen: int = 0
    held_fen: int = 0
    is_whole: bool = True
    """Whether every dependency answered."""
    suspects: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    """Buckets to read again: unbalanced lines, and changed facts."""
    named: dict[str, list[str]] = field(default_factory=dict)
    explained: list[int] = field(default_factory=list)
    looked_at: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    """Prize packets and campaigns to check again at the end."""
    local: LocalSums = field(default_factory=LocalSums)
    differences: list[Difference] = field(default_factory=list)
    log: LogWalk = field(default_factory=LogWalk)

    def remember_audit(self, packet_id: str) -> bool:
        """Record an audit; return False if the packet was audited before."""
        if packet_id in self.looked_at:
            return False
        self.looked_at = [*self.looked_at[1 - _AUDITS_REMEMBERED :], packet_id]
        return True


@dataclass(slots=True)
class RunState:
    """Progress and sums of a run.

    *balance* is zero if all lines agree. *history*, from before the last run's moment, must equal
    *seal*; *fresh* has the facts since.
    """

    progress: Progress
    balance: LineSums
    history: LineSums
    fresh: LineSums
    seal: LineSums

    def saved(self) -> SavedRun:
        """Return the state in stored form."""
        names = ("balance", "history", "fresh", "seal")
        return SavedRun(
            json.dumps(asdict(self.progress), ensure_ascii=False, separators=(",", ":")),
            {name: getattr(self, name).kept() for name in names},
        )


def read_state(saved: SavedRun) -> RunState | None:
    """Return the stored state, or None before the first run."""
    kept = json.loads(saved.state)
    if not kept:
        return None
    kept["local"] = LocalSums(**kept["local"])
    kept["local"].owner = tuple(kept["local"].owner)
    kept["log"] = LogWalk(**kept.get("log", {}))
    kept["differences"] = [Difference(**found) for found in kept["differences"]]
    sums = {name: LineSums(value) for name, value in saved.sums.items()}
    return RunState(Progress(**kept), **sums)


def next_state(before: RunState | None, now_ms: int, moving_ms: int, new_key: str) -> RunState:
    """Begin a run; facts that the last run compared must not have changed."""
    until_ms = now_ms - moving_ms
    if before is None:
        progress = Progress(new_key, now_ms, until_ms)
        return RunState(progress, LineSums(), LineSums(), LineSums(), LineSums())
    seal = before.seal.plus(before.fresh)
    # A run's seal has no facts later than the run, even if clocks differ.
    until_ms = max(until_ms, before.progress.until_ms)
    progress = Progress(
        before.progress.key, now_ms, until_ms, sealed_until_ms=before.progress.until_ms
    )
    walked = before.progress.log
    progress.log = LogWalk(
        sealed_size=walked.sealed_size, sealed_root=walked.sealed_root, key_id=walked.key_id
    )
    return RunState(progress, LineSums(), LineSums(), LineSums(), seal)
