"""Ports of a sweep."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.ports.accounts import Ledger
from redpacket.ports.packets import ClaimCache, Packets, Pages, PayoutQueue
from redpacket.ports.runtime import Clock, InParallel, Journal
from redpacket.ports.work_lists import WorkLists


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPorts:
    """Dependencies of a sweep; *grace_ms* is the grace period of claims in flight."""

    work: WorkLists
    packets: Packets
    pages: Pages
    claim_cache: ClaimCache
    ledger: Ledger
    payouts: PayoutQueue
    clock: Clock
    journal: Journal
    grace_ms: int
    in_parallel: InParallel
