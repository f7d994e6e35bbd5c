"""Response types for chats."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from redpacket.chat.api.schemas import CHAT_ID, ChatTitle, DayFen, Language
from redpacket.chat.connector_name import ConnectorName
from redpacket.platform.http.answer_fields import AtMs
from redpacket.platform.http.bodies import about

ChatId = Annotated[str, about("Chat id on the platform.", "-1001234567890", pattern=CHAT_ID)]


class ChatPlace(TypedDict):
    """Platform of a chat, and the chat id on the platform."""

    connector: Annotated[str, Field(json_schema_extra={"enum": list(ConnectorName)})]
    chat_id: ChatId


class AdmittedChat(ChatPlace):
    """Chat in which members may send and claim packets."""

    title: ChatTitle
    day_fen: DayFen
    language: Language
    admitted_at_ms: AtMs


class AdmittedChats(TypedDict):
    """All admitted chats."""

    items: Annotated[list[AdmittedChat], about("Admitted chats, sorted by platform and id.")]


class ChatAnswer(TypedDict):
    """Response in the platform's format, such as a toast; often an empty object."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]
