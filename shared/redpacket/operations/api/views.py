"""Responses for operators: refusals, switches and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from redpacket.operations.model.limits import BOUNDS, LimitName

if TYPE_CHECKING:
    from redpacket.operations.api import answers as operators
    from redpacket.operations.model.switches import SwitchState

STAGES = ("visited", "tried", "won", "credited", "withdrawn")
"""Stages from a visit to a withdrawal, counted in addition to refusal codes."""


def refusals_view(hours: int, counts: Mapping[str, int]) -> operators.Refusals:
    """Return the refusal counts, most frequent first, and the counts of the funnel's stages."""
    codes = [(code, count) for code, count in counts.items() if count and code not in STAGES]
    by_count = sorted(codes, key=lambda counted: (-counted[1], counted[0]))
    return {
        "hours": hours,
        "funnel": cast("operators.Funnel", {stage: counts.get(stage, 0) for stage in STAGES}),
        "items": [{"code": code, "count": count} for code, count in by_count],
    }


def switch_view(state: SwitchState) -> operators.Switch:
    """Return a switch, without the operator, whom the audit log names."""
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
