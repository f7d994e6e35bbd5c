"""Admission of chats by operators, with a daily limit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from redpacket.chat.errors import ChatNotFound
from redpacket.chat.model import Chat
from redpacket.operations.model.operators import Action, ActionKind, Change
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.chat.dynamodb.chats import DynamoChats

_FIELDS = ("title", "day_fen", "language")


def admit_chat(operator: User, chat: Chat, *, chats: DynamoChats) -> Chat:
    """Admit a chat, or change an admitted one; log nothing for an unchanged chat.

    `chat.admitted_at_ms` is the time of this call. If another chat moved to this id, the id becomes
    a separate chat and the move ends, because a compromised role may have forged the move.
    """
    before = chats.find_own(chat.connector, chat.chat_id)
    after = replace(chat, admitted_at_ms=before.admitted_at_ms) if before else chat
    if after != before:
        chats.put(after, _action(operator, before, after, chat.admitted_at_ms))
    return after


def revoke_chat(
    operator: User, connector: str, chat_id: str, now_ms: int, *, chats: DynamoChats
) -> None:
    """Revoke a chat, or the new id of a moved chat: the bot stops working there.

    Raises ChatNotFound.
    """
    chat = chats.find(connector, chat_id)
    if chat is None:
        raise ChatNotFound
    before = replace(chat, chat_id=chat_id)
    chats.revoke(connector, chat_id, _action(operator, before, None, now_ms))


def list_chats(*, chats: DynamoChats) -> list[Chat]:
    """Return all admitted chats, sorted by connector and id."""
    return sorted(chats.list_all(), key=lambda chat: chat.key)


def _action(operator: User, before: Chat | None, after: Chat | None, now_ms: int) -> Action:
    kind = ActionKind.CHAT_ADMITTED if after else ActionKind.CHAT_REVOKED
    chat = after or before
    assert chat
    changes = tuple(
        Change(name, _text(before, name), _text(after, name))
        for name in _FIELDS
        if _text(before, name) != _text(after, name)
    )
    return Action(operator, kind, f"chat:{chat.key}", now_ms, changes)


def _text(chat: Chat | None, name: str) -> str | None:
    return None if chat is None else str(getattr(chat, name))
