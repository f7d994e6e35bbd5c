"""Repository of winners in DrawsTable; a unit's row holds the winner and any decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.model.winners import Decision, Winner, WinnerStatus
from redpacket.operations.dynamodb.audit_log import note_action
from redpacket.operations.model.operators import Action
from redpacket.platform.dynamodb.client import Dynamo, Operation, update, values
from redpacket.platform.dynamodb.lists import read_in_order

IS_UNDECIDED = "draw_id = :draw_id AND attribute_not_exists(winner_status)"


class DynamoWinners:
    """Repository of winners of goods and codes, and of operators' decisions."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._draws = dynamo.tables.draws
        self._audit_table = dynamo.tables.journal

    def list_winners(
        self, campaign_id: str, prize_id: str, after_no: int, limit: int
    ) -> list[Winner]:
        """Return the winners of units above *after_no*, sorted by unit number."""
        rows = self._dynamo.query_some(
            self._draws,
            limit,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(
                pk=draw_keys.units(campaign_id, prize_id)["pk"],
                first=f"{draw_keys.UNIT_PREFIX}{after_no + 1:07d}",
                last=f"{draw_keys.UNIT_PREFIX}~",
            ),
            ConsistentRead=True,
        )
        return [winner_of(row) for row in rows]

    def find_winner(self, campaign_id: str, prize_id: str, unit_no: int) -> Winner | None:
        """Return a unit's winner."""
        row = self._dynamo.get(self._draws, draw_keys.unit(campaign_id, prize_id, unit_no))
        return winner_of(row) if row else None

    def find_won_at_ms(self, winners: Sequence[Winner]) -> list[int]:
        """Return the times of the winners' draws."""
        row_keys = [
            draw_keys.draw(winner.campaign_id, winner.user_id, winner.draw_id) for winner in winners
        ]
        rows = read_in_order(self._dynamo, self._draws, row_keys)
        return [row["drawn_at_ms"] for row in rows]

    def hand_over(self, winner: Winner, decision: Decision, action: Action) -> bool:
        """Record that a unit was handed over; return False if it already has a decision."""
        return self._dynamo.try_transact(
            [decide(self._draws, winner, decision), *note_action(self._audit_table, action)]
        )


def decide(draws_table: str, winner: Winner, decision: Decision) -> Operation:
    """Return the update that stores a decision permanently."""
    return update(
        draws_table,
        draw_keys.unit(winner.campaign_id, winner.prize_id, winner.unit_no),
        "SET winner_status = :status, decided_at_ms = :at_ms, decision_note = :note",
        condition=IS_UNDECIDED,
        draw_id=winner.draw_id,
        status=decision.status,
        at_ms=decision.at_ms,
        note=decision.note,
    )


def winner_of(row: dict[str, Any]) -> Winner:
    """Parse a won unit's row."""
    # Neither campaign ids nor prize ids contain "#".
    campaign_id, prize_id = row["pk"].removeprefix(draw_keys.UNITS_PREFIX).split("#")
    decision = None
    if "winner_status" in row:
        status = WinnerStatus(row["winner_status"])
        decision = Decision(status, row["decided_at_ms"], row["decision_note"])
    unit_no = int(row["sk"].removeprefix(draw_keys.UNIT_PREFIX))
    return Winner(campaign_id, prize_id, unit_no, row["user_id"], row["draw_id"], decision)
