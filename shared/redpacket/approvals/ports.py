"""Ports for operators' actions, lists, winners and approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from redpacket.packets.model.packet_id import PACKET_ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.approvals.model import Approval
    from redpacket.campaigns.model import Campaign
    from redpacket.operations.model.operators import Action
    from redpacket.platform.user import User


CAMPAIGN_CURSOR = "[0-9]{13}#[a-z0-9_-]{1,63}"
"""Form of a campaign list cursor: start and id."""

APPROVAL_CURSOR = "[0-9]{13}#[0-9a-f]{32}"
"""Form of an approval list cursor: time and id."""

OPEN_CURSOR = rf"(1[01][0-9]|12[0-7]|[1-9]?[0-9])\.[0-9]{{1,13}}\.{PACKET_ID.pattern}"
"""Form of an open packet list cursor: shard, time and packet."""


class OperatorLists(Protocol):
    """Operators' lists; lists may lag."""

    def list_campaigns(self, cursor: str | None, limit: int) -> tuple[list[Campaign], str | None]:
        """Return a page of campaigns, latest start first, and the next cursor.

        Raises InvalidRequest for a bad cursor.
        """

    def list_open(self, cursor: str | None, limit: int) -> tuple[list[str], str | None]:
        """Return a page of ids of packets that wait for their end, and the next cursor.

        *cursor* has the form OPEN_CURSOR.
        """


class Approvals(Protocol):
    """Changes that need a second operator."""

    def ask(self, approval: Approval, users: Sequence[User], action: Action) -> bool:
        """Store an approval and *users*, and log *action*; return False if the id exists."""

    def find_approval(self, approval_id: str) -> Approval | None:
        """Return an approval."""

    def list_approvals(self, cursor: str | None, limit: int) -> tuple[list[Approval], str | None]:
        """Return a page of approvals, newest first, and the next cursor; it may lag."""

    def decide(self, decided: Approval, action: Action) -> bool:
        """Store a decision; return False if the approval is no longer pending."""

    def note_repeat(self, approval: Approval) -> bool:
        """Note a second call to apply; return False if the change was applied or refused."""

    def mark_applied(self, approval: Approval) -> None:
        """Mark an approved change as done, even if a concurrent call refused it."""

    def mark_refused(self, approval: Approval, code: str) -> None:
        """Reject an approved change that failed, unless it was applied or repeated."""
