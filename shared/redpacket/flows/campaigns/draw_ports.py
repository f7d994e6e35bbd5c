"""Ports of a draw, and its state between steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redpacket.domain.beacon import BeaconRound
    from redpacket.domain.lottery import Attempt, DrawAsk
    from redpacket.domain.packet import Person
    from redpacket.flows.beacon.cached_rounds import CachedRounds
    from redpacket.flows.campaigns.cached_snapshots import CachedSnapshots
    from redpacket.flows.guards.ask_risk import RiskCheck
    from redpacket.ports.campaigns import DrawCache, Draws
    from redpacket.ports.packets import PayoutQueue
    from redpacket.ports.runtime import Clock, Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawPorts:
    """Ports of every draw."""

    claim_cache: DrawCache
    draws: Draws
    tables: CachedSnapshots
    rounds: CachedRounds
    payouts: PayoutQueue
    clock: Clock
    journal: Journal
    risk: RiskCheck | None = None


@dataclass(frozen=True, slots=True)
class Try:
    """One draw request with the ledger's state before it; *audience* is of the table in use."""

    drawer: Person
    key_hash: str
    attempt: Attempt
    ask: DrawAsk
    round: BeaconRound | None
    audience: object
