"""In-memory system with a group on the test-only platform."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any

from redpacket.chat.api.calls import call_ports, card_ports
from redpacket.chat.model import Chat
from redpacket.chat.ports import ConnectorEnvironment
from redpacket.chat.use_cases.admit_chat import admit_chat
from redpacket.chat.use_cases.edit_card import edit_card
from redpacket.chat.use_cases.handle_call import handle_call
from redpacket.containers import containers
from redpacket.operations.model.switches import Switch, SwitchState
from redpacket.platform.errors import Unavailable
from redpacket.platform.idempotency import Request
from redpacket.platform.ssrf_safe_http import HttpAnswer
from redpacket.platform.time_budget import time_budget
from redpacket.platform.user import User
from testing.chat_platforms import Pigeon, registry_line
from testing.in_memory_system import InMemorySystem, PlainIds, an_operator
from testing.platform.handlers import handlers_of

WORD, LOFT = "coo-coo", "https://loft.example"
PIGEON = registry_line()
GROUP = "g-1"
MEMBER_DAY_FEN = 5_000


def a_chat(chat_id: str = GROUP, **changes: Any) -> Chat:
    """Return a chat for admission."""
    given = {"title": "Loft", "day_fen": 10_000, "language": "en", "admitted_at_ms": 1}
    return Chat(PIGEON, chat_id, **{**given, **changes})


@dataclass
class Loft:
    """Platform that stores posted messages. It first returns the statuses in *answers*, without
    storing anything for those other than 200; None means that no response arrives.
    """

    cards: dict[str, list[str]] = field(default_factory=dict)
    """Texts of each card, keyed by message id."""
    said: list[tuple[str, str]] = field(default_factory=list)
    """Private messages, with the member's name."""
    answers: list[int | None] = field(default_factory=list)
    meanwhile: Callable[[str], None] | None = None
    """Callback that gets a new card's packet before the bot gets the answer to its post."""

    def __call__(self, url: str) -> Any:
        """Return the HTTP client for a URL."""
        assert url.startswith(LOFT)
        return self

    def post(self, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Store a message from the bot."""
        assert headers == {}
        told = json.loads(body)
        status = self.answers.pop(0) if self.answers else 200
        if status != 200:
            if status is None:
                raise Unavailable("no answer")
            return HttpAnswer(status, {}, b"{}")
        message_id = told["message"] or f"m-{len(self.cards) + 1}"
        if told["packet"]:
            if self.meanwhile and not told["message"]:
                self.meanwhile(told["packet"])
            self.cards.setdefault(message_id, []).append(told["text"])
        else:
            self.said.append((told["chat"], told["text"].strip()))
        return HttpAnswer(200, {}, json.dumps({"message": message_id}).encode())


class CardList(list[str]):
    """CardQueue that appends packet ids to a list."""

    def put(self, packet_ids: Sequence[str], at_ms: int) -> None:
        """Store packets whose cards must be edited."""
        self.at_ms = at_ms
        self.extend(packet_ids)


class ChatSystem:
    """Members of a group who write messages and tap cards."""

    def __init__(self, system: InMemorySystem) -> None:
        self.system, self.loft, self.queued = system, Loft(), CardList()
        secret = {"pigeon_word": WORD, "pigeon_url": LOFT}
        self.bot = Pigeon(ConnectorEnvironment(secret, self.loft, system.clock.now_ms))
        self._numbers = iter(range(1, 10_000))

    def admit(self, chat: Chat | None = None) -> Chat:
        """Admit a chat as an operator."""
        return admit_chat(an_operator().person, chat or a_chat(), chats=containers.chat.chats)

    def user(self, name: str) -> User:
        """Return the user of a member."""
        host_id = f"pigeon:{name}"
        return User(PlainIds.id_of(host_id), host_id=host_id)

    def deposit(self, name: str, fen: int) -> None:
        """Give a member money."""
        request = Request("treasurer", f"chat-{next(self._numbers)}", str(fen))
        self.system.process().deposit(self.user(name), fen, request)

    def balance_fen(self, name: str) -> int:
        """Return a member's balance."""
        return self.system.balance_fen(self.user(name).user_id)

    def write(self, name: str, text: str, chat: str = GROUP, **more: Any) -> Mapping[str, Any]:
        """Write as a member; a call with an earlier *message* id is a redelivery."""
        given = {"message": f"w-{next(self._numbers)}", "text": text, "chat": chat}
        return self._call(name, {**given, **more})

    def tap(self, name: str, packet_id: str, chat: str = GROUP) -> str:
        """Tap a card as a member, and return the answer."""
        seen = self._call(name, {"packet": packet_id, "chat": chat, "message": "m-1"})
        return str(seen["coo"])

    def switch_off(self, switch: Switch) -> None:
        """Turn a switch off."""
        containers.operations.switch_store.put(SwitchState(switch, is_on=False))
        self.system.pass_time(60_000)

    def private(self, name: str) -> list[str]:
        """Return the bot's private messages to a member, in order."""
        return [text for member, text in self.loft.said if member == name]

    def packet_id(self) -> str:
        """Return the packet of the first card."""
        packet_id = containers.chat.chats.find_packet_id(PIGEON, GROUP, "m-1")
        assert packet_id
        return packet_id

    def edit(self, packet_id: str) -> None:
        """Edit a packet's card as the queue's consumer does."""
        edit_card(packet_id, ports=card_ports())

    def _call(self, name: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
        body = json.dumps({"from": name, "name": name, **told}).encode()
        ports = call_ports()
        return handle_call(PIGEON, self.bot, {"x-pigeon": WORD}, body, ports=ports)


@contextmanager
def chat_system(system: InMemorySystem) -> Iterator[ChatSystem]:
    """Run the chat use cases on *system* inside the block."""
    with handlers_of(system, CHAT_MEMBER_DAY_FEN=str(MEMBER_DAY_FEN)):
        chat = ChatSystem(system)
        vars(containers.chat).update(connectors={PIGEON: chat.bot}, card_queue=chat.queued)
        yield chat
    # Remove the time limit of the last request, as the handler does.
    time_budget.begin(inf)
