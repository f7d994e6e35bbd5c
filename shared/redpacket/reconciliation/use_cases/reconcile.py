"""Reconciliation: SQL compares all rows in an export, and Python audits the other facts."""

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
"""Maximum differing balances to check with strong reads; exports split far fewer transactions."""

_OF_PACKETS = frozenset({"I1", "I2", "I3", "I4", "I8"})


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of one check. If *examined* is 0, the check proves nothing."""

    name: str
    examined: int
    differences: int


@dataclass(slots=True)
class Reconciliation:
    """Result of a run. The next run checks that past facts still match *log* and *history*."""

    run_id: str
    until_ms: int
    checks: list[Checked] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    log: dict[str, Any] = field(default_factory=dict)
    history: dict[str, Any] = field(default_factory=dict)
    is_truncated: bool = False
    """Whether the run found more differences than the result lists."""
    is_whole: bool = True
    """Whether every dependency answered."""
    database: str = ""
    """Database with all differences, and with the exported rows, on which later exports build."""
    export: Mapping[str, Any] = field(default_factory=dict)
    """Export, as planned by `runs.plan_export`, on which the next export can build."""

    @property
    def stored(self) -> dict[str, Any]:
        """Return the result as a dict that is stored as JSON."""
        return asdict(self)

    def take(
        self, name: str, examined: int, differences: Sequence[Difference], more: int = 0
    ) -> None:
        """Record a check that found *differences* and *more* others; list at most FOUND_MAX."""
        self.checks.append(Checked(name, examined, len(differences) + more))
        existing = set(self.differences)
        new = [
            difference for difference in dict.fromkeys(differences) if difference not in existing
        ]
        left = FOUND_MAX - len(self.differences)
        self.differences += new[:left]
        self.is_truncated |= more > 0 or len(new) > left

    def report(self, logger: EventLogger) -> None:
        """Log the listed differences, and whether every dependency answered."""
        for difference in self.differences:
            logger.event("difference_found", **asdict(difference))
        logger.event("reconcile_complete" if self.is_whole else "reconcile_incomplete")


def sums_of(row: Sequence[str | None]) -> tuple[int, int]:
    """Parse a row that the query `statements.counted` returns."""
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
    """Return the result of a run. *sums* has the numbers of rows that each check read and rejected.

    *before* is the result of the last successful run. Audits end at *stop_at_ms*; `examined` counts
    the items that they reached. If *first*, the result of a first comparison, is given, only SQL
    checks that differed there can fail. An export may split a transaction, but two exports never
    split the same transaction.
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
    # Audit the packets that SQL found first: an audit names the share or the expected amount.
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
    """Return rows whose balances strong reads confirm as correct; stop after FOUND_MAX others."""
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
    """Compare past entries with the sums of the last run, because booked entries never change."""

    def sums_until(until_ms: int) -> str:
        as_of = replace(run, moving_ms=run.exported_at_ms - until_ms)
        return engine.rows(expanded(texts("audits")["history"], as_of))[0][0] or ""

    differences = []
    # Earlier releases stored different sums under another name.
    kept = before.get("sealed")
    if kept and (now := sums_until(before["until_ms"])) != kept:
        what = f"entries until {before['until_ms']}"
        differences.append(Difference("history", "all accounts", what, kept, now))
    return {"until_ms": run.until_ms, "sealed": sums_until(run.until_ms)}, differences
