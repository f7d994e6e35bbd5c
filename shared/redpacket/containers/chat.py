"""Container for chats, their platforms, and sends from chats."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from redpacket.chat.clients.sqs_cards import SqsCards
from redpacket.chat.connector_name import ConnectorName
from redpacket.chat.dynamodb.chat_funding import DynamoChatFunding
from redpacket.chat.dynamodb.chats import DynamoChats
from redpacket.chat.model import Chat
from redpacket.chat.ports import Connector, ConnectorEnvironment
from redpacket.containers.container import Container, on_dynamo
from redpacket.containers.packets import PacketsContainer
from redpacket.packets.use_cases.send_packet import SendPorts

_CALL_MS_MAX = 2_000


@dataclass(eq=False)
class ChatContainer(Container):
    packets: PacketsContainer

    chats = on_dynamo(DynamoChats)

    @cached_property
    def connectors(self) -> Mapping[str, Connector]:
        """Connectors for the platforms whose keys are all in the chat secret."""
        secret = json.loads(self.settings.chat_secret)
        http = partial(self.platform.http_client, call_ms_max=_CALL_MS_MAX)
        environment = ConnectorEnvironment(secret, http, self.clock.now_ms)
        made = ((name, name.connect(environment)) for name in ConnectorName)
        return {name: connector for name, connector in made if connector}

    @cached_property
    def card_queue(self) -> SqsCards:
        return SqsCards(lambda: self.platform.aws("sqs"), self.settings.card_queue_url)

    def send_ports_of(self, chat: Chat) -> SendPorts:
        """Return ports for a send that counts toward the chat's daily limits."""
        open_max, member_fen = self.settings.open_packets_max, self.settings.chat_member_day_fen
        funding = DynamoChatFunding(self.dynamo, open_max, chat, member_fen)
        return replace(self.packets.send_ports, funding=funding)
