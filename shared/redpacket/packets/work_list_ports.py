"""Port for the sweep's work lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.packets.model.claim import ShareRef


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Row of SharesTable with a malformed key."""

    pk: str
    sk: str

    @property
    def key(self) -> str:
        """The key as one line for log messages."""
        return f"{self.pk} {self.sk}"


class WorkLists(Protocol):
    """Work lists of the sweep, oldest first, which lag and therefore only name candidates."""

    def list_unloaded(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets sent before *until_ms* whose load is unconfirmed."""

    def list_unpaid(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets sent before *until_ms* that wait for their payment."""

    def list_due(self, until_ms: int, limit: int) -> list[str]:
        """Return ids of packets that expired before *until_ms* and are not closed."""

    def list_unsettled(self, until_ms: int, limit: int) -> list[ShareRef | Unreadable]:
        """Return claims waiting since before *until_ms* for settlement or their packet's end."""

    def set_aside(self, item: ShareRef | Unreadable, until_ms: int) -> None:
        """Hide a row of `list_unsettled` until *until_ms*."""

    def delay(self, packet_id: str, until_ms: int) -> None:
        """Hide a packet of the sweep's lists until *until_ms*."""
