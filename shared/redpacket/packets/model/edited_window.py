"""Window that an edit gave a campaign; the sweep moves the campaign's packets into it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EditedWindow:
    """Window set by edit number *version*; the sweep has processed packets up to *moved_id*.

    *old_ends_at_ms* is the campaign's end before the first edit that moved packets.
    """

    campaign_id: str
    version: int
    starts_at_ms: int
    ends_at_ms: int
    moved_id: str = ""
    old_ends_at_ms: int = 0
