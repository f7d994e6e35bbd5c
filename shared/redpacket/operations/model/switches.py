"""What an operator can turn off while the system runs, and on again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from redpacket.operations.errors import SwitchNotFound


class Switch(StrEnum):
    """What can be off."""

    SEND = "send"
    GRAB = "grab"
    PAYOUT = "payout"
    REFUND = "refund"
    DRAW = "draw"
    PAY = "pay"
    WITHDRAW = "withdraw"


@dataclass(frozen=True, slots=True)
class SwitchState:
    """Whether a switch is on, since when, by whom and why. A switch is on until it is turned."""

    switch: Switch
    is_on: bool = True
    reason: str = ""
    changed_at_ms: int | None = None
    changed_by: str | None = None


def switch_named(name: str) -> Switch:
    """Return the switch of that name. Raises SwitchNotFound."""
    try:
        return Switch(name)
    except ValueError:
        raise SwitchNotFound(f"there is no such switch; there are {', '.join(Switch)}") from None
