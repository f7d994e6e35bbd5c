"""Delivery address for won goods; only the winner can write it, until an operator decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.lottery.model.winners import Address, Winner
from redpacket.platform.errors import VersionConflict

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.addresses import DynamoAddresses


def find_won(campaign_id: str, user_id: str, draw_id: str, *, addresses: DynamoAddresses) -> Winner:
    """Return the goods that a draw of the user won. Raises CampaignNotFound."""
    winner = addresses.find_won(campaign_id, user_id, draw_id)
    if winner is None:
        raise CampaignNotFound("This user won no goods in a draw with this id.")
    return winner


def give_address(winner: Winner, address: Address, *, addresses: DynamoAddresses) -> None:
    """Store the delivery address of goods. Raises VersionConflict after an operator's decision."""
    if winner.decision or not addresses.put(winner, address):
        raise VersionConflict(
            "These goods were already handed over or forfeited. Ask the operator."
        )
