"""Switches that operators turn off and on while the system runs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from redpacket.operations.errors import SwitchNotFound


class Switch(StrEnum):
    """Function of the system that operators can turn off."""

    SEND = "send"
    GRAB = "grab"
    PAYOUT = "payout"
    REFUND = "refund"
    DRAW = "draw"
    PAY = "pay"
    WITHDRAW = "withdraw"


@dataclass(frozen=True, slots=True)
class SwitchState:
    """State of a switch with its last change; a switch that was never changed is on."""

    switch: Switch
    is_on: bool = True
    reason: str = ""
    changed_at_ms: int | None = None
    changed_by: str | None = None


def switch_named(name: str) -> Switch:
    """Return the switch with this name. Raises SwitchNotFound."""
    try:
        return Switch(name)
    except ValueError:
        raise SwitchNotFound from None
