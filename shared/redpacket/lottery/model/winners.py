"""Winners of goods: who is to get a unit of a prize, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class WinnerStatus(StrEnum):
    """What became of a unit that was won: the first decision is the last."""

    WON = "won"
    HANDED_OVER = "handed_over"
    FORFEITED = "forfeited"


@dataclass(frozen=True, slots=True)
class Decision:
    """What an operator says of a unit: *status* is not WON."""

    status: WinnerStatus
    at_ms: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Winner:
    """Who won a unit, by which draw; *decision* None while it waits to be handed over."""

    campaign_id: str
    prize_id: str
    unit_no: int
    user_id: str
    draw_id: str
    decision: Decision | None = None

    @property
    def status(self) -> WinnerStatus:
        """What became of the unit."""
        return self.decision.status if self.decision else WinnerStatus.WON

    @property
    def unit(self) -> str:
        """How routes name it in its campaign: no id of a prize holds a dot."""
        return f"{self.prize_id}.{self.unit_no}"
