"""Reconciliation: SQL compares all rows of an export, and Python audits what SQL can't decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from redpacket.platform.difference import Difference
from redpacket.platform.runtime import EventLogger
from redpacket.reconciliation.ports import Engine
from redpacket.reconciliation.use_cases.audit_packet import FOUND_MAX
from redpacket.reconciliation.use_cases.audits import Audits
from redpacket.reconciliation.use_cases.statements import (
    Run,
    checks,
    counted,
    differing,
    expanded,
    rules,
    texts,
)

_OF_PACKETS = frozenset({"I1", "I2", "I3", "I4", "I8"})

Sums = Mapping[str, tuple[int, int]]
"""Rows that each check examined, and its differences."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of one check; one that looked at nothing proves nothing."""

    name: str
    examined: int
    differences: int


@dataclass(slots=True)
class Reconciliation:
    """Result of a run. *log* and *history* are what the next run must find unchanged."""

    run_id: str
    until_ms: int
    checks: list[Checked] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    log: dict[str, Any] = field(default_factory=dict)
    history: dict[str, Any] = field(default_factory=dict)
    is_whole: bool = True
    """Whether every dependency answered."""
    listed: dict[str, list[Difference]] = field(default_factory=dict, repr=False)
    """Differences by check, at most FOUND_MAX each; not stored."""

    @property
    def stored(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {name: value for name, value in asdict(self).items() if name != "listed"}

    def take(self, name: str, examined: int, found: Sequence[Difference], more: int = 0) -> None:
        """Record a check, which has *more* differences than it *found*; keep FOUND_MAX of all."""
        self.checks.append(Checked(name, examined, len(found) + more))
        self.listed[name] = list(found)
        known = set(self.differences)
        new = [one for one in dict.fromkeys(found) if one not in known]
        self.differences += new[: FOUND_MAX - len(self.differences)]

    def confirmed(self, first: Mapping[str, Any]) -> Reconciliation:
        """Return this result without the differences that the *first* look did not have.

        An export may have part of a transaction, but two exports never have part of the same one.
        If a look has more differences than it lists, its list says nothing of the others: then all
        of this look remain.
        """
        if max(len(self.differences), len(first["differences"])) >= FOUND_MAX:
            return self
        known = {(one["rule"], one["subject"], one["what"]) for one in first["differences"]}
        both = [one for one in self.differences if (one.rule, one.subject, one.what) in known]
        counted = [
            replace(each, differences=sum(one in both for one in self.listed[each.name]))
            for each in self.checks
        ]
        return replace(self, differences=both, checks=counted)

    def report(self, logger: EventLogger) -> None:
        """Log every difference, and that the run has ended."""
        for one in self.differences:
            logger.event("difference_found", **asdict(one))
        logger.event("reconcile_complete" if self.is_whole else "reconcile_incomplete")


def counts(run: Run, engine: Engine) -> dict[str, tuple[int, int]]:
    """Run all checks one after the other; an orchestration runs them at once."""
    found = {name: engine.rows(counted(sql))[0] for name, sql in checks(run).items()}
    return {name: sums_of(row) for name, row in found.items()}


def sums_of(row: Sequence[str | None]) -> tuple[int, int]:
    """Parse the row of `statements.counted`."""
    examined, differences = row
    return int(examined or 0), int(differences or 0)


def reconcile(
    run: Run,
    sums: Sums,
    *,
    engine: Engine,
    audits: Audits,
    before: Mapping[str, Any],
    stop_at_ms: int,
) -> Reconciliation:
    """Return the result of a run from the *sums* of its checks.

    *before* is the result of the last run. Audits end at *stop_at_ms*; `examined` tells how far
    they got.
    """
    result = Reconciliation(run.run_id, run.until_ms)
    for name, sql in checks(run).items():
        examined, count = sums[name]
        found = engine.rows(differing(sql)) if count else []
        rule = rules()[name]
        differences = [_difference(rule, row) for row in found]
        result.take(name, examined, differences, count - len(differences))
    result.history, found_changes = _history(run, engine, before.get("history", {}))
    result.take("audit_history", int(bool(before)), found_changes)
    result.log, examined, broken = audits.log(before.get("log", {}))
    result.take("audit_log", examined, broken)
    # What SQL found first: an audit names the share, or what its terms promised.
    suspects: list[tuple[str | None, ...]] = [
        (one.subject,) for one in result.differences if one.rule in _OF_PACKETS
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


def _difference(rule: str, row: Sequence[str | None]) -> Difference:
    subject, what, expected, actual = (one or "none" for one in row)
    return Difference(rule, subject, what, _number(expected), _number(actual))


def _number(text: str) -> int | str:
    return int(text) if text.removeprefix("-").isdecimal() else text


def _history(
    run: Run, engine: Engine, before: Mapping[str, Any]
) -> tuple[dict[str, Any], list[Difference]]:
    """Compare the entries that the last run compared: what is booked never changes."""

    def sums_until(until_ms: int) -> str:
        as_of = replace(run, moving_ms=run.exported_at_ms - until_ms)
        return engine.rows(expanded(texts("audits")["history"], as_of))[0][0] or ""

    found = []
    if before and (now := sums_until(before["until_ms"])) != before["sums"]:
        what = f"entries until {before['until_ms']}"
        found.append(Difference("history", "all accounts", what, before["sums"], now))
    return {"until_ms": run.until_ms, "sums": sums_until(run.until_ms)}, found
