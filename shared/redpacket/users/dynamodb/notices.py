"""Repository of notices in AudienceTable, one partition per user; a TTL removes old notices."""

from __future__ import annotations

from functools import partial
from typing import Any

from redpacket.platform.dynamodb.client import Dynamo, Value, merge, update, values
from redpacket.platform.dynamodb.lists import NewestFirst, readable
from redpacket.platform.runtime import InParallel
from redpacket.users.model import CURSOR, KEPT_S, PAGE, NoticeKind, UserNotice

_MARKER = "~"
"""Sort key of the row that stores *read_until_ms*. The key sorts after those of all notices."""


class DynamoNotices:
    """Repository of users' notices."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.audience
        self._lists = NewestFirst(dynamo, self._table, CURSOR, index=None)

    def put(self, notice: UserNotice) -> None:
        """Store a notice; storing it again has no effect."""
        place = (f"{notice.at_ms:013d}", notice.kind, notice.subject, notice.part)
        row: dict[str, Value] = {**partition(notice.user_id), "sk": "#".join(place)}
        row["expires_at_s"] = notice.at_ms // 1000 + KEPT_S
        told = {"amount_fen": notice.amount_fen, "emoji": notice.emoji}
        row |= {name: value for name, value in told.items() if value is not None}
        self._dynamo.write(merge(self._table, row))

    def list_newest(
        self, user_id: str, cursor: str | None, now_ms: int
    ) -> tuple[list[UserNotice], int, str | None]:
        """Return a page of notices, the number of unread notices on it, and the next cursor.

        The read is eventually consistent. The number is 0 on further pages. Raises InvalidRequest
        for a bad cursor.
        """
        pk = partition(user_id)["pk"]
        rows, more = self._lists.page(pk, cursor, PAGE, ("0", _MARKER))
        read_until_ms = 0
        if rows and rows[0]["sk"] == _MARKER:
            read_until_ms = rows.pop(0).get("read_until_ms", 0)
        notices = [
            notice for notice in readable(partial(_notice_of, user_id, now_ms), rows) if notice
        ]
        unread = 0 if cursor else sum(notice.at_ms > read_until_ms for notice in notices)
        return notices, unread, more

    def mark_read(self, user_id: str, until_ms: int) -> None:
        """Record that the user has read all notices up to *until_ms*."""
        marker: dict[str, Value] = {**partition(user_id), "sk": _MARKER}
        expires_at_s = until_ms // 1000 + KEPT_S
        row = {**marker, "read_until_ms": until_ms, "expires_at_s": expires_at_s}
        self._dynamo.write(merge(self._table, row))

    def erase(self, user_id: str, now_ms: int, in_parallel: InParallel) -> None:
        """Remove the content of all notices of a user; DynamoDB deletes their keys within days."""
        rows = self._dynamo.query(
            self._table,
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues=values(**partition(user_id)),
            ConsistentRead=True,
        )
        expression = "SET expires_at_s = :now_s REMOVE amount_fen, emoji, read_until_ms"
        row_keys = [{"pk": row["pk"], "sk": row["sk"]} for row in rows]
        in_parallel(
            self._dynamo.write,
            [update(self._table, key, expression, now_s=now_ms // 1000) for key in row_keys],
        )


def partition(user_id: str) -> dict[str, str]:
    """Return the partition of a user's notices."""
    return {"pk": f"notices#{user_id}"}


def _notice_of(user_id: str, now_ms: int, row: dict[str, Any]) -> UserNotice | None:
    if row["expires_at_s"] <= now_ms // 1000:
        # DynamoDB may remove an expired row only days later.
        return None
    at_ms, kind, subject, part = str(row["sk"]).split("#", 3)
    amount_fen, emoji = row.get("amount_fen"), row.get("emoji")
    return UserNotice(
        user_id,
        NoticeKind(kind),
        int(at_ms),
        subject,
        int(amount_fen) if amount_fen is not None else None,
        str(emoji) if emoji else None,
        part,
    )
