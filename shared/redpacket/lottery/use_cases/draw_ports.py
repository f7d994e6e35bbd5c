"""Ports of a draw, and its state between steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redpacket.fairness.model.beacon import BeaconRound
    from redpacket.fairness.use_cases.cached_rounds import CachedRounds
    from redpacket.lottery.model.lottery import DrawRequest, PlayerState
    from redpacket.lottery.ports import DrawCache, DrawRepository
    from redpacket.lottery.use_cases.cached_snapshots import CachedSnapshots
    from redpacket.operations.use_cases.ask_risk import RiskCheck
    from redpacket.packets.ports import PayoutQueue
    from redpacket.platform.runtime import Clock, EventLogger
    from redpacket.platform.user import User


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawPorts:
    """Ports of every draw."""

    claim_cache: DrawCache
    draws: DrawRepository
    tables: CachedSnapshots
    rounds: CachedRounds
    payouts: PayoutQueue
    clock: Clock
    logger: EventLogger
    risk: RiskCheck | None = None


@dataclass(frozen=True, slots=True)
class DrawContext:
    """Draw request with the ledger's state before it; *audience* is the table's in use."""

    drawer: User
    key_hash: str
    attempt: PlayerState
    ask: DrawRequest
    round: BeaconRound | None
    audience: object
