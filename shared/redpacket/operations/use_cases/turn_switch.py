"""Changes to switches and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.operations.model.limits import LimitName, check_bounds
from redpacket.operations.model.operators import Action, ActionKind, changes_between, switch_subject
from redpacket.operations.model.switches import Switch, SwitchState
from redpacket.operations.ports import SwitchStore
from redpacket.platform.runtime import Clock, EventLogger
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.operations.dynamodb.audit_log import DynamoActions


@dataclass(frozen=True, slots=True)
class SwitchPorts:
    """Dependencies of changes to switches and limits."""

    switches: SwitchStore
    actions: DynamoActions
    clock: Clock
    logger: EventLogger


def turn_switch(
    switch: Switch, *, is_on: bool, reason: str, operator: User, ports: SwitchPorts
) -> SwitchState:
    """Log a change of *switch*, then store it; a retry completes an interrupted call."""
    (state,) = [
        candidate for candidate in ports.switches.read().states if candidate.switch is switch
    ]
    if (state.is_on, state.reason) != (is_on, reason):
        now_ms, before = ports.clock.now_ms(), state
        state = SwitchState(switch, is_on, reason, now_ms, operator.user_id)
        facts = [{"on": each.is_on, "reason": each.reason} for each in (before, state)]
        kind, changes = ActionKind.SWITCH_TURNED, changes_between(*facts)
        ports.actions.note(Action(operator, kind, switch_subject(switch), now_ms, changes))
        ports.switches.put(state)
        # Omit the operator and the reason, which only the row and the audit log contain.
        ports.logger.event("switch_changed", switch=switch.value, is_on=int(is_on))
    return state


def set_limit(
    name: LimitName, value: int | None, *, operator: User, ports: SwitchPorts
) -> int | None:
    """Log a change of a limit, then store it; None restores the default.

    Raises InvalidRequest for a value outside the bounds.
    """
    check_bounds(name, value)
    before = ports.switches.read().limits.get(name)
    if before != value:
        changes = changes_between({"value": before}, {"value": value})
        kind, now_ms = ActionKind.LIMIT_SET, ports.clock.now_ms()
        ports.actions.note(Action(operator, kind, f"limit:{name}", now_ms, changes))
        ports.switches.put_limit(name, value)
        ports.logger.event("limit_set", limit=name.value)
    return value
