"""Repository of winners' addresses, which are stored in users' rows in ProfilesTable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple

from redpacket.lottery.dynamodb import items
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.dynamodb.winners import IS_UNDECIDED, winner_of
from redpacket.lottery.model.lottery import PrizeKind
from redpacket.lottery.model.winners import Address, Winner
from redpacket.platform.dynamodb.client import Dynamo, check, update


class DynamoAddresses:
    """Repository of delivery addresses for won goods, one per user."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._draws = dynamo.tables.draws
        self._profiles = dynamo.tables.profiles

    def find_won(self, campaign_id: str, user_id: str, draw_id: str) -> Winner | None:
        """Return the goods that this user's draw *draw_id* won."""
        row = self._dynamo.get(self._draws, draw_keys.draw(campaign_id, user_id, draw_id))
        draw = items.draw_of(row) if row else None
        if draw is None or draw.prize is None or draw.prize.kind is not PrizeKind.GOODS:
            return None
        key = draw_keys.unit(campaign_id, draw.prize.prize_id, draw.unit_no)
        unit = self._dynamo.get(self._draws, key)
        return winner_of(unit) if unit else None

    def put(self, winner: Winner, address: Address) -> bool:
        """Store the winner's address; return False if an operator has decided on the unit."""
        unit = draw_keys.unit(winner.campaign_id, winner.prize_id, winner.unit_no)
        text = json.dumps(astuple(address), ensure_ascii=False)
        stored = update(
            self._profiles, {"pk": winner.user_id}, "SET goods_address = :text", text=text
        )
        undecided = check(self._draws, unit, IS_UNDECIDED, draw_id=winner.draw_id)
        return self._dynamo.try_transact([undecided, stored])

    def find(self, user_ids: Sequence[str]) -> dict[str, Address]:
        """Return the known addresses by user id, with strongly consistent reads."""
        wanted = [{"pk": user_id} for user_id in dict.fromkeys(user_ids)]
        return {
            str(row["pk"]): Address(*json.loads(str(row["goods_address"])))
            # No read may return an erased user's address, even briefly.
            for row in self._dynamo.get_many(
                self._profiles, wanted, is_strong=True, only="pk, goods_address"
            )
            if "goods_address" in row
        }
