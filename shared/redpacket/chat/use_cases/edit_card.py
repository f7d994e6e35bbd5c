"""Edits of cards after events of their packets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.platform.unit import Unit
from redpacket.users.ports import ProfileRepository

if TYPE_CHECKING:
    from redpacket.chat.connector_name import ConnectorName
    from redpacket.chat.dynamodb.chats import DynamoChats
    from redpacket.chat.ports import Connector
    from redpacket.packets.dynamodb.packets import DynamoPackets
    from redpacket.packets.dynamodb.pages import DynamoPages


@dataclass(frozen=True, slots=True)
class CardPorts:
    """Dependencies of cards; *connectors* has the configured platforms."""

    chats: DynamoChats
    connectors: Mapping[ConnectorName, Connector]
    packets: DynamoPackets
    pages: DynamoPages
    profiles: ProfileRepository
    unit: Unit
    page_url: str


def edit_card(packet_id: str, *, ports: CardPorts) -> None:
    """Show the present state of a packet on its card.

    A packet without a card, and a chat that the bot left, need nothing. Raises ChatBusy with the
    seconds to wait, and Unavailable.
    """
    raise NotImplementedError
