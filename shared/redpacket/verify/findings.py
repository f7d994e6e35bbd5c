"""What a verification has found: what was compared, and what is not true."""

from __future__ import annotations

from dataclasses import dataclass, field

SHOWN_MAX = 20
"""Differences that are printed; a wrong seed makes one for every share."""


@dataclass(slots=True)
class Findings:
    """What was compared, and what is not true."""

    amount_count: int = 0
    claim_count: int = 0
    draw_count: int = 0
    other_day_count: int = 0
    differences: list[str] = field(default_factory=list)

    def compare(self, what: str, *, said: object, true: object) -> None:
        """Note a difference between what a file says and what is true."""
        if said != true:
            self.differences.append(f"{what}: says {said}, is {true}")
