"""What draws need of a public beacon, and what fetches its rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from redpacket.domain.beacon import BeaconRound, CampaignBeacon


@dataclass(frozen=True, slots=True)
class Drawing:
    """A campaign that draws by the beacon, from its start to its end."""

    beacon: CampaignBeacon
    starts_at_ms: int
    ends_at_ms: int


class Beacon(Protocol):
    """A public beacon, as its endpoints on the Internet show it."""

    def fetch(self, round_no: int) -> BeaconRound | None:
        """Return a round whose signature is right; None where no endpoint has such a one by now."""


class Rounds(Protocol):
    """The rounds that were verified, and which campaigns draw by them."""

    def find(self, chain_hash: str, round_no: int) -> BeaconRound | None:
        """Return a round that was verified."""

    def find_newest_no(self, chain_hash: str) -> int:
        """Return the number of the newest round that was verified; 0 without one."""

    def keep(self, chain_hash: str, found: BeaconRound) -> None:
        """Keep a verified round for ever; the first one stays."""

    def list_drawing(self, now_ms: int) -> list[Drawing]:
        """Return the campaigns that draw by a beacon and are not over."""
