"""Ports for switches and rate limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.operations.model.limits import Limit, LimitName
    from redpacket.operations.model.switches import Switch, SwitchState


class Limits(Protocol):
    """Rate limit counters; a cache failover resets them."""

    def take(self, limit: Limit, subject: str) -> int:
        """Count one action and return 0, or return the milliseconds until one is allowed."""

    def take_within(
        self, limit: Limit, subject: str, group_limit: Limit, group: str, *, is_spent: bool
    ) -> int:
        """Count one action as `take`; use up one of the group's limit only if *is_spent*."""


class OutcomeCounts(Protocol):
    """Counts of requests' outcomes; some of a busy process's last minute may be missing."""

    def count(self, hours: int) -> Mapping[str, int]:
        """Return the counts of codes and stages in the last *hours*. Raises Unavailable."""


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """All switches, and the limits that operators have set."""

    states: list[SwitchState]
    limits: Mapping[LimitName, int] = field(default_factory=dict)


class SwitchStore(Protocol):
    """Durable switches and limits."""

    def read(self) -> SwitchRow:
        """Return every switch and limit, in one read."""

    def put(self, state: SwitchState) -> None:
        """Set one switch."""

    def put_limit(self, name: LimitName, value: int | None) -> None:
        """Set one limit; None restores its default."""


@dataclass(frozen=True, slots=True)
class SwitchesSeen:
    """Recent read of the row; *is_known* is false if the store did not answer."""

    off: frozenset[Switch]
    is_known: bool = True
    limits: Mapping[LimitName, int] = field(default_factory=dict)


class SwitchCopy(Protocol):
    """Shared copy of the switches, which expires after seconds."""

    def find(self) -> SwitchesSeen | None:
        """Return the copy, if it has not expired."""

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        """Store the copy."""
