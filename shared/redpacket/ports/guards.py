"""Ports for switches and rate limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.domain.limits import Limit
    from redpacket.domain.switches import Switch, SwitchState


class Limits(Protocol):
    """Rate limit counters; a cache failover resets them."""

    def take(self, limit: Limit, subject: str) -> int:
        """Count one action and return 0, or return the milliseconds until one is allowed."""

    def take_within(
        self, limit: Limit, subject: str, group_limit: Limit, group: str, *, is_spent: bool
    ) -> int:
        """Count one action as `take`; use up one of the group's limit only if *is_spent*."""


class SwitchStore(Protocol):
    """Durable switches."""

    def list_states(self) -> list[SwitchState]:
        """Return every switch."""

    def put(self, state: SwitchState) -> None:
        """Set one switch."""


@dataclass(frozen=True, slots=True)
class SwitchesSeen:
    """Recent read of the switches; *is_known* is false if the store did not answer."""

    off: frozenset[Switch]
    is_known: bool = True


class SwitchCopy(Protocol):
    """Shared copy of the switches, which expires after seconds."""

    def find(self) -> SwitchesSeen | None:
        """Return the copy, if it has not expired."""

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        """Store the copy."""
