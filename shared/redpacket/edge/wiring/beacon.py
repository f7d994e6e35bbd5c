"""Wiring of the public beacon, which one function fetches and others read."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.edge.wiring.log import LogRoom

if TYPE_CHECKING:
    from redpacket.domain.beacon import BeaconChain, BeaconRound
    from redpacket.flows.beacon.cached_rounds import CachedRounds
    from redpacket.flows.beacon.fetch_rounds import FetchReport
    from redpacket.flows.campaigns.edit_campaign import NewBeacon
    from redpacket.ports.beacon import Beacon, Rounds

_CALL_MS_MAX = 2_000
"""Timeout of a call to an endpoint; most answer within 100 ms."""

RESERVE_MS = 10_000
"""Milliseconds left for the last round: each endpoint is tried once more."""


class BeaconRoom(LogRoom):
    """Wiring of flows/beacon."""

    @cached_property
    def rounds(self) -> Rounds:
        from redpacket.adapters.dynamo.rounds import DynamoRounds

        return DynamoRounds(self.dynamo, self.settings.transparency_table)

    @cached_property
    def cached_rounds(self) -> CachedRounds:
        from redpacket.flows.beacon.cached_rounds import CachedRounds

        return CachedRounds(lambda: self.rounds, clock=self.clock, is_signed=self._is_signed)

    def _is_signed(self, chain_hash: str, found: BeaconRound) -> bool | None:
        """Return whether a round is its chain's; None if the chain is not the configured one."""
        if not self.settings.beacon_chain or self.beacon_chain.chain_hash != chain_hash:
            return None
        from redpacket.bls import PublicKey

        key = PublicKey(self.settings.beacon_public_key)
        return key.has_signed(found.round_no, found.signature)

    @cached_property
    def beacon_chain(self) -> BeaconChain:
        from redpacket.domain.beacon import BeaconChain

        return BeaconChain.parse(self.settings.beacon_chain)

    @cached_property
    def new_beacon(self) -> NewBeacon | None:
        """Choice of rounds for a new campaign, or None without a configured beacon."""
        if not self.settings.beacon_chain:
            return None
        from redpacket.flows.beacon.new_beacon import new_beacon

        chain, rounds = self.beacon_chain, self.rounds
        return partial(new_beacon, chain=chain, rounds=rounds, clock=self.clock)

    @cached_property
    def beacon(self) -> Beacon:
        from redpacket.adapters.drand import DrandBeacon

        return DrandBeacon(
            self.settings.beacon_urls,
            self.beacon_chain,
            self.settings.beacon_public_key,
            journal=self.journal,
            call_ms_max=_CALL_MS_MAX,
            allows_private=bool(self.settings.simulator_url),
        )

    def fetch_rounds(self, time_left_ms: int, wait_s: int | None = None) -> FetchReport:
        """Fetch, verify and store the rounds that become due in the time left, or in *wait_s*."""
        from redpacket.flows.beacon.fetch_rounds import fetch_rounds

        return fetch_rounds(
            time_left_ms - RESERVE_MS if wait_s is None else wait_s * 1000,
            chain=self.beacon_chain,
            beacon=self.beacon,
            rounds=self.rounds,
            clock=self.clock,
            journal=self.journal,
        )
