"""Terms as they compute amounts: with the effective seed, and with the round of the beacon."""

from __future__ import annotations

from collections.abc import Callable

from redpacket.domain.errors import BeaconPending, PacketNotStarted
from redpacket.domain.seed_keys import SeedKeys
from redpacket.domain.split import Terms


class OpenedTerms:
    """Implements OpensTerms; *complete* is `CachedRounds.complete`."""

    def __init__(self, seeds: SeedKeys, complete: Callable[[Terms], Terms]) -> None:
        self._seeds = seeds
        self._complete = complete

    def open_terms(self, packet_id: str, terms: Terms) -> Terms:
        """Return *terms* with all that is known here of what decides their amounts."""
        opened = self._seeds.open_terms(packet_id, terms)
        try:
            return self._complete(opened)
        except (BeaconPending, PacketNotStarted):
            return opened
