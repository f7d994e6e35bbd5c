"""Calls from chat platforms, and cards, independent of any platform's format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Member:
    """Person on a chat platform."""

    host_id: str
    """Platform and the person's id there, such as telegram:123456 or lark:TENANT:ou_xxx."""
    name: str
    """Display name on the platform, unchecked; may be empty."""
    language: str
    """zh or en."""


@dataclass(frozen=True, slots=True)
class Tap:
    """Tap on the button of a card. The packet id is untrusted."""

    member: Member
    chat_id: str
    message_id: str
    packet_id: str
    reply_to: str
    """Id that the platform needs in an answer, or ""."""


@dataclass(frozen=True, slots=True)
class Message:
    """Text message in a chat, which may be a command."""

    member: Member
    chat_id: str
    message_id: str
    text: str
    answers_message_id: str | None
    is_private: bool
    title: str
    """Title of the chat; may be empty."""
    is_form: bool = False
    """Whether a form's button sent the message; the platform then delivers it once, like a tap."""


@dataclass(frozen=True, slots=True)
class ChatMoved:
    """New id of a chat that the platform moved."""

    chat_id: str
    new_chat_id: str


@dataclass(frozen=True, slots=True)
class Challenge:
    """Call by which the platform checks our address, and the body of our response."""

    answer: Mapping[str, Any]


Call = Tap | Message | ChatMoved | Challenge | None
"""Call from a platform; None requires no action."""


@dataclass(frozen=True, slots=True)
class Card:
    """Packet card in plain text. A connector escapes the text and drops lines that do not fit."""

    packet_id: str
    title: str
    lines: tuple[str, ...]
    button: str | None
    link: str | None
    cover_url: str | None


@dataclass(frozen=True, slots=True)
class PostedCard:
    """Location of a packet's card, and the card's language."""

    packet_id: str
    connector: str
    chat_id: str
    message_id: str
    language: str


@dataclass(frozen=True, slots=True)
class Chat:
    """Chat that an operator admitted; *chat_id* is the id under which it was admitted.

    *day_fen* limits the sum of the chat's packets per day. The cards use *language*, zh or en.
    """

    connector: str
    chat_id: str
    title: str
    day_fen: int
    language: str
    admitted_at_ms: int

    @property
    def key(self) -> str:
        """Name of the chat in packet rules; a move does not change it."""
        return f"{self.connector}:{self.chat_id}"
