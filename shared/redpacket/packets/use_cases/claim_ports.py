"""Dependencies of the use cases grab and open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from redpacket.campaigns.use_cases.cached_campaigns import CachedCampaigns
    from redpacket.operations.ports import Limits
    from redpacket.operations.use_cases.ask_risk import RiskCheck
    from redpacket.operations.use_cases.limit_rate import UserLimit
    from redpacket.packets.dynamodb.claims import DynamoClaims
    from redpacket.packets.dynamodb.packets import DynamoPackets
    from redpacket.packets.model.seed_keys import SeedKeys
    from redpacket.packets.ports import ClaimCache, LoadTurns, PayoutQueue, Phrases, Quotas
    from redpacket.packets.use_cases.cached_emptied import CachedEmptied
    from redpacket.platform.runtime import Clock, EventLogger


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimPorts:
    """Dependencies of grab and open; *costs* limits the ledger reads that one user causes."""

    claim_cache: ClaimCache
    turns: LoadTurns
    emptied: CachedEmptied
    packets: DynamoPackets
    recorder: DynamoClaims
    payouts: PayoutQueue
    costs: UserLimit
    phrases: Phrases
    limits: Limits
    campaigns: CachedCampaigns
    quotas: Quotas
    load_audience: Callable[[str, int], None]
    risk: RiskCheck | None = None
    seeds: SeedKeys
    admission_factor: int
    clock: Clock
    logger: EventLogger
