"""How far a reconciliation is, as one row keeps it between two invocations."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from redpacket.domain.checks.facts import Difference
from redpacket.flows.reconciliation.line_sums import LineSums
from redpacket.ports.reconciliation import SavedRun

DIFFERENCES_KEPT = 200
"""What a row has room for; each is in the log, and all are counted."""

_AUDITS_REMEMBERED = 1_000


@dataclass(slots=True)
class LocalSums:
    """The partition that is being read: names with their expected and actual numbers."""

    owner: tuple[str, ...] = ()
    numbers: dict[str, list[int]] = field(default_factory=dict)
    firsts: dict[str, int] = field(default_factory=dict)
    """When a user first claimed, by campaign."""


@dataclass(slots=True)
class LogWalk:
    """How far a run has walked through the public log, and what it is compared with.

    *sealed_size* and *sealed_root* are what the last whole walk found, *key_id* who signed then:
    a log that was rewritten since differs, also where its rows agree with each other.
    """

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
    """What a run has done, and where it goes on; all of it is JSON."""

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
    """Whether all that was asked has answered."""
    suspects: list[int] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    """Buckets that are looked at again: lines that don't balance, and facts that changed."""
    named: dict[str, list[str]] = field(default_factory=dict)
    explained: list[int] = field(default_factory=list)
    looked_at: list[str] = field(default_factory=list)
    """Packets that were audited."""
    ends: list[str] = field(default_factory=list)
    """Prize packets and campaigns to look at again at the end."""
    local: LocalSums = field(default_factory=LocalSums)
    differences: list[Difference] = field(default_factory=list)
    log: LogWalk = field(default_factory=LogWalk)

    def remember_audit(self, packet_id: str) -> bool:
        """Note that a packet is audited; False if it was before."""
        if packet_id in self.looked_at:
            return False
        self.looked_at = [*self.looked_at[1 - _AUDITS_REMEMBERED :], packet_id]
        return True


@dataclass(slots=True)
class RunState:
    """The progress with its sums.

    *balance* is zero where all lines agree. *history* are the facts before the last run's moment,
    which must be what *seal* says; *fresh* those between that moment and this run's.
    """

    progress: Progress
    balance: LineSums
    history: LineSums
    fresh: LineSums
    seal: LineSums

    def saved(self) -> SavedRun:
        """Return it as a row keeps it."""
        names = ("balance", "history", "fresh", "seal")
        return SavedRun(
            json.dumps(asdict(self.progress), ensure_ascii=False, separators=(",", ":")),
            {name: getattr(self, name).kept() for name in names},
        )


def read_state(saved: SavedRun) -> RunState | None:
    """Read what a row kept; None where there never was a run."""
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
    """Begin a run; what the one before it compared must not have changed since."""
    until_ms = now_ms - moving_ms
    if before is None:
        progress = Progress(new_key, now_ms, until_ms)
        return RunState(progress, LineSums(), LineSums(), LineSums(), LineSums())
    seal = before.seal.plus(before.fresh)
    # A run's seal has no facts later than the run, whatever its clock said.
    until_ms = max(until_ms, before.progress.until_ms)
    progress = Progress(
        before.progress.key, now_ms, until_ms, sealed_until_ms=before.progress.until_ms
    )
    walked = before.progress.log
    progress.log = LogWalk(
        sealed_size=walked.sealed_size, sealed_root=walked.sealed_root, key_id=walked.key_id
    )
    return RunState(progress, LineSums(), LineSums(), LineSums(), seal)
