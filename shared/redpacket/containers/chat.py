"""Chat platforms, their calls and cards."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.chat.connector_name import ConnectorName
from redpacket.chat.dynamodb.chats import DynamoChats
from redpacket.containers.container import Container, on_dynamo
from redpacket.containers.operations import OperationsContainer
from redpacket.containers.packets import PacketsContainer
from redpacket.containers.users import UsersContainer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redpacket.chat.clients.sqs_cards import SqsCards
    from redpacket.chat.model import Chat
    from redpacket.chat.ports import Connector
    from redpacket.chat.use_cases.edit_card import CardPorts
    from redpacket.chat.use_cases.handle_call import CallPorts
    from redpacket.packets.use_cases.send_packet import SendPorts
    from redpacket.platform.ssrf_safe_http import HttpClient

_CALL_MS_MAX = 2_000


@dataclass(eq=False)
class ChatContainer(Container):
    operations: OperationsContainer
    users: UsersContainer
    packets: PacketsContainer

    chats = on_dynamo(DynamoChats)

    @cached_property
    def connectors(self) -> Mapping[str, Connector]:
        """Platforms for which the secret has values."""
        from redpacket.chat.ports import ConnectorEnvironment

        secret = json.loads(self.settings.chat_secret)
        environment = ConnectorEnvironment(secret, self._http, self.clock.now_ms)
        made = ((name, name.connect(environment)) for name in ConnectorName)
        return {name: connector for name, connector in made if connector}

    @cached_property
    def card_queue(self) -> SqsCards:
        from redpacket.chat.clients.sqs_cards import SqsCards

        return SqsCards(lambda: self.platform.aws("sqs"), self.settings.card_queue_url)

    @cached_property
    def call_ports(self) -> CallPorts:
        from redpacket.chat.api.orders import chat_order
        from redpacket.chat.use_cases.handle_call import CallPorts
        from redpacket.operations.model.switches import Switch
        from redpacket.packets.api.packet_ids import packet_ids

        require_on = self.operations.switches.require_on

        def guard_send(user_id: str) -> None:
            require_on(Switch.SEND)
            self.operations.limit_sends(user_id)

        return CallPorts(
            chats=self.chats,
            cards=self.card_ports,
            claim_ports=self.packets.claim_ports,
            send_ports_of=self._send_ports,
            order_of=chat_order,
            check_id=packet_ids().check,
            guard_send=guard_send,
            guard_grab=partial(require_on, Switch.GRAB),
            guard_read=self.operations.read_costs.count,
            balance_fen=self.packets.ledger.balance_fen,
            user_ids=self.users.user_ids,
            clock=self.clock,
            logger=self.logger,
        )

    @cached_property
    def card_ports(self) -> CardPorts:
        from redpacket.chat.use_cases.edit_card import CardPorts

        return CardPorts(
            chats=self.chats,
            connectors=self.connectors,
            packets=self.packets.packet_rows,
            pages=self.packets.pages,
            profiles=self.users.profiles,
            unit=self.settings.unit,
            page_url=self.settings.share_base_url,
        )

    def _send_ports(self, chat: Chat) -> SendPorts:
        """Return the ports of a send, whose transaction counts toward the limits of a day."""
        from redpacket.chat.dynamodb.chat_funding import DynamoChatFunding

        funding = DynamoChatFunding(
            self.dynamo, self.settings.open_packets_max, chat, self.settings.chat_member_day_fen
        )
        return replace(self.packets.send_ports, funding=funding)

    def _http(self, url: str) -> HttpClient:
        return self.platform.http_client(url, call_ms_max=_CALL_MS_MAX)
