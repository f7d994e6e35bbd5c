"""Draw (抽): the cache chooses, the ledger makes it durable, then the user hears of it.

Where the two disagree, because the cache lost its tail in a failover or died between two steps,
the ledger is right and the cache is corrected.
"""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.errors import (
    AttemptsExhausted,
    CampaignEnded,
    CampaignNotStarted,
    CampaignPaused,
    InvariantViolated,
    Rejected,
    Unavailable,
)
from redpacket.domain.lottery import (
    Draw,
    DrawAsk,
    DrawOutcome,
    DrawStatus,
    DrawTable,
    Player,
    Prize,
    PrizeKind,
    RecordDrawStatus,
    attempts_left,
    draw_day,
    draw_id_of,
    draw_point,
    is_sure_to_win,
    unit_share,
)
from redpacket.flows.load_campaign import load_campaign
from redpacket.flows.recall_table import RecalledTables
from redpacket.ports import Clock, DrawBoard, Draws, Journal, PayoutQueue

_TRIES = 4
"""Each repair leaves the cache right for this user, so a second try is rare and a fourth unseen."""

_LOAD_LIFE_MS = 2_000
"""Who loads a campaign has so much time, until another one may try."""

_REFUSALS: dict[DrawStatus, tuple[type[Rejected], str]] = {
    DrawStatus.CAMPAIGN_ENDED: (CampaignEnded, "the campaign is over"),
    DrawStatus.CAMPAIGN_NOT_STARTED: (CampaignNotStarted, "the campaign opens later"),
    DrawStatus.CAMPAIGN_PAUSED: (CampaignPaused, "the campaign is turned off for now"),
    DrawStatus.ATTEMPTS_EXHAUSTED: (AttemptsExhausted, "you have drawn as often as one may today"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawDesk:
    """The ports that every draw passes."""

    board: DrawBoard
    draws: Draws
    tables: RecalledTables
    payouts: PayoutQueue
    clock: Clock
    journal: Journal


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a user is told: *attempts_left* of today, None where there is no limit."""

    draw: Draw
    attempts_left: int | None


def draw_prize(campaign_id: str, user_id: str, key_hash: str, *, desk: DrawDesk) -> Drawn:
    """Return the draw of this user and key, the same one whenever they ask.

    Raises CampaignNotFound, CampaignNotStarted, CampaignEnded, CampaignPaused, AttemptsExhausted;
    Unavailable where the outcome is unknown, and asking again gives the one true answer.
    """
    raise NotImplementedError
