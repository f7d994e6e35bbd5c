"""What the journal of operators' actions needs from outside."""

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
"""The form of where the journal goes on: the sort key of an action."""

CAMPAIGN_CURSOR = "[0-9]{13}#[a-z0-9_-]{1,63}"
"""The form of where the list of campaigns goes on: its start and its id."""

APPROVAL_CURSOR = "[0-9]{13}#[0-9a-f]{32}"
"""The form of where the approvals go on: a time and an id."""

OPEN_CURSOR = rf"(3[01]|[12]?[0-9])\.[0-9]{{1,13}}\.{PACKET_ID.pattern}"
"""The form of where the open packets go on: a shard of the list, a time and a packet."""


@dataclass(frozen=True, slots=True)
class NotedAction:
    """An action as it stands in the journal, and its place there."""

    action: Action
    position: str


class ActionJournal(Protocol):
    """The journal of operators' actions: rows are added, and none is ever changed."""

    def note(self, action: Action) -> None:
        """Keep an action by itself, before it is carried out: a write of its own has no change."""

    def list_actions(
        self, subject: str | None, cursor: str | None, limit: int
    ) -> tuple[list[NotedAction], str | None]:
        """Return a page of what was done, to *subject* or at all, newest first, and its cursor.

        Raises InvalidRequest where *cursor* is not one of this list.
        """


class OperatorLists(Protocol):
    """What operators list; the order of each list is that of its cursor."""

    def list_campaigns(self, cursor: str | None, limit: int) -> tuple[list[Campaign], str | None]:
        """Return a page of campaigns, the latest start first, and the next page's cursor.

        Raises InvalidRequest where *cursor* is not one of this list.
        """

    def list_open(self, cursor: str | None, limit: int) -> tuple[list[str], str | None]:
        """Return ids of packets that wait for their end, in no order, and the next page's cursor.

        Raises InvalidRequest where *cursor* is not one of this list.
        """


class Winners(Protocol):
    """Who won which unit of goods, and what became of it."""

    def list_winners(
        self, campaign_id: str, prize_id: str, after_no: int, limit: int
    ) -> list[Winner]:
        """Return winners of units above *after_no* by their numbers, read strongly."""

    def find_winner(self, campaign_id: str, prize_id: str, unit_no: int) -> Winner | None:
        """Return who won a unit, read strongly."""

    def find_won_at_ms(self, winners: Sequence[Winner]) -> list[int]:
        """Return when each of them won, by their draws."""

    def hand_over(self, winner: Winner, decision: Decision, action: Action) -> bool:
        """Note that a unit was handed over; False, without effect, where it was decided before."""


class KnownPeople(Protocol):
    """The way back from ids to whom the host means."""

    def list_people(self, user_ids: Sequence[str]) -> dict[str, Person]:
        """Return those of whom anything is kept, with the host's own id and a nickname."""


class Allowances(Protocol):
    """What operators moved alone; the transactions that move it count it."""

    def find_allowance(self, operator_id: str, subject: str) -> Allowance:
        """Return what an operator moved to a subject lately, read strongly."""


class Approvals(Protocol):
    """What waits for another operator."""

    def ask(self, approval: Approval, people: Sequence[Person], action: Action) -> bool:
        """Put an approval that waits, and note *people* and *action*.

        False, without effect, where there is one of this id.
        """

    def find_approval(self, approval_id: str) -> Approval | None:
        """Return an approval, read strongly."""

    def list_approvals(self, cursor: str | None, limit: int) -> tuple[list[Approval], str | None]:
        """Return a page of approvals, newest first, and the next page's cursor.

        Raises InvalidRequest where *cursor* is not one of this list.
        """

    def decide(self, decided: Approval, action: Action) -> bool:
        """Write who decided what; False, without effect, where it does not wait any more."""

    def mark_applied(self, approval: Approval) -> None:
        """Note that what was approved is done, whatever a concurrent call noted."""

    def mark_refused(self, approval: Approval, code: str) -> None:
        """Reject what was approved and could not be done, unless it was applied."""
