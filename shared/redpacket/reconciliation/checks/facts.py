"""Facts that checks examine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from redpacket.packets.model.claim import Share, ShareStatus
from redpacket.packets.model.packet import Packet


@dataclass(frozen=True, slots=True)
class PacketFacts:
    """All facts of the ledger about one packet, read strongly."""

    packet: Packet
    shares: Sequence[Share]


@dataclass(slots=True)
class Tally:
    """Sums of a packet's shares, added page by page."""

    fate_count: int = 0
    settled_fen: int = 0
    refunded_fen: int = 0
    unsettled_count: int = 0

    def add(self, shares: Iterable[Share]) -> Tally:
        """Take more fates."""
        for share in shares:
            self.fate_count += 1
            if share.status is ShareStatus.REFUNDED:
                self.refunded_fen += share.amount_fen
            elif share.settled_at_ms is None:
                self.unsettled_count += 1
            else:
                self.settled_fen += share.amount_fen
        return self
