"""Ports for operators' actions, lists, winners and approvals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from redpacket.domain.packet_id import PACKET_ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.domain.approvals import Allowance, Approval
    from redpacket.domain.campaign import Campaign
    from redpacket.domain.operators import Action
    from redpacket.domain.packet import Person
    from redpacket.domain.winners import Decision, Winner

ACTION_CURSOR = "[0-9]{13}#[0-9a-f]{16}"
"""Form of an audit log cursor: the sort key of an action."""

CAMPAIGN_CURSOR = "[0-9]{13}#[a-z0-9_-]{1,63}"
"""Form of a campaign list cursor: start and id."""

APPROVAL_CURSOR = "[0-9]{13}#[0-9a-f]{32}"
"""Form of an approval list cursor: time and id."""

OPEN_CURSOR = rf"(3[01]|[12]?[0-9])\.[0-9]{{1,13}}\.{PACKET_ID.pattern}"
"""Form of an open packet list cursor: shard, time and packet."""


@dataclass(frozen=True, slots=True)
class NotedAction:
    """Logged action with its position in the audit log."""

    action: Action
    position: str


class ActionJournal(Protocol):
    """Append-only audit log of operators' actions."""

    def note(self, action: Action) -> None:
        """Log an action in a separate write, before it is carried out."""

    def list_actions(
        self, subject: str | None, cursor: str | None, limit: int
    ) -> tuple[list[NotedAction], str | None]:
        """Return a page of actions, newest first, and the next cursor; it may lag."""


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


class Winners(Protocol):
    """Winners of goods, and operators' decisions."""

    def list_winners(
        self, campaign_id: str, prize_id: str, after_no: int, limit: int
    ) -> list[Winner]:
        """Return the winners of units above *after_no*, by number."""

    def find_winner(self, campaign_id: str, prize_id: str, unit_no: int) -> Winner | None:
        """Return a unit's winner."""

    def find_won_at_ms(self, winners: Sequence[Winner]) -> list[int]:
        """Return the times of the winners' draws."""

    def hand_over(self, winner: Winner, decision: Decision, action: Action) -> bool:
        """Record that a unit was handed over; return False if it was decided before."""


class KnownPeople(Protocol):
    """Mapping from user ids to the host's users, eventually consistent."""

    def list_people(self, user_ids: Sequence[str]) -> dict[str, Person]:
        """Return the known people with host id and nickname."""


class Allowances(Protocol):
    """Sums that operators moved alone, counted by the transactions that move them."""

    def find_allowance(self, operator_id: str, subject: str) -> Allowance:
        """Return an operator's recent sums for a subject."""

    def find_moved_fen(self, owner: str, periods: Sequence[int]) -> dict[int, int]:
        """Return the sums that an operator, or EVERYONE, moved to all subjects, by period."""


class Approvals(Protocol):
    """Changes that need a second operator."""

    def ask(self, approval: Approval, people: Sequence[Person], action: Action) -> bool:
        """Store an approval and *people*, and log *action*; return False if the id exists."""

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
