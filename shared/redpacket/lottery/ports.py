"""Ports of the lottery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.fairness.model.days import DrawDay
    from redpacket.lottery.model.lottery import (
        CampaignSnapshot,
        DrawOutcome,
        DrawRequest,
        Player,
        PrizeStock,
    )


class DrawCache(Protocol):
    """Cache that chooses prizes and counts draws, but the ledger decides. Tests use a fake."""

    def draw(self, request: DrawRequest) -> DrawOutcome:
        """Decide one attempt; a retry on the same day returns the same outcome."""

    def load(self, snapshot: CampaignSnapshot, day: DrawDay, stock: Sequence[PrizeStock]) -> None:
        """Load the ledger's state; an older snapshot or lower counts have no effect."""

    def undo(self, request: DrawRequest, *, is_unit_free: bool) -> None:
        """Undo an attempt that is not durable; offer its unit again if *is_unit_free*."""

    def drop(self, request: DrawRequest) -> None:
        """Remove the cached lottery and the counters of the request's day; both may be altered."""

    def set_player(self, request: DrawRequest, player: Player) -> None:
        """Set a user's counters for the day to the ledger's values."""

    def mark_winner(self, request: DrawRequest, prize_id: str) -> None:
        """Record that the user has won a once-per-user prize."""

    def begin_load(self, campaign_id: str, life_ms: int) -> bool:
        """Return True to the one caller that should load a lost campaign; other callers wait."""

    def find_version(self, campaign_id: str) -> int | None:
        """Return the loaded snapshot's version, or None."""

    def count_issued(self, campaign_id: str, prize_ids: Sequence[str]) -> dict[str, int] | None:
        """Return the number of issued units by prize id, or None if no snapshot is loaded."""
