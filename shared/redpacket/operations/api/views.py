"""Responses for operators: audits, runs, switches and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from redpacket.operations.model.limits import BOUNDS, LimitName

if TYPE_CHECKING:
    from redpacket.operations.api import answers as operators
    from redpacket.operations.model.switches import SwitchState
    from redpacket.platform.difference import Difference
    from redpacket.reconciliation.ports import StoredRun

STAGES = ("visited", "tried", "won", "credited", "withdrawn")
"""Stages on the way to money, which use cases count in addition to refusal codes."""


def audit_view(differences: Sequence[Difference]) -> operators.Audit:
    """Return the result of an audit."""
    return {
        "ok": not differences,
        "differences": [_difference_view(difference) for difference in differences],
    }


def _difference_view(difference: Difference) -> operators.Difference:
    return {
        "rule": difference.rule,
        "subject": difference.subject,
        "what": difference.what,
        "expected": difference.expected,
        "actual": difference.actual,
    }


def reconciliation_view(run: StoredRun) -> operators.Reconciliation:
    """Return a run's status, and its checks' results once it is done."""
    statuses: dict[str, Literal["running", "done"]] = {"RUNNING": "running", "SUCCEEDED": "done"}
    kinds: tuple[Literal["full"], Literal["incremental"]] = ("full", "incremental")
    return {
        "run_id": run.run_id,
        "status": statuses.get(run.status, "failed"),
        "step": run.step,
        "checks": run.output.get("checks", []),
        "differences": run.output.get("differences", []),
        "is_truncated": run.output.get("is_truncated", False),
        "until_ms": run.output.get("until_ms"),
        "export": kinds[bool(export["base"])] if (export := run.output.get("export")) else None,
    }


def refusals_view(hours: int, counts: Mapping[str, int]) -> operators.Refusals:
    """Return the counts of refusals, the most frequent first, and those of the funnel's stages."""
    codes = [(code, count) for code, count in counts.items() if count and code not in STAGES]
    by_count = sorted(codes, key=lambda counted: (-counted[1], counted[0]))
    return {
        "hours": hours,
        "funnel": cast("operators.Funnel", {stage: counts.get(stage, 0) for stage in STAGES}),
        "items": [{"code": code, "count": count} for code, count in by_count],
    }


def switch_view(state: SwitchState) -> operators.Switch:
    """Return a switch; the audit log has its operator."""
    return {
        "name": state.switch,
        "on": state.is_on,
        "reason": state.reason,
        "changed_at_ms": state.changed_at_ms,
    }


def switches_view(states: Iterable[SwitchState]) -> operators.Switches:
    """Return all switches."""
    return {"items": [switch_view(state) for state in states]}


def limit_view(name: LimitName, value: int | None) -> operators.Limit:
    """Return a limit; *value* is None for the default."""
    bounds = BOUNDS[name]
    return {
        "name": name,
        "value": bounds.nearest(value),
        "default": bounds.default,
        "lowest": bounds.lowest,
        "highest": bounds.highest,
    }


def limits_view(values: Mapping[LimitName, int]) -> operators.Limits:
    """Return all limits."""
    return {"items": [limit_view(name, values.get(name)) for name in LimitName]}
