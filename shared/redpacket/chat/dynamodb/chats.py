"""Repository of admitted chats and their cards' locations, in ChatTable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redpacket.chat.dynamodb import keys
from redpacket.chat.model import Chat, PostedCard
from redpacket.operations.dynamodb.audit_log import note_action
from redpacket.operations.model.operators import Action
from redpacket.platform.dynamodb.client import Dynamo, Operation, Row, merge, put, update, values

_KEPT_S = 30 * 24 * 3600
"""Lifetime of card rows in seconds."""

_HINT_S = 10


class DynamoChats:
    """Repository of chats and cards."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.chat
        self._audit_table = dynamo.tables.journal

    def find(self, connector: str, chat_id: str) -> Chat | None:
        """Return the admitted chat that has or had this id."""
        row = self._dynamo.get(self._table, keys.chat(connector, chat_id))
        if row and "moved_from" in row:
            return self.find_own(connector, str(row["moved_from"]))
        return _chat_of(row) if row and row.get("is_admitted") else None

    def find_own(self, connector: str, chat_id: str) -> Chat | None:
        """Return a chat that was admitted under this id."""
        row = self._dynamo.get(self._table, keys.chat(connector, chat_id))
        return _chat_of(row) if row and row.get("is_admitted") else None

    def list_all(self) -> list[Chat]:
        """Return all admitted chats."""
        rows = self._dynamo.query(
            self._table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=values(pk=keys.CHATS),
            ConsistentRead=True,
        )
        return [_chat_of(row) for row in rows if row.get("is_admitted")]

    def put(self, chat: Chat, action: Action) -> None:
        """Store an admitted chat, log the action, and end any move of another chat to this id."""
        row: Row = {
            **keys.chat(chat.connector, chat.chat_id),
            "connector": chat.connector,
            "chat_id": chat.chat_id,
            "title": chat.title,
            "day_fen": chat.day_fen,
            "language": chat.language,
            "admitted_at_ms": chat.admitted_at_ms,
            "is_admitted": True,
        }
        self._write(merge(self._table, row), action)

    def revoke(self, connector: str, chat_id: str, action: Action) -> None:
        """Revoke a chat's admission, end any move to its id, and log the action."""
        key = keys.chat(connector, chat_id)
        self._write(update(self._table, key, "SET is_admitted = :no", no=False), action)

    def _write(self, operation: Operation, action: Action) -> None:
        operation["Update"]["UpdateExpression"] += " REMOVE moved_from"
        self._dynamo.transact([operation, *note_action(self._audit_table, action)])

    def move(self, chat: Chat, new_chat_id: str) -> None:
        """Map a chat's new id to the chat; a second call has no effect."""
        row: Row = {**keys.chat(chat.connector, new_chat_id), "moved_from": chat.chat_id}
        self._dynamo.write(put(self._table, row))

    def take_hint(self, connector: str, chat_id: str, now_ms: int) -> bool:
        """Record a hint about admission; return False within ten seconds of the last hint."""
        now_s = now_ms // 1000
        row: Row = {**keys.hint(connector, chat_id), "expires_at_s": now_s + _HINT_S}
        is_over = "attribute_not_exists(pk) OR expires_at_s <= :now_s"
        return self._dynamo.write(put(self._table, row, condition=is_over, now_s=now_s))

    def put_card(self, card: PostedCard, now_ms: int) -> None:
        """Store a card's location; if a packet has two cards, edits go to the first."""
        expires: Row = {"expires_at_s": now_ms // 1000 + _KEPT_S}
        place = keys.message(card.connector, card.chat_id, card.message_id)
        self._dynamo.write(merge(self._table, {**place, "packet_id": card.packet_id, **expires}))
        row: Row = {
            **keys.card(card.packet_id),
            "connector": card.connector,
            "chat_id": card.chat_id,
            "message_id": card.message_id,
            "language": card.language,
            **expires,
        }
        self._dynamo.write(put(self._table, row))

    def find_card(self, packet_id: str) -> PostedCard | None:
        """Return the location of a packet's card."""
        row = self._dynamo.get(self._table, keys.card(packet_id))
        if row is None:
            return None
        names = ("connector", "chat_id", "message_id", "language")
        return PostedCard(packet_id, *(str(row[name]) for name in names))

    def find_packet_id(self, connector: str, chat_id: str, message_id: str) -> str | None:
        """Return the id of the packet whose card is this message."""
        row = self._dynamo.get(self._table, keys.message(connector, chat_id, message_id))
        return str(row["packet_id"]) if row else None


def _chat_of(row: Mapping[str, Any]) -> Chat:
    return Chat(
        connector=row["connector"],
        chat_id=row["chat_id"],
        title=row["title"],
        day_fen=row["day_fen"],
        language=row["language"],
        admitted_at_ms=row["admitted_at_ms"],
    )
