"""Request body and path parameters for an admitted chat."""

from __future__ import annotations

from typing import Annotated, Literal

from redpacket.chat.connector_name import ConnectorName
from redpacket.platform.bounds import FEN_MAX
from redpacket.platform.http.bodies import StrictBody, about, example
from redpacket.platform.http.parameters import of_form, required
from redpacket.platform.http.request_fields import Note

CHAT_ID = "^-?[A-Za-z0-9_]{1,64}$"

ChatTitle = Annotated[Note, about("Name of the chat, for operators.", "Team")]
DayFen = Annotated[
    int, about("Maximum total of the chat's packets per UTC day.", 100_000, ge=1, le=FEN_MAX)
]
Language = Annotated[Literal["zh", "en"], about("Language of the chat's cards.")]


class ChatBody(StrictBody):
    """PUT /admin/chats/{connector}/{chat_id}."""

    model_config = example({"title": "Team", "day_fen": 100_000, "language": "zh"})

    title: ChatTitle = ""
    day_fen: DayFen
    language: Language = "zh"


@required("path", "connector", type="string", enum=list(ConnectorName))
def connector_of(text: str) -> ConnectorName:
    """The platform."""
    return ConnectorName(of_form("connector", "|".join(ConnectorName), text))


@required("path", "chat_id", type="string", pattern=CHAT_ID)
def chat_id_of(text: str) -> str:
    """Chat id on the platform, which the bot shows in the chat."""
    return of_form("chat_id", CHAT_ID, text)
