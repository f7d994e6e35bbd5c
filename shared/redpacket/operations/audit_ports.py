"""Port for the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.operations.model.operators import Action


ACTION_CURSOR = "[0-9]{13}#[0-9a-f]{16}"
"""Form of an audit log cursor: the sort key of an action."""


@dataclass(frozen=True, slots=True)
class LoggedAction:
    """Logged action with its position in the audit log."""

    action: Action
    position: str


class AuditLog(Protocol):
    """Append-only audit log of operators' actions."""

    def note(self, action: Action) -> None:
        """Log an action in a separate write, before it is carried out."""

    def list_actions(
        self, subject: str | None, cursor: str | None, limit: int
    ) -> tuple[list[LoggedAction], str | None]:
        """Return a page of actions, newest first, and the next cursor; it may lag."""
