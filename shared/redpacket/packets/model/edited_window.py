"""Edited window of a campaign, which its packets follow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EditedWindow:
    """Window that the edit *version* set; the campaign's packets up to *moved_id* have followed.

    *old_ends_at_ms* was the campaign's end before the first edit that packets followed.
    """

    campaign_id: str
    version: int
    starts_at_ms: int
    ends_at_ms: int
    moved_id: str = ""
    old_ends_at_ms: int = 0
