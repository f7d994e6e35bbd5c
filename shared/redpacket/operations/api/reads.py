"""Log of operators' reads of personal data."""

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


def noted_read(
    request: HttpRequest, name: str, rows: Sequence[Row], **filters: str | None
) -> list[Row]:
    """Return the rows of list *name* after logging who reads them by which *filters*.

    Users in *filters* are pseudonyms, because the log is permanent.
    """
    if rows:
        chosen = {field: value for field, value in filters.items() if value}
        facts = {"list": name, "format": "csv" if is_csv_asked(request.headers) else "json"}
        action = Action(
            request.user,
            ActionKind.PEOPLE_READ,
            READS_SUBJECT,
            containers.platform.clock.now_ms(),
            changes_between(None, facts | chosen),
        )
        containers.operators.actions.note_read(action, len(rows))
    return list(rows)
