"""Operators' audit log in JournalTable.

No role may update or delete rows. PutItem could replace a row, but the table's stream reports
replacements.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from secrets import token_hex
from typing import Any

from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.operations.model.operators import (
    ACTION_CURSOR,
    Action,
    ActionKind,
    Change,
    LoggedAction,
)
from redpacket.platform.bounds import CLOCKS_DIFFER_MS
from redpacket.platform.dynamodb.client import Dynamo, Operation, Row, put
from redpacket.platform.dynamodb.lists import NewestFirst
from redpacket.platform.errors import InvariantViolated
from redpacket.platform.user import User

_CAUSES = {
    ActionKind.DEPOSIT,
    ActionKind.CAMPAIGN_MONEY_MOVED,
    ActionKind.CAMPAIGN_MARK_REMOVED,
}
"""Kinds of actions that explain a money movement; only two roles may mark rows as causes."""

_HOUR_MS = 3_600_000
_COUNTED_MAX = 1_000
"""Maximum number of counters in a process, each for an operator, list, filter and hour."""


class DynamoActions:
    """Append-only audit log of operators' actions."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._audit_table = dynamo.tables.journal
        self._read_counts: dict[tuple[object, ...], tuple[int, int]] = {}

    def note(self, action: Action) -> None:
        """Log an action in a separate write, before the action is executed."""
        self._write(operator_keys.action(_position(action)), action)

    def note_read(self, action: Action, row_count: int) -> None:
        """Log a read of personal data if the hour has more unlogged rows than logged rows.

        The log entries for an operator, list, filter and hour therefore cover at least half of the
        rows that a process read, and a long export writes few entries. A stored counter would need
        updates, which the table's stream reports.
        """
        read = action.operator_id, action.changes, action.at_ms // _HOUR_MS
        logged_count, unlogged_count = self._read_counts.get(read, (0, 0))
        unlogged_count += row_count
        if unlogged_count > logged_count:
            counted = Change("row_count", None, str(unlogged_count))
            noted = replace(action, changes=(*action.changes, counted))
            self._write(operator_keys.read(_position(action)), noted)
            logged_count, unlogged_count = logged_count + unlogged_count, 0
        if len(self._read_counts) >= _COUNTED_MAX:
            self._read_counts.clear()
        self._read_counts[read] = logged_count, unlogged_count

    def _write(self, key: dict[str, str], action: Action) -> None:
        if not self._dynamo.write(_put(self._audit_table, key, action)):
            raise InvariantViolated("an action with this key is already logged")

    def list_actions(
        self, subject: str | None, cursor: str | None, limit: int, now_ms: int = 10**13 - 1
    ) -> tuple[list[LoggedAction], str | None]:
        """Return a page of actions up to *now_ms*, newest first, and the next cursor.

        The list may lag. Without *now_ms*, a forged row with a future date would stay first.
        """
        name, index = (subject, "by_list") if subject else (operator_keys.JOURNAL, None)
        lists = NewestFirst(self._dynamo, self._audit_table, ACTION_CURSOR, index)
        until = f"{min(now_ms + CLOCKS_DIFFER_MS, 10**13 - 1):013d}#~"
        page, more = lists.page(name, cursor, limit, ("0", until))
        return [logged_of(row) for row in page], more


def note_action(journal_table: str, action: Action | None) -> list[Operation]:
    """Return the write that logs an action in the transaction that executes it."""
    if action is None:
        return []
    return [_put(journal_table, operator_keys.action(_position(action)), action)]


def _position(action: Action) -> str:
    """Return a sort key with a random part, so that no row written in advance can occupy it."""
    return f"{action.at_ms:013d}#{token_hex(8)}"


def _put(journal_table: str, key: dict[str, str], action: Action) -> Operation:
    return put(
        journal_table,
        {
            **key,
            "list_pk": action.subject,
            "list_sk": key["sk"],
            **operator_row(action.operator),
            "kind": action.kind,
            "subject": action.subject,
            "at_ms": action.at_ms,
            "changes": changes_text(action.changes),
            **({"is_cause": True} if action.kind in _CAUSES else {}),
            # Only one role may write `is_approved`; reconciliation limits the moves of other roles.
            **({"is_approved": True} if action.is_approved else {}),
        },
    )


def changes_text(changes: Sequence[Change]) -> str:
    """Return changes as JSON, for a row."""
    listed = [asdict(change) for change in changes]
    return json.dumps(listed, ensure_ascii=False, separators=(",", ":"))


def changes_of(text: str) -> tuple[Change, ...]:
    """Parse the result of `changes_text`. Raises TypeError or ValueError for any other text."""
    listed: list[dict[str, Any]] = json.loads(text)
    if not all(
        isinstance(change["field"], str)
        and isinstance(change["before"], str | None)
        and isinstance(change["after"], str | None)
        for change in listed
    ):
        raise TypeError("a field or value of a change is not a string")
    return tuple(Change(**change) for change in listed)


def operator_row(operator: User) -> Row:
    """Return the attributes that identify an operator, with the host id in plain text.

    The host id survives an erasure, so an operator cannot vanish from the log.
    """
    row: Row = {"operator_id": operator.user_id}
    return {**row, "operator_host_id": operator.host_id} if operator.host_id else row


def operator_of(row: dict[str, Any]) -> User:
    """Return a row's operator; rows written before 1.0 lack the host id."""
    return User(row["operator_id"], host_id=row.get("operator_host_id"))


def logged_of(row: dict[str, Any]) -> LoggedAction:
    """Parse a row; return a bad one as UNREADABLE, so that it does not hide the others."""
    try:
        changes = changes_of(row["changes"])
        of = operator_of(row), ActionKind(row["kind"]), row["subject"], row["at_ms"], changes
    except (KeyError, TypeError, ValueError):
        operator = User(str(row.get("operator_id", "unknown")))
        at_ms = int(row["sk"].partition("#")[0])
        of = operator, ActionKind.UNREADABLE, str(row.get("subject", "unknown")), at_ms, ()
    return LoggedAction(Action(*of), row["sk"])
