"""Winners of goods and codes, and operators' decisions on won units."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class WinnerStatus(StrEnum):
    """Status of a won unit; the first decision is final."""

    WON = "won"
    HANDED_OVER = "handed_over"
    FORFEITED = "forfeited"


@dataclass(frozen=True, slots=True)
class Decision:
    """Operator's decision on a unit; *status* is not WON."""

    status: WinnerStatus
    at_ms: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Address:
    """Delivery address of a user's goods; personal data that an erasure removes."""

    name: str
    phone: str
    address: str


@dataclass(frozen=True, slots=True)
class Winner:
    """Winner of a unit, with the draw; *decision* is None until an operator decides."""

    campaign_id: str
    prize_id: str
    unit_no: int
    user_id: str
    draw_id: str
    decision: Decision | None = None

    @property
    def status(self) -> WinnerStatus:
        """Return the unit's status."""
        return self.decision.status if self.decision else WinnerStatus.WON

    @property
    def unit(self) -> str:
        """Return the unit's name in routes, which is unambiguous because prize ids have no dot."""
        return f"{self.prize_id}.{self.unit_no}"
