"""Reconciliation: SQL compares all rows of an export, and Python audits the other facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from redpacket.platform.difference import Difference
from redpacket.platform.runtime import EventLogger
from redpacket.reconciliation.ports import Engine, Found
from redpacket.reconciliation.use_cases.audit_packet import FOUND_MAX
from redpacket.reconciliation.use_cases.audits import Audits
from redpacket.reconciliation.use_cases.statements import (
    BALANCE,
    KEPT,
    Run,
    checks,
    confirmed,
    differing,
    expanded,
    filled,
    rules,
    shown,
    texts,
)

READ_MAX = 2_000
"""Number of differing balances that strong reads check, far more than transactions that an export
splits.
"""

_OF_PACKETS = frozenset({"I1", "I2", "I3", "I4", "I8"})


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of one check; a check without items proves nothing."""

    name: str
    examined: int
    differences: int


@dataclass(slots=True)
class Reconciliation:
    """Result of a run. *log* and *history* must be unchanged in the next run."""

    run_id: str
    until_ms: int
    checks: list[Checked] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    log: dict[str, Any] = field(default_factory=dict)
    history: dict[str, Any] = field(default_factory=dict)
    is_truncated: bool = False
    """Whether there are more differences than a result lists."""
    is_whole: bool = True
    """Whether every dependency answered."""
    database: str = ""
    """Database of the rows, which later exports change, and of all differences of each check."""
    export: Mapping[str, Any] = field(default_factory=dict)
    """Export on which the next one can build, from `runs.plan_export`."""

    @property
    def stored(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return asdict(self)

    def take(
        self, name: str, examined: int, differences: Sequence[Difference], more: int = 0
    ) -> None:
        """Record a check with *more* differences than *differences*; keep FOUND_MAX of all."""
        self.checks.append(Checked(name, examined, len(differences) + more))
        existing = set(self.differences)
        new = [
            difference for difference in dict.fromkeys(differences) if difference not in existing
        ]
        left = FOUND_MAX - len(self.differences)
        self.differences += new[:left]
        self.is_truncated |= more > 0 or len(new) > left

    def report(self, logger: EventLogger) -> None:
        """Log every difference, and that the run has ended."""
        for difference in self.differences:
            logger.event("difference_found", **asdict(difference))
        logger.event("reconcile_complete" if self.is_whole else "reconcile_incomplete")


def sums_of(row: Sequence[str | None]) -> tuple[int, int]:
    """Parse the row of `statements.counted`."""
    examined, differences = row
    return int(examined or 0), int(differences or 0)


def reconcile(
    run: Run,
    sums: Mapping[str, tuple[int, int]],
    *,
    engine: Engine,
    audits: Audits,
    before: Mapping[str, Any],
    stop_at_ms: int,
    first: Mapping[str, Any] | None = None,
) -> Reconciliation:
    """Return the result of a run from its *sums* of each check: rows examined and differing.

    *before* is the result of the last run. Audits end at *stop_at_ms*; `examined` counts the items
    that they reached. *first* is the result of the first comparison: a check must differ in both.
    An export may have part of a transaction, but two exports never have part of the same one.
    """
    result = Reconciliation(run.run_id, run.until_ms, database=engine.database)
    suspected = (
        {check["name"] for check in first["checks"] if check["differences"]} if first else rules()
    )
    for name, sql in checks(run).items():
        examined, count = sums[name]
        rule, table, differences = rules()[name], f"found_{name}", list[Difference]()
        if name not in suspected:
            count = 0
        elif count or (first and name == KEPT):
            query = confirmed(name, sql, f"{first['database']}.{table}") if first else None
            engine.rows(filled(table, query or differing(sql)))
            count = int(engine.rows(f"SELECT COUNT(*) AS differences FROM {table}")[0][0] or 0)  # noqa: S608
            wrong = engine.rows(shown(table, READ_MAX))
            if name == "check_entries":
                right = _right(wrong, audits, stop_at_ms)
                wrong = [row for row in wrong if row not in right]
                count -= len(right)
            differences = [_difference(rule, row) for row in wrong[:FOUND_MAX]]
        result.take(name, examined, differences, count - len(differences))
    result.history, found_changes = _history(run, engine, before.get("history", {}))
    result.take("audit_history", int(bool(before)), found_changes)
    result.log, examined, broken = audits.log(before.get("log", {}))
    result.take("audit_log", examined, broken)
    # SQL comes first: an audit names only the share, or the amount in its terms.
    suspects: list[tuple[str | None, ...]] = [
        (difference.subject,) for difference in result.differences if difference.rule in _OF_PACKETS
    ]
    kinds: dict[str, tuple[Callable[..., list[Difference]], list[tuple[str | None, ...]]]] = {
        "campaigns": (audits.campaign, []),
        "packets": (audits.packet, suspects),
        "draws": (audits.draw, []),
    }
    for kind, (audit, named) in kinds.items():
        seen: list[Difference] = []
        examined = 0
        for row in dict.fromkeys([*named, *engine.rows(expanded(texts("audits")[kind], run))]):
            if audits.clock.now_ms() >= stop_at_ms:
                break
            seen += audit(*row)
            examined += 1
        result.take(f"audit_{kind}", examined, seen)
    try:
        result.take("audit_dead_letters", 1, audits.letters())
    except Exception as error:  # noqa: BLE001 - a missing permission must not end the run
        audits.logger.failure("queue_not_compared", error)
        result.take("audit_dead_letters", 0, [])
        result.is_whole = False
    return result


def _right(wrong: Found, audits: Audits, stop_at_ms: int) -> Found:
    """Return the accounts whose balances are correct in strong reads, until FOUND_MAX are wrong."""
    right, wrong_count = list[tuple[str | None, ...]](), 0
    for row in wrong:
        if wrong_count >= FOUND_MAX or audits.clock.now_ms() >= stop_at_ms:
            break
        if row[1] == BALANCE and audits.is_right(row[0] or ""):
            right.append(row)
        else:
            wrong_count += 1
    return right


def _difference(rule: str, row: Sequence[str | None]) -> Difference:
    subject, what, *texts = (cell or "none" for cell in row)
    sides = (int(text) if text.removeprefix("-").isdecimal() else text for text in texts)
    return Difference(rule, subject, what, *sides)


def _history(
    run: Run, engine: Engine, before: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Difference]]:
    """Compare the entries that the last run compared, because booked entries never change."""

    def sums_until(until_ms: int) -> str:
        as_of = replace(run, moving_ms=run.exported_at_ms - until_ms)
        return engine.rows(expanded(texts("audits")["history"], as_of))[0][0] or ""

    differences = []
    # Releases before this one stored other sums under another name.
    kept = before.get("sealed")
    if kept and (now := sums_until(before["until_ms"])) != kept:
        what = f"entries until {before['until_ms']}"
        differences.append(Difference("history", "all accounts", what, kept, now))
    return {"until_ms": run.until_ms, "sealed": sums_until(run.until_ms)}, differences
