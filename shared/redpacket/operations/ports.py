"""Ports for switches, rate limits, allowances and risk decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.operations.model.allowances import Allowance
    from redpacket.operations.model.limits import Limit, LimitName
    from redpacket.operations.model.switches import Switch, SwitchState


class Limits(Protocol):
    """Rate limit counters; a cache failover may reset them. Tests use a fake."""

    def take(self, limit: Limit, subject: str) -> int:
        """Count one action and return 0, or return the milliseconds until an action is allowed."""

    def take_within(
        self, limit: Limit, subject: str, group_limit: Limit, group: str, *, is_spent: bool
    ) -> int:
        """Count an action like `take` if *group* has one left; if *is_spent*, also for *group*."""


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """All switches, and the limits that operators have set."""

    states: list[SwitchState]
    limits: Mapping[LimitName, int] = field(default_factory=dict)


class SwitchStore(Protocol):
    """Durable switches and limits, and the unit of account. Tests use a fake."""

    def read(self) -> SwitchRow:
        """Read the whole row; if another unit of account is fixed, every switch is off."""

    def put(self, state: SwitchState) -> None:
        """Set one switch."""

    def put_limit(self, name: LimitName, value: int | None) -> None:
        """Set one limit; None restores its default."""

    def fix_unit(self) -> None:
        """Fix the unit before money moves. Raises Unavailable if another unit is fixed."""


@dataclass(frozen=True, slots=True)
class SwitchesSeen:
    """Switch states from a recent read; *is_known* is false if the store did not answer."""

    off: frozenset[Switch]
    is_known: bool = True
    limits: Mapping[LimitName, int] = field(default_factory=dict)


class SwitchCopy(Protocol):
    """Shared copy of the switches, which expires within seconds. Tests use a fake."""

    def find(self) -> SwitchesSeen | None:
        """Return the copy, if it has not expired."""

    def keep(self, seen: SwitchesSeen, for_ms: int) -> None:
        """Store the copy."""


class Allowances(Protocol):
    """Sums that operators moved without approval, counted in the moves' transactions.

    The approvals context implements the Protocol.
    """

    def find_allowance(self, operator_id: str, subject: str) -> Allowance:
        """Return an operator's recent sums for a subject."""

    def find_moved_fen(self, owner: str, periods: Sequence[int]) -> dict[int, int]:
        """Return the sums, keyed by period, that *owner* (or EVERYONE) moved to all subjects."""


class RiskHook(Protocol):
    """The host's risk control. Tests use a fake."""

    def ask(self, host_id: str) -> bool | None:
        """Return whether the user may take part, or None if no valid answer arrives in time."""


class AskedVerdicts(Protocol):
    """Cache of the risk control's answers. Tests use a fake."""

    def find(self, user_id: str) -> bool | None:
        """Return the cached answer, or None."""

    def keep(self, user_id: str, *, is_allowed: bool, for_ms: int) -> None:
        """Cache an answer."""
