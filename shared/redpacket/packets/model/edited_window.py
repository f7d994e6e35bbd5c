"""Edited window of a campaign, which its packets follow."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EditedWindow:
    """Window that edit *version* gave to a campaign; packets up to *moved_id* have followed it.

    *old_ends_at_ms* was the campaign's end before its first edit that packets follow.
    """

    campaign_id: str
    version: int
    starts_at_ms: int
    ends_at_ms: int
    moved_id: str = ""
    old_ends_at_ms: int = 0
