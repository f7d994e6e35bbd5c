"""Findings of a verification: comparisons, contradictions and unchecked parts."""

from __future__ import annotations

from dataclasses import dataclass, field

SHOWN_MAX = 20
"""Maximum printed differences; a wrong seed causes a difference for every share."""


@dataclass(slots=True)
class Findings:
    """Comparisons, contradictions, and unchecked parts."""

    amount_count: int = 0
    claim_count: int = 0
    draw_count: int = 0
    other_day_count: int = 0
    differences: list[str] = field(default_factory=list)
    unchecked_count: int = 0
    _owners: dict[int, str] = field(default_factory=dict)
    _shares: dict[str, int] = field(default_factory=dict)

    def compare(self, what: str, *, stated: object, true: object) -> None:
        """Record a difference if the value stated in a file is not the *true* value."""
        if stated != true:
            self.differences.append(f"{what}: says {stated}, is {true}")

    def note_owner(self, user: str, share_no: int) -> None:
        """Record a difference if a share has two owners, or a user has two shares."""
        owner = self._owners.setdefault(share_no, user)
        if owner != user:
            self.differences.append(f"share {share_no}: belongs to {owner} and to {user}")
        first_no = self._shares.setdefault(user, share_no)
        if first_no != share_no:
            shares = " and ".join(map(str, sorted((first_no, share_no))))
            self.differences.append(f"{user} has shares {shares}")
