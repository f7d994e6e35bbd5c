"""What campaigns and lotteries need from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Each flow and adapter imports this page; none needs the words of all the others.
    from collections.abc import Sequence

    from redpacket.domain.approvals import Allowance
    from redpacket.domain.campaign import Campaign, DrawRules
    from redpacket.domain.lottery import (
        Attempt,
        Draw,
        DrawAsk,
        DrawDay,
        DrawOutcome,
        HelpStatus,
        LotterySnapshot,
        PageNote,
        Player,
        Prize,
        PrizeStock,
        RecordDrawStatus,
    )
    from redpacket.domain.operators import Action
    from redpacket.domain.packet import Person
    from redpacket.domain.winners import Winner
from redpacket.ports.accounts import Request


class Campaigns(Protocol):
    """Campaigns and what they may still spend; a packet is put into one by Ledger.fund."""

    def find_campaign(self, campaign_id: str) -> Campaign | None:
        """Return the campaign, read strongly."""

    def create(
        self, campaign: Campaign, action: Action | None = None, spent: Allowance | None = None
    ) -> bool:
        """Put a campaign, note *action* and count *spent*.

        False, without effect, if there is one of this id, or if *spent* is not the next one.
        """

    def edit(
        self,
        campaign: Campaign,
        before: Campaign,
        action: Action | None = None,
        spent: Allowance | None = None,
    ) -> bool:
        """Replace *before*, change what is left by what the budget changes, and note *action*.

        False, without effect, if it has another version by now, or less left than is taken away,
        or if *spent*, which is counted, is not the next one.
        """

    def list_packet_ids(self, campaign_id: str, after: str | None, limit: int) -> list[str]:
        """Return ids of the campaign's packets that come after the id *after*, read strongly."""


class DrawCache(Protocol):
    """The cache's side of a lottery: chooses, counts and remembers; it never decides for good."""

    def draw(self, ask: DrawAsk) -> DrawOutcome:
        """Decide one attempt, the same way whenever it is asked on its day."""

    def load(self, table: LotterySnapshot, day: DrawDay, stock: Sequence[PrizeStock]) -> None:
        """Bring the cache up to the ledger: an older table and lower counts change nothing."""

    def undo(self, ask: DrawAsk, *, is_unit_free: bool) -> None:
        """Forget an attempt that did not become durable, and what it counted.

        Its unit's numbers are offered again where *is_unit_free*, else they stay taken: somebody
        else has the unit. Forgetting what is not known changes nothing.
        """

    def set_player(self, ask: DrawAsk, player: Player) -> None:
        """Bring a user's counts of the day to what the ledger knows."""

    def mark_winner(self, ask: DrawAsk, prize_id: str) -> None:
        """Note that the user has won a once-only prize."""

    def begin_load(self, campaign_id: str, life_ms: int) -> bool:
        """Tell one of many callers to load a campaign that the cache has lost; the others wait."""

    def find_version(self, campaign_id: str) -> int | None:
        """Return the version of the table that is loaded; None if no table is loaded."""

    def count_issued(self, campaign_id: str, prize_ids: Sequence[str]) -> dict[str, int] | None:
        """Return how many units of each prize are handed out; None if nothing is loaded.

        A prize that is not in the cache is left out.
        """


class Draws(Protocol):
    """Prizes, their units, draws, players and helps: durable, and none of them ever undone."""

    def list_prizes(self, campaign_id: str) -> tuple[Prize, ...]:
        """Return every prize of a campaign by id, on or off, read strongly."""

    def find_table(self, campaign_id: str) -> LotterySnapshot | None:
        """Return the campaign with its prizes and the version of both, read strongly."""

    def find_page(self, campaign_id: str) -> tuple[LotterySnapshot, PageNote] | None:
        """Return the table as it is now or was a moment ago, with what is noted beside it."""

    def note_page(self, campaign_id: str, note: PageNote) -> None:
        """Keep *note* beside a campaign's table, whose version stays."""

    def put_prize(
        self,
        prize: Prize,
        before: Prize | None,
        request: Request | None = None,
        action: Action | None = None,
        forfeited: Winner | None = None,
        spent: Allowance | None = None,
    ) -> Prize | None:
        """Create or replace a prize, raise its campaign's table version, and note *action*.

        Packets that *before* has not got last until the campaign's end from then on. None, without
        effect, if there is another version than *before* by now, if such a packet is not open, or
        if the unit of *forfeited* was decided before, or if *spent* is not the next one; both are
        written, too.
        With a *request* once: returns what it put, now or the first time. Raises
        IdempotencyKeyReused, Busy.
        """

    def find_put(self, request: Request) -> Prize | None:
        """Return the prize as this request put it, read strongly; None where it did not yet.

        Raises IdempotencyKeyReused.
        """

    def list_stock(self, prizes: Sequence[Prize], day: str) -> list[PrizeStock]:
        """Return what the units' rows say, read strongly.

        Of more units than one call may read: Unavailable, and each call gets further.
        """

    def find_attempt(
        self,
        campaign_id: str,
        user_id: str,
        key_hash: str,
        day: str,
        *,
        asks_audience: bool = False,
    ) -> Attempt:
        """Return what a user did on a day, and what their key has drawn, read strongly.

        *asks_audience*: and whether they are on the campaign's list of users.
        """

    def find_draw(self, campaign_id: str, user_id: str, draw_id: str) -> Draw | None:
        """Return a draw, read strongly."""

    def record_draw(
        self, draw: Draw, rules: DrawRules, key_hash: str, drawer: Person | None = None
    ) -> RecordDrawStatus:
        """Make a draw durable with all that it uses up, or nothing of it; note who wins.

        The key names it from then on, and its number is taken.

        A cash prize's unit is a share of one of its packets: claimed by the user, to be settled.
        """

    def find_player(self, campaign_id: str, user_id: str, day: str) -> Player:
        """Return what a user did on a day, read strongly."""

    def list_draws(self, campaign_id: str, user_id: str) -> list[Draw]:
        """Return a user's draws, newest first."""

    def day_seed(self, campaign_id: str, day: str) -> bytes:
        """Return the day's secret seed, of the chain that was fixed with the campaign."""

    def find_secret_version(self, campaign_id: str) -> int | None:
        """Return the version of the key that sealed a campaign's seeds; None where none did."""

    def record_help(
        self,
        campaign_id: str,
        inviter_id: str,
        helper_id: str,
        day: str,
        helps_max: int,
        at_ms: int,
    ) -> HelpStatus:
        """Give the inviter one more attempt on *day*, once per pair for ever."""
