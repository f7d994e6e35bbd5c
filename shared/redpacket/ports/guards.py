"""What switches and rate limits need from outside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Each flow and adapter imports this page; none needs the words of all the others.

    from redpacket.domain.limits import Limit
    from redpacket.domain.switches import Switch, SwitchState


class Limits(Protocol):
    """Counts what subjects do; forgets it all where the cache does."""

    def take(self, limit: Limit, subject: str) -> int:
        """Let *subject* do one more and return 0, or return in how many ms they may."""

    def take_within(
        self, limit: Limit, subject: str, group_limit: Limit, group: str, *, is_spent: bool
    ) -> int:
        """As `take`, of a member of *group*, which must have one left of its own limit, too.

        That one is used up where *is_spent*. Both limits have one name.
        """


class SwitchStore(Protocol):
    """How the switches stand, durably."""

    def list_states(self) -> list[SwitchState]:
        """Return every switch, read strongly."""

    def put(self, state: SwitchState) -> None:
        """Set one switch."""


@dataclass(frozen=True, slots=True)
class SwitchesSeen:
    """What somebody read of the store a moment ago; not *is_known*: it did not answer them."""

    off: frozenset[Switch]
    is_known: bool = True


class SwitchCopy(Protocol):
    """What was read of the store last, where it is cheap to ask; gone after some seconds."""

    def find(self) -> SwitchesSeen | None:
        """Return what somebody read, if it is not too old."""

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        """Tell the others for a while."""


class Deliveries(Protocol):
    """Whether the payout queue hands its messages to the payout function."""

    def turn(self, *, is_on: bool) -> None:
        """Let messages through, or let them wait; it takes effect some time later."""
