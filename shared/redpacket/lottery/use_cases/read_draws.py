"""Lottery reads: the current state, a user's draws, and a day's proof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.model import Campaign
from redpacket.campaigns.ports import CampaignRepository
from redpacket.campaigns.use_cases.cached_campaigns import get_campaign
from redpacket.lottery.model.lottery import (
    Draw,
    Player,
    PrizeStock,
    attempts_left,
    draw_day,
    find_day,
    has_units_left,
    wins_left,
)
from redpacket.lottery.use_cases.cached_lotteries import Lottery
from redpacket.lottery.use_cases.cached_snapshots import CachedSnapshots
from redpacket.packets.errors import ProofNotReady
from redpacket.platform.runtime import Clock

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.draws import DynamoDraws
    from redpacket.lottery.dynamodb.prizes import DynamoPrizes

PAGE_SIZE = 50

REVEAL_AFTER_MS = 60_000
"""Milliseconds from a day's end to its proof, in case the cache's clock is slow."""


@dataclass(frozen=True, slots=True)
class WatchedLottery:
    """Lottery for operators, with the campaign's budget and the stock keyed by prize id."""

    campaign: Campaign
    lottery: Lottery
    stock: Mapping[str, PrizeStock]


@dataclass(frozen=True, slots=True)
class DrawPage:
    """Page of a user's draws, newest first; *next* is the last draw's id, or None at the end.

    *attempts_left* and *wins_left* apply to today; None means no limit.
    """

    user_id: str
    items: Sequence[Draw]
    next: str | None
    attempts_left: int | None
    wins_left: int | None


@dataclass(frozen=True, slots=True)
class DrawProof:
    """Seed of a past day."""

    campaign_id: str
    day: str
    seed: bytes
    commitment: str
    secret_version: int | None = None


def watch_lottery(
    campaign_id: str, *, campaigns: CampaignRepository, prizes: DynamoPrizes, clock: Clock
) -> WatchedLottery:
    """Return the lottery for operators, with exact stock. Raises CampaignNotFound."""
    campaign = get_campaign(campaign_id, campaigns=campaigns)
    snapshot = prizes.find_snapshot(campaign_id)
    if snapshot is None:
        raise CampaignNotFound
    day = draw_day(snapshot.campaign, clock.now_ms()).name
    stock = {
        prize_stock.prize_id: prize_stock for prize_stock in prizes.list_stock(snapshot.prizes, day)
    }
    sold_out = frozenset(
        prize.prize_id
        for prize in snapshot.prizes
        if not has_units_left(prize, stock[prize.prize_id])
    )
    return WatchedLottery(campaign, Lottery(snapshot, sold_out, day), stock)


def list_draws(
    campaign_id: str,
    user_id: str,
    cursor: str | None,
    *,
    draws: DynamoDraws,
    snapshots: CachedSnapshots,
    clock: Clock,
) -> DrawPage:
    """Return the page after *cursor*, or the first page if the cursor is unknown.

    Raises CampaignNotFound.
    """
    campaign = snapshots.get(campaign_id).campaign
    all_draws = draws.list_draws(campaign_id, user_id)
    ids = [draw.draw_id for draw in all_draws]
    start = ids.index(cursor) + 1 if cursor in ids else 0
    page = all_draws[start : start + PAGE_SIZE]
    has_more = start + PAGE_SIZE < len(all_draws)
    today = draw_day(campaign, clock.now_ms()).name
    player = Player()
    rules = campaign.rules
    if rules.attempts_per_user_per_day or rules.wins_per_user_per_day:
        player = draws.find_player(campaign_id, user_id, today)
    left = attempts_left(rules, player), wins_left(rules, player)
    return DrawPage(user_id, page, page[-1].draw_id if has_more else None, *left)


def read_draw_proof(
    campaign_id: str,
    day: str,
    *,
    snapshots: CachedSnapshots,
    prizes: DynamoPrizes,
    clock: Clock,
) -> DrawProof:
    """Return the proof of *day*, such as 20270129. Raises CampaignNotFound, ProofNotReady."""
    snapshot = snapshots.get(campaign_id)
    lottery_day = find_day(snapshot.campaign, day)
    # Without prizes, an edit of the time zone could turn a past day into today again.
    if lottery_day is None or not snapshot.prizes:
        raise CampaignNotFound
    if clock.now_ms() < lottery_day.ends_at_ms + REVEAL_AFTER_MS:
        raise ProofNotReady
    seed = snapshots.seed(campaign_id, day)
    version = prizes.find_secret_version(campaign_id)
    return DrawProof(campaign_id, day, seed, snapshot.commitment, version)
