"""The public beacon: fetched and verified in one function, read in others."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from redpacket.edge.wiring.accounts import Accounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.domain.beacon import BeaconChain
    from redpacket.domain.split import Terms
    from redpacket.flows.beacon.cached_rounds import CachedRounds
    from redpacket.flows.beacon.fetch_rounds import FetchReport
    from redpacket.flows.beacon.new_rounds import NewRounds
    from redpacket.ports.beacon import Beacon, Rounds
    from redpacket.ports.packets import OpensTerms

_CALL_MS_MAX = 2_000
"""After how long an endpoint is given up; most answer within 100 ms."""

RESERVE_MS = 10_000
"""What is begun must end before the function does: each endpoint is asked once more."""


class BeaconRoom(Accounts):
    """Builds what amounts and draws need of a beacon."""

    @cached_property
    def rounds(self) -> Rounds:
        """The rounds of TransparencyTable."""
        from redpacket.adapters.dynamo.rounds import DynamoRounds

        return DynamoRounds(self.dynamo, self.settings.transparency_table)

    @cached_property
    def cached_rounds(self) -> CachedRounds:
        """The rounds as this process remembers them."""
        from redpacket.flows.beacon.cached_rounds import CachedRounds

        return CachedRounds(lambda: self.rounds, clock=self.clock)

    def complete_terms(self, terms: Terms) -> Terms:
        """Return a packet's terms with the signature of their round; most packets have none."""
        return self.cached_rounds.complete(terms) if terms.beacon else terms

    @property
    def opened_terms(self) -> OpensTerms | None:
        """What decides amounts, for adapters: a function without keys of seeds computes none."""
        if self.seeds is None:
            return None
        from redpacket.domain.seed_keys import OpenedTerms

        return OpenedTerms(self.seeds, self._complete_if_there)

    def _complete_if_there(self, terms: Terms) -> Terms:
        return self.cached_rounds.complete_if_there(terms)

    @cached_property
    def beacon_chain(self) -> BeaconChain:
        """The chain that takes part from now on."""
        from redpacket.domain.beacon import BeaconChain

        return BeaconChain.parse(self.settings.beacon_chain)

    @cached_property
    def new_rounds(self) -> NewRounds | None:
        """Names rounds to come; None where the deployment has no beacon."""
        if not self.settings.beacon_chain:
            return None
        from redpacket.flows.beacon.new_rounds import NewRounds

        return NewRounds(self.beacon_chain, lambda: self.rounds, clock=self.clock)

    @cached_property
    def new_rounds_of(self) -> Callable[[BeaconChain], NewRounds]:
        """Names rounds to come of a campaign's own chain, whatever the deployment's is by now."""
        from redpacket.flows.beacon.new_rounds import NewRounds

        return cache(lambda chain: NewRounds(chain, lambda: self.rounds, clock=self.clock))

    @cached_property
    def beacon(self) -> Beacon:
        """The endpoints of the beacon."""
        from redpacket.adapters.drand import DrandBeacon

        return DrandBeacon(
            self.settings.beacon_urls,
            self.beacon_chain,
            self.settings.beacon_public_key,
            journal=self.journal,
            call_ms_max=_CALL_MS_MAX,
            allows_private=self.settings.allows_private_gateways,
        )

    def fetch_rounds(self, time_left_ms: int, wait_s: int | None = None) -> FetchReport:
        """Fetch, verify and keep the rounds that become due while there is time, or *wait_s*."""
        from redpacket.flows.beacon.fetch_rounds import fetch_rounds

        return fetch_rounds(
            time_left_ms - RESERVE_MS if wait_s is None else wait_s * 1000,
            chain=self.beacon_chain,
            beacon=self.beacon,
            rounds=self.rounds,
            clock=self.clock,
            journal=self.journal,
        )
