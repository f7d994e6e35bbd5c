"""What a sweep needs to find its work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.domain.claim import ShareRef


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row of the table of shares that no function of ours writes."""

    pk: str
    sk: str

    @property
    def key(self) -> str:
        """The key in one line, for a message."""
        return f"{self.pk} {self.sk}"


class WorkLists(Protocol):
    """What waits for a sweep: the oldest come first, and what can't be done makes way for others.

    Lists lag behind their rows, so they only name candidates.
    """

    def list_unloaded(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets sent before *until_ms* whose load is not known to have worked."""

    def list_unpaid(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets sent before *until_ms* that wait for their payment."""

    def list_due(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets that expired before *until_ms* and are not closed."""

    def list_unsettled(self, until_ms: int, limit: int) -> list[ShareRef | Unreadable]:
        """Return claims that wait since before *until_ms* for settlement, or for a packet's end.

        The longest waiting come first; a row of no share that somebody put there is among them.
        """

    def set_aside(self, found: ShareRef | Unreadable, until_ms: int) -> None:
        """Let a row that `list_unsettled` returned be found again from *until_ms* on."""

    def delay(self, packet_id: str, until_ms: int) -> None:
        """Let a packet that waits in one of the sweep's lists be found again from *until_ms* on."""
