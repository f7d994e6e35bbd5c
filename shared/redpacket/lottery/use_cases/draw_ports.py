"""Ports of a draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redpacket.lottery.ports import DrawCache, DrawRepository, SnapshotReader
    from redpacket.lottery.use_cases.cached_snapshots import CachedSnapshots
    from redpacket.operations.use_cases.ask_risk import RiskCheck
    from redpacket.packets.ports import PayoutQueue
    from redpacket.platform.runtime import Clock, EventLogger


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawPorts:
    """Ports of every draw."""

    draw_cache: DrawCache
    draws: DrawRepository
    prizes: SnapshotReader
    snapshots: CachedSnapshots
    payouts: PayoutQueue
    clock: Clock
    logger: EventLogger
    risk: RiskCheck | None = None
