"""Port for winners of goods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.lottery.model.winners import Address, Decision, Winner
    from redpacket.operations.model.operators import Action


class Winners(Protocol):
    """Winners of goods, and operators' decisions."""

    def list_winners(
        self, campaign_id: str, prize_id: str, after_no: int, limit: int
    ) -> list[Winner]:
        """Return the winners of units above *after_no*, by number."""

    def find_winner(self, campaign_id: str, prize_id: str, unit_no: int) -> Winner | None:
        """Return a unit's winner."""

    def find_won_at_ms(self, winners: Sequence[Winner]) -> list[int]:
        """Return the times of the winners' draws."""

    def hand_over(self, winner: Winner, decision: Decision, action: Action) -> bool:
        """Record that a unit was handed over; return False if it was decided before."""


class Addresses(Protocol):
    """Addresses of winners of goods, one for each user."""

    def find_won(self, campaign_id: str, user_id: str, draw_id: str) -> Winner | None:
        """Return the goods that a user's own draw won."""

    def put(self, winner: Winner, address: Address) -> bool:
        """Store the winner's address; return False if their unit was decided."""

    def find(self, user_ids: Sequence[str]) -> dict[str, Address]:
        """Return the known addresses by user id, strongly consistent."""
