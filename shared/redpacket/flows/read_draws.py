"""What is shown of a lottery: what it holds, what a user drew, and the proof of a day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redpacket.domain.errors import CampaignNotFound, ProofNotReady
from redpacket.domain.lottery import (
    Draw,
    DrawTable,
    PrizeStock,
    day_commitment,
    draw_day,
    find_day,
)
from redpacket.flows.recall_table import RecalledTables
from redpacket.ports import Clock, Draws

PAGE_SIZE = 50

REVEAL_AFTER_MS = 60_000
"""The cache's clock decides when a day is over, and may be behind."""


@dataclass(frozen=True, slots=True)
class Lottery:
    """A campaign with its prizes, some seconds old.

    *stock* is by prize id; a prize is sold out where `has_units_left` says so. *commitment* is
    that of the seed of *day*, today in the campaign's time zone; None where there are no prizes.
    """

    table: DrawTable
    stock: Mapping[str, PrizeStock]
    day: str
    commitment: str | None


@dataclass(frozen=True, slots=True)
class DrawPage:
    """A page of a user's draws, newest first; *next* is the last one's id, None at the end."""

    items: Sequence[Draw]
    next: str | None


@dataclass(frozen=True, slots=True)
class DrawProof:
    """The seed of a day that is over, with the commitment that was shown on that day."""

    campaign_id: str
    day: str
    seed: bytes
    commitment: str


def read_lottery(campaign_id: str, *, tables: RecalledTables, clock: Clock) -> Lottery:
    """Return what users may know of a lottery. Raises CampaignNotFound."""
    table = tables.recall(campaign_id)
    day = draw_day(table.campaign, clock.now_ms())
    if not table.prizes:
        return Lottery(table, {}, day.name, None)
    commitment = day_commitment(tables.seed(campaign_id, day.name), campaign_id, day.name)
    return Lottery(table, tables.stock(table, day), day.name, commitment)


def list_draws(
    campaign_id: str, user_id: str, cursor: str | None, *, draws: Draws, tables: RecalledTables
) -> DrawPage:
    """Cut the page after *cursor*, the id of the last draw shown; an unknown one: the first page.

    Raises CampaignNotFound.
    """
    tables.recall(campaign_id)
    found = draws.list_draws(campaign_id, user_id)
    ids = [draw.draw_id for draw in found]
    start = ids.index(cursor) + 1 if cursor in ids else 0
    page = found[start : start + PAGE_SIZE]
    has_more = start + PAGE_SIZE < len(found)
    return DrawPage(page, page[-1].draw_id if has_more else None)


def read_draw_proof(
    campaign_id: str, day: str, *, tables: RecalledTables, clock: Clock
) -> DrawProof:
    """Return the proof of *day*, like 20270129. Raises CampaignNotFound, ProofNotReady.

    CampaignNotFound also where the campaign has no such day.
    """
    table = tables.recall(campaign_id)
    found = find_day(table.campaign, day)
    # Before the first prize its days may still move to another time zone, and be today again.
    if found is None or not table.prizes:
        msg = "the campaign has no such day"
        raise CampaignNotFound(msg)
    if clock.now_ms() < found.ends_at_ms + REVEAL_AFTER_MS:
        msg = "the day is not over: until then its seed stays secret"
        raise ProofNotReady(msg)
    seed = tables.seed(campaign_id, day)
    return DrawProof(campaign_id, day, seed, day_commitment(seed, campaign_id, day))
