"""Ports for draws and their cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.campaigns.model import DrawRules
    from redpacket.fairness.model.beacon import BeaconRound, CampaignBeacon
    from redpacket.fairness.model.days import DrawDay
    from redpacket.lottery.model.lottery import (
        CampaignSnapshot,
        Draw,
        DrawOutcome,
        DrawRequest,
        HelpStatus,
        PageNote,
        Player,
        PlayerState,
        Prize,
        PrizeStock,
        RecordDrawStatus,
    )
    from redpacket.lottery.model.winners import Winner
    from redpacket.operations.model.operators import Action
    from redpacket.platform.user import User
from redpacket.platform.idempotency import Request


class DrawCache(Protocol):
    """Cache of a lottery: chooses prizes and counts; the ledger decides."""

    def draw(self, request: DrawRequest) -> DrawOutcome:
        """Decide one attempt; repeats on the same day return the same outcome."""

    def load(self, snapshot: CampaignSnapshot, day: DrawDay, stock: Sequence[PrizeStock]) -> None:
        """Load from the ledger; an older snapshot or lower counts change nothing."""

    def undo(self, request: DrawRequest, *, is_unit_free: bool) -> None:
        """Undo an attempt that did not become durable; offer its unit again if *is_unit_free*."""

    def drop(self, request: DrawRequest) -> None:
        """Remove the lottery and its day, which may have been altered."""

    def set_player(self, request: DrawRequest, player: Player) -> None:
        """Set a user's counters of the day from the ledger."""

    def mark_winner(self, request: DrawRequest, prize_id: str) -> None:
        """Record that the user has won a once-per-user prize."""

    def begin_load(self, campaign_id: str, life_ms: int) -> bool:
        """Return True to the one caller that should load a lost campaign; others wait."""

    def find_version(self, campaign_id: str) -> int | None:
        """Return the loaded snapshot's version, or None."""

    def count_issued(self, campaign_id: str, prize_ids: Sequence[str]) -> dict[str, int] | None:
        """Return the handed-out units of loaded prizes, or None if no snapshot is loaded."""


class SnapshotReader(Protocol):
    """Reader of campaigns with their prizes, stock and seeds."""

    def find_snapshot(self, campaign_id: str) -> CampaignSnapshot | None:
        """Return the campaign with its prizes and version."""

    def list_stock(self, prizes: Sequence[Prize], day: str) -> list[PrizeStock]:
        """Count the prizes' units; after Unavailable, the next call resumes the count."""

    def day_seed(self, campaign_id: str, day: str) -> bytes:
        """Return the day's secret seed from the campaign's fixed chain."""

    def find_secret_version(self, campaign_id: str) -> int | None:
        """Return the version of the key that sealed a campaign's seeds, or None."""

    def find_round(self, beacon: CampaignBeacon, day: DrawDay) -> BeaconRound | None:
        """Return the stored round that decided a past campaign's day."""


class PageRepository(Protocol):
    """Repository of campaigns for users' pages, with what is sold out."""

    def find_page(self, campaign_id: str) -> tuple[CampaignSnapshot, PageNote] | None:
        """Return the snapshot with its note, eventually consistent."""

    def note_page(self, campaign_id: str, note: PageNote) -> None:
        """Store *note* without a new snapshot version."""


class PrizeRepository(SnapshotReader, Protocol):
    """Repository of prizes."""

    def list_prizes(self, campaign_id: str) -> tuple[Prize, ...]:
        """Return every prize of a campaign, sorted by id."""

    def put_prize(
        self,
        prize: Prize,
        before: Prize | None,
        request: Request | None = None,
        action: Action | None = None,
        forfeited: Winner | None = None,
    ) -> Prize | None:
        """Create or replace a prize, raise the snapshot's version, and log *action*.

        New packets stay open until the campaign's end. *forfeited*'s decision is written with it.
        Return None, without effect, if the prize's version is not *before*'s, a new packet is not
        open, or the unit of *forfeited* was decided. With a *request*, run once and return the
        first result. Raises IdempotencyKeyReused, Busy.
        """

    def find_put(self, request: Request) -> Prize | None:
        """Return the request's prize, if it was executed."""


class DrawRepository(Protocol):
    """Durable units, draws, players and helps; none is ever undone."""

    def find_attempt(
        self,
        campaign_id: str,
        user_id: str,
        key_hash: str,
        day: str,
        *,
        asks_audience: bool = False,
    ) -> PlayerState:
        """Return a user's counters, their key's draw and, if asked, their audience membership."""

    def find_draw(self, campaign_id: str, user_id: str, draw_id: str) -> Draw | None:
        """Return a draw."""

    def record_draw(
        self, draw: Draw, rules: DrawRules, key_hash: str, drawer: User | None = None
    ) -> RecordDrawStatus:
        """Store a draw with all that it consumes, and the winner's host id, in one transaction.

        The key and the draw's number then belong to it. A unit of a cash prize is a share of one of
        its packets; the user claims it and the payout settles it.
        """

    def find_player(self, campaign_id: str, user_id: str, day: str) -> Player:
        """Return a user's counters of a day."""

    def list_draws(self, campaign_id: str, user_id: str) -> list[Draw]:
        """Return a user's draws, newest first."""

    def record_help(
        self,
        campaign_id: str,
        inviter_id: str,
        helper_id: str,
        day: str,
        rules: DrawRules,
        at_ms: int,
    ) -> HelpStatus:
        """Give the inviter one more attempt on *day*, once for each pair."""


class Codes(Protocol):
    """Repository of prize codes, numbered as the units that win them."""

    def add(self, campaign_id: str, prize_id: str, codes: Sequence[str], until_ms: int) -> int:
        """Add the codes that the prize lacks; return its total.

        They expire at *until_ms*. Raises InvalidRequest if the prize would have too many.
        """

    def find(self, draws: Sequence[Draw]) -> dict[str, str]:
        """Return the codes of won units by the ids of their draws, without expired ones."""
