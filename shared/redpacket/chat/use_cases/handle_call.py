"""Calls of chat platforms: commands, words and taps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redpacket.chat.use_cases.edit_card import CardPorts
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.platform.idempotency import Request
from redpacket.platform.runtime import Clock, EventLogger
from redpacket.platform.user import User, UserIds

if TYPE_CHECKING:
    from redpacket.chat.connector_name import ConnectorName
    from redpacket.chat.dynamodb.chats import DynamoChats
    from redpacket.chat.model import Chat
    from redpacket.chat.ports import Connector
    from redpacket.packets.use_cases.send_packet import SendOrder, SendPorts


@dataclass(frozen=True, slots=True)
class CallPorts:
    """Dependencies of calls.

    *order_of* validates the fields of `POST /packets`. *send_ports_of* counts a send toward the
    limits of its chat and member. The guards check switches and rate limits of a user id.
    """

    chats: DynamoChats
    cards: CardPorts
    claim_ports: ClaimPorts
    send_ports_of: Callable[[Chat], SendPorts]
    order_of: Callable[[User, Request, Mapping[str, Any]], SendOrder]
    guard_send: Callable[[str], None]
    guard_grab: Callable[[], None]
    guard_read: Callable[[str], None]
    balance_fen: Callable[[str], int]
    user_ids: UserIds
    clock: Clock
    logger: EventLogger


def handle_call(
    name: ConnectorName,
    connector: Connector,
    headers: Mapping[str, str],
    body: bytes,
    *,
    ports: CallPorts,
) -> Mapping[str, Any]:
    """Carry out a call of a platform, and return the body of the HTTP 200.

    A redelivered call acts once. Raises SignatureInvalid and InvalidRequest for a call that isn't
    the platform's; ChatBusy and Unavailable if the platform must deliver it again.
    """
    raise NotImplementedError
