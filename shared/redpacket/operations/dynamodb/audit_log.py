"""Operators' audit log in JournalTable.

No role may update or delete its rows. A put could replace one, which the table's stream reports.
"""

from __future__ import annotations

import json
from dataclasses import asdict
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
from redpacket.platform.dynamodb.client import Dynamo, Operation, Row, put
from redpacket.platform.dynamodb.lists import NewestFirst
from redpacket.platform.errors import InvariantViolated
from redpacket.platform.user import User


class DynamoActions:
    """Append-only audit log of operators' actions."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._audit_table = dynamo.tables.journal

    def note(self, action: Action) -> None:
        """Log an action in a separate write, before it is carried out."""
        (operation,) = note_action(self._audit_table, action)
        if not self._dynamo.write(operation):
            raise InvariantViolated("an action with this key is already logged")

    def list_actions(
        self, subject: str | None, cursor: str | None, limit: int
    ) -> tuple[list[LoggedAction], str | None]:
        """Return a page of actions, newest first, and the next cursor; it may lag."""
        name, index = (subject, "by_list") if subject else (operator_keys.JOURNAL, None)
        lists = NewestFirst(self._dynamo, self._audit_table, ACTION_CURSOR, index)
        page, more = lists.page(name, cursor, limit)
        return [_noted(row) for row in page], more


def note_action(journal_table: str, action: Action | None) -> list[Operation]:
    """Return the write that logs an action in the transaction that carries it out."""
    if action is None:
        return []
    position = f"{action.at_ms:013d}#{token_hex(8)}"
    return [
        put(
            journal_table,
            {
                **operator_keys.action(position),
                "list_pk": action.subject,
                "list_sk": position,
                **operator_row(action.operator),
                "kind": action.kind,
                "subject": action.subject,
                "at_ms": action.at_ms,
                "changes": json.dumps(
                    [asdict(change) for change in action.changes],
                    ensure_ascii=False,
                    separators=(",", ":"),
                ),
            },
        )
    ]


def operator_row(operator: User) -> Row:
    """Return the attributes that name an operator, with the host's id in clear.

    The id survives an erasure, so an operator cannot vanish from the log.
    """
    row: Row = {"operator_id": operator.user_id}
    return {**row, "operator_host_id": operator.host_id} if operator.host_id else row


def operator_of(row: dict[str, Any]) -> User:
    """Return the operator of a row; rows from before 1.0 lack the host's id."""
    return User(row["operator_id"], host_id=row.get("operator_host_id"))


def _noted(row: dict[str, Any]) -> LoggedAction:
    changes = tuple(Change(**change) for change in json.loads(row["changes"]))
    action = Action(
        operator_of(row), ActionKind(row["kind"]), row["subject"], row["at_ms"], changes
    )
    return LoggedAction(action, row["sk"])
