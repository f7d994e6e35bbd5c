"""Ports of a sweep."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.packets.ledger_ports import Ledger
from redpacket.packets.ports import ClaimCache, Pages, PayoutQueue, SweepRepository
from redpacket.packets.work_list_ports import WorkLists
from redpacket.platform.runtime import Clock, EventLogger, InParallel


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPorts:
    """Dependencies of a sweep; *grace_ms* is the grace period of claims in flight."""

    work: WorkLists
    packets: SweepRepository
    pages: Pages
    claim_cache: ClaimCache
    ledger: Ledger
    payouts: PayoutQueue
    clock: Clock
    logger: EventLogger
    grace_ms: int
    in_parallel: InParallel
