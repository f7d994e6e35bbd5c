"""What is shown of a lottery: what it holds, what a user drew, and the proof of a day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redpacket.domain.lottery import Draw, DrawTable, PrizeStock
from redpacket.flows.recall_table import RecalledTables
from redpacket.ports import Clock, Draws

PAGE_SIZE = 50


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
    raise NotImplementedError


def list_draws(
    campaign_id: str, user_id: str, cursor: str | None, *, draws: Draws, tables: RecalledTables
) -> DrawPage:
    """Cut the page after *cursor*, the id of the last draw shown; an unknown one: the first page.

    Raises CampaignNotFound.
    """
    raise NotImplementedError


def read_draw_proof(
    campaign_id: str, day: str, *, tables: RecalledTables, clock: Clock
) -> DrawProof:
    """Return the proof of *day*, like 20270129. Raises CampaignNotFound, ProofNotReady.

    CampaignNotFound also where the campaign has no such day.
    """
    raise NotImplementedError
