"""Ports for public beacons and their rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.fairness.model.beacon import BeaconRound, CampaignBeacon


@dataclass(frozen=True, slots=True)
class Drawing:
    """Period in which a campaign draws by the beacon."""

    beacon: CampaignBeacon
    starts_at_ms: int
    ends_at_ms: int


class Beacon(Protocol):
    """Public beacon on the Internet."""

    def fetch(self, round_no: int) -> BeaconRound | None:
        """Return a verified round, or None if no endpoint has one yet."""


class Rounds(Protocol):
    """Verified rounds, and the campaigns that draw by them."""

    def find(self, chain_hash: str, round_no: int) -> BeaconRound | None:
        """Return a verified round."""

    def find_newest_no(self, chain_hash: str) -> int:
        """Return the newest verified round's number, or 0."""

    def keep(self, chain_hash: str, beacon_round: BeaconRound) -> None:
        """Store a verified round permanently; an existing one stays."""

    def list_drawing(self, now_ms: int) -> list[Drawing]:
        """Return the beacon periods that have not ended; reads may lag."""
