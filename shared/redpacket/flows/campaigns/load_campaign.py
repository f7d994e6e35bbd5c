"""Bring a lottery into the cache: before its start, after an edit, when the cache has lost it."""

from __future__ import annotations

from redpacket.domain.errors import CampaignNotFound
from redpacket.domain.lottery import LotterySnapshot, draw_day
from redpacket.ports.campaigns import DrawCache, Draws
from redpacket.ports.runtime import Clock


def load_campaign(
    campaign_id: str, *, draws: Draws, claim_cache: DrawCache, clock: Clock
) -> LotterySnapshot:
    """Load what the ledger knows, whatever the cache holds; return the table.

    Nothing of players: the ledger guards their quotas. Raises CampaignNotFound.
    """
    table = draws.find_table(campaign_id)
    if table is None:
        raise CampaignNotFound("no such campaign")
    day = draw_day(table.campaign, clock.now_ms())
    claim_cache.load(table, day, draws.list_stock(table.prizes, day.name))
    return table
