"""Logging of operators' reads of personal data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from redpacket.containers import containers
from redpacket.operations.model.operators import (
    READS_SUBJECT,
    Action,
    ActionKind,
    changes_between,
)
from redpacket.platform.http.csv_pages import is_csv_asked
from redpacket.platform.http.request import HttpRequest

Row = TypeVar("Row")

_PEOPLE = {"sender", "user"}
"""Names of the filters that select a user."""


def is_known(user_id: str) -> bool:
    """Return whether a user's host id is stored; a filter must not find erased users."""
    users = containers.users.profiles.list_users([user_id])
    return any(user.host_id for user in users.values())


def noted_read(
    request: HttpRequest, name: str, rows: Sequence[Row], **filters: str | None
) -> list[Row]:
    """Log that the operator read the list *name* with *filters*, then return *rows*.

    Users in *filters* are pseudonyms, because the log is permanent. An empty page about a person
    counts as one row, because it also reveals something about the person.
    """
    chosen = {field: value for field, value in filters.items() if value}
    if rows or chosen.keys() & _PEOPLE:
        facts = {"list": name, "format": "csv" if is_csv_asked(request.headers) else "json"}
        action = Action(
            request.user,
            ActionKind.PEOPLE_READ,
            READS_SUBJECT,
            containers.platform.clock.now_ms(),
            changes_between(None, facts | chosen),
        )
        containers.operators.actions.note_read(action, len(rows) or 1)
    return list(rows)
