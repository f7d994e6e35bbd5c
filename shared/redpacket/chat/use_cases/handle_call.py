"""Handling of calls from chat platforms: commands, words and taps."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Any

from redpacket.chat import texts
from redpacket.chat.errors import ChatBusy, ChatGone
from redpacket.chat.model import Challenge, ChatMoved, Message, PostedCard, Tap
from redpacket.chat.use_cases.commands import BALANCE, HELP, SEND, command_of, packet_fields
from redpacket.chat.use_cases.edit_card import CardPorts, render_card
from redpacket.ledger.model import user_account
from redpacket.packets.errors import PacketNotFound, PassphraseMismatch
from redpacket.packets.model.claim import Claim
from redpacket.packets.use_cases.claim_ports import ClaimPorts
from redpacket.packets.use_cases.claim_share import grab_packet
from redpacket.packets.use_cases.send_packet import send_packet, sent_before
from redpacket.platform.errors import InvariantViolated, RedPacketError, Rejected, SwitchedOff
from redpacket.platform.http.request import nickname_of
from redpacket.platform.idempotency import Request, hash_of_key
from redpacket.platform.runtime import Clock, EventLogger
from redpacket.platform.text import NOTE_GRAPHEMES_MAX, pasted, shortened
from redpacket.platform.time_budget import REQUEST_S, time_budget
from redpacket.platform.user import User, UserIds

if TYPE_CHECKING:
    from redpacket.chat.connector_name import ConnectorName
    from redpacket.chat.dynamodb.chats import DynamoChats
    from redpacket.chat.model import Chat
    from redpacket.chat.ports import CardQueue, Connector
    from redpacket.packets.model.packet import Packet
    from redpacket.packets.use_cases.send_packet import SendOrder, SendPorts

READ_S, TAP_S = 0.7, 1.8
"""Seconds for reading a call, which may fetch a name from the platform, and for handling a tap.

Lark shows an error after three seconds, and does not redeliver a tap.
"""

_SAID_LENGTH_MAX = 200
"""Maximum characters of a possible passphrase, as in `POST /packets/{packet_id}/grab`."""

_DAY_FEN_EXAMPLE = 100_000


@dataclass(frozen=True, slots=True)
class CallPorts:
    """Dependencies of calls.

    *order_of* validates the fields of `POST /packets`. *send_ports_of* returns ports that count a
    send toward the limits of its chat and member. The guards check switches and a user id's rate
    limits. *check_id* raises PacketNotFound for a packet id that no send returned.
    """

    chats: DynamoChats
    cards: CardPorts
    claim_ports: ClaimPorts
    card_queue: CardQueue
    send_ports_of: Callable[[Chat], SendPorts]
    order_of: Callable[[User, Request, Mapping[str, Any]], SendOrder]
    check_id: Callable[[str], str]
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
    """Handle a platform's call, and return the body of the HTTP 200 response.

    A redelivered call sends or claims nothing twice. Raises SignatureInvalid or InvalidRequest if
    the call is forged or malformed, and ChatBusy or Unavailable if the platform must redeliver a
    message.
    """
    time_budget.begin(READ_S)
    call = connector.read(headers, body, ports.clock.now_ms())
    is_tap = isinstance(call, Tap) or (isinstance(call, Message) and call.is_form)
    time_budget.begin(TAP_S if is_tap else REQUEST_S)
    match call:
        case None:
            return {}
        case Challenge():
            return call.answer
        case ChatMoved():
            if chat := ports.chats.find(name, call.chat_id):
                ports.chats.move(chat, call.new_chat_id)
            return {}
        case Tap():
            return _Talk(name, connector, call, ports).answer_tap(call)
        case Message():
            return _Talk(name, connector, call, ports).answer_message(call)


@dataclass(frozen=True, slots=True)
class _Talk:
    """Handler for one member's call."""

    name: ConnectorName
    connector: Connector
    call: Tap | Message
    ports: CallPorts

    def answer_tap(self, tap: Tap) -> Mapping[str, Any]:
        """Claim a share. Taps are not redelivered, so always show the member the outcome."""
        try:
            chat = self._find_chat()
            text = self._claim(chat, tap.packet_id, None) if chat else self._say("not_admitted")
        except PassphraseMismatch:
            text = self._say("say_it")
        except RedPacketError as error:
            text = self._refusal(error)
        return self.connector.answer(tap, text, is_alert=True)

    def answer_message(self, message: Message) -> Mapping[str, Any]:
        """Run a command, or try the message's text as a passphrase."""
        try:
            text = self._carry_out(message)
        except RedPacketError as error:
            is_told = isinstance(error, Rejected | SwitchedOff | InvariantViolated)
            # The platform redelivers all messages except forms.
            if not message.is_form and (isinstance(error, ChatBusy) or not is_told):
                raise
            text = self._refusal(error)
        if not text:
            return {}
        answer = self.connector.answer(message, text, is_alert=True)
        if not answer:
            self.connector.notify(message.member, message.chat_id, text)
        return answer

    def _carry_out(self, message: Message) -> str:
        """Run the message's command, and return the text for the member, or ""."""
        command = command_of(message.text)
        if not command and not message.answers_message_id:
            return ""
        if message.is_private:
            return self._say("only_groups") if command == SEND else self._inform(command)
        chat = self._find_chat()
        if chat is None and message.is_form:
            return self._say("not_admitted")
        if chat is None:
            return self._tell_admission(message) if command else ""
        if command == SEND:
            return self._send(chat, message)
        return self._inform(command) if command else self._try_words(chat, message)

    def _inform(self, command: str | None) -> str:
        if command == HELP:
            example = self.ports.cards.unit.digits(8888)
            return self._say("help", amount=example, link=self.ports.cards.page_url)
        if command != BALANCE:
            return ""
        user_id = self._user(None).user_id
        self.ports.guard_read(user_id)
        return self._say(
            "balance", amount=self._money(self.ports.balance_fen(user_account(user_id)))
        )

    def _tell_admission(self, message: Message) -> str:
        """Return the instructions for admitting the chat, at most once every ten seconds."""
        if not self.ports.chats.take_hint(self.name, message.chat_id, self.ports.clock.now_ms()):
            return ""
        language = message.member.language
        command = ("redpacket", "chat", "admit", self.name, message.chat_id)
        # A stranger chose the title, and an operator may paste it into a shell.
        title = shortened(pasted(message.title), NOTE_GRAPHEMES_MAX) or message.chat_id
        options = ("--title", title, "--day-fen", str(_DAY_FEN_EXAMPLE))
        quoted = map(quote, (*command, *options, "--language", language))
        return self._say("admit", command=" ".join(quoted))

    def _send(self, chat: Chat, message: Message) -> str:
        """Send a packet from the member's balance, post its card, and return any text to show."""
        unit = self.ports.cards.unit
        if not (parsed := packet_fields(message.text, unit)):
            has_form = message.text.split()[1:] == [] and self.connector.offer_form(
                message.member, message.chat_id
            )
            return "" if has_form else self._say("usage", amount=unit.digits(8888))
        fields, is_linked = parsed
        sender = self._user(chat)
        key = f"chat:{self.name}:{message.chat_id}:{message.message_id}"
        text_hash = hashlib.sha256(message.text.encode("utf-8", "surrogatepass")).hexdigest()
        request = Request(sender.user_id, hash_of_key(key), text_hash)
        packet = self._sent(chat, sender, request, fields, is_linked=is_linked)
        try:
            self._post_card(chat, message, packet)
        except ChatGone as error:
            self.ports.logger.failure("card_not_posted", error, packet_id=packet.packet_id)
            return self._say("not_posted")
        return ""

    def _sent(
        self,
        chat: Chat,
        sender: User,
        request: Request,
        fields: Mapping[str, Any],
        *,
        is_linked: bool,
    ) -> Packet:
        ports = self.ports.send_ports_of(chat)
        # Limits must not refuse a redelivered message whose packet exists.
        if first_id := ports.funding.find_sent(request):
            return sent_before(first_id, ports.packets)
        self.ports.guard_send(sender.user_id)
        order = self.ports.order_of(sender, request, fields)
        rules = order.rules if is_linked else replace(order.rules, chat_id=chat.key)
        return send_packet(replace(order, rules=rules), ports=ports)

    def _post_card(self, chat: Chat, message: Message, packet: Packet) -> None:
        packet_id, chats, clock = packet.packet_id, self.ports.chats, self.ports.clock
        if not chats.find_card(packet_id):
            record = self.ports.cards.read_record(packet_id)
            if record is None:
                raise InvariantViolated(f"{packet_id} was sent but has no row")
            card = render_card(record, chat.language, ports=self.ports.cards)
            message_id = self.connector.post(message.chat_id, card, packet_id)
            place = PostedCard(packet_id, self.name, message.chat_id, message_id, chat.language)
            chats.put_card(place, clock.now_ms())
        if not packet.rules.is_exclusive:
            # Claims through the link may have come before the card. Only the queue edits cards.
            self.ports.card_queue.put([packet_id], clock.now_ms())

    def _try_words(self, chat: Chat, message: Message) -> str:
        """Try the words of a reply to a card as the packet's passphrase."""
        chats, answered = self.ports.chats, message.answers_message_id or ""
        packet_id = chats.find_packet_id(self.name, message.chat_id, answered)
        packet = self.ports.claim_ports.packets.find_known(packet_id) if packet_id else None
        is_try = packet and packet.rules.passphrase and len(message.text) <= _SAID_LENGTH_MAX
        return self._claim(chat, packet.packet_id, message.text) if packet and is_try else ""

    def _claim(self, chat: Chat, packet_id: str, passphrase: str | None) -> str:
        ports = self.ports
        ports.check_id(packet_id)
        ports.guard_grab()
        if not self._has_card(chat, packet_id):
            # A forged tap named a packet from the page or from another chat.
            raise PacketNotFound
        claim = grab_packet(packet_id, self._user(chat), passphrase, ports=ports.claim_ports)
        assert isinstance(claim, Claim), "packets of chats open in one step"
        amount = self._money(claim.share.amount_fen)
        return self._say("won" if claim.is_new else "owned", amount=amount)

    def _has_card(self, chat: Chat, packet_id: str) -> bool:
        card = self.ports.chats.find_card(packet_id)
        if card is None or card.connector != self.name:
            return False
        # A chat that moved has cards under its earlier id.
        return (
            card.chat_id == self.call.chat_id
            or self.ports.chats.find(self.name, card.chat_id) == chat
        )

    def _find_chat(self) -> Chat | None:
        return self.ports.chats.find(self.name, self.call.chat_id)

    def _user(self, chat: Chat | None) -> User:
        member = self.call.member
        user_id, nickname = self.ports.user_ids.id_of(member.host_id), nickname_of(member.name)
        return User(user_id, nickname, member.host_id, chat_id=chat.key if chat else None)

    def _money(self, fen: int) -> str:
        return self.ports.cards.unit.text(fen)

    def _say(self, key: str, **values: object) -> str:
        return texts.words(self.call.member.language, key, **values)

    def _refusal(self, error: RedPacketError) -> str:
        self.ports.logger.count(error.code)
        if not isinstance(error, Rejected | SwitchedOff):
            self.ports.logger.failure("chat_call_failed", error)
        return texts.refusal(self.call.member.language, error, self.ports.cards.page_url)
