"""Process cache of the lotteries that users see.

A reader that finds an outdated note of sold-out prizes replaces the note, so the note is written
when a prize sells out, not on every draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.lottery.model.lottery import (
    CampaignSnapshot,
    PageNote,
    check_is_published,
    draw_day,
)
from redpacket.platform.errors import Unavailable
from redpacket.platform.process_cache import ProcessCache
from redpacket.platform.runtime import Clock, EventLogger

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.prizes import DynamoPrizes
    from redpacket.lottery.ports import DrawCache

KEPT_MS = 4_000
"""Milliseconds until users see an edit."""

_SIZE_MAX = 100


@dataclass(frozen=True, slots=True)
class Lottery:
    """Users' view of a campaign, on *day* in its time zone; *sold_out* holds prize ids."""

    snapshot: CampaignSnapshot
    sold_out: frozenset[str]
    day: str

    @property
    def commitment(self) -> str | None:
        """Commitment to the seeds of all days, or None without prizes."""
        return self.snapshot.commitment if self.snapshot.prizes else None


class CachedLotteries:
    """Process cache of lotteries; while the store is unavailable, it returns an old value."""

    def __init__(
        self, prizes: DynamoPrizes, draw_cache: DrawCache, *, clock: Clock, logger: EventLogger
    ) -> None:
        self._prizes = prizes
        self._draw_cache = draw_cache
        self._clock = clock
        self._logger = logger
        self._cache: ProcessCache[str, Lottery] = ProcessCache(
            clock.now_ms, kept_ms=KEPT_MS, size_max=_SIZE_MAX
        )

    def get(self, campaign_id: str) -> Lottery:
        """Return a lottery.

        Raises CampaignNotFound (for drafts, too), and Unavailable if the cache has no value.
        """
        lottery = self._cache.read_in_turn(
            campaign_id,
            self._read,
            lambda error: self._logger.failure("campaign_not_read", error, campaign_id=campaign_id),
            self._is_of_today,
        )
        check_is_published(lottery.snapshot.campaign, self._clock.now_ms())
        return lottery

    def _is_of_today(self, page: Lottery) -> bool:
        return draw_day(page.snapshot.campaign, self._clock.now_ms()).name == page.day

    def _read(self, campaign_id: str) -> Lottery:
        page = self._prizes.find_page(campaign_id)
        if page is None:
            raise CampaignNotFound
        snapshot, note = page
        day = draw_day(snapshot.campaign, self._clock.now_ms()).name
        if not snapshot.prizes:
            return Lottery(snapshot, frozenset(), day)
        seen = PageNote(self._sold_out(snapshot, note))
        if seen != note:
            self._keep(campaign_id, seen)
        return Lottery(snapshot, seen.sold_out, day)

    def _sold_out(self, snapshot: CampaignSnapshot, note: PageNote) -> frozenset[str]:
        campaign_id = snapshot.campaign.campaign_id
        try:
            issued = self._draw_cache.count_issued(
                campaign_id, [prize.prize_id for prize in snapshot.prizes]
            )
        except Unavailable as error:
            self._logger.failure("stock_not_read", error, campaign_id=campaign_id)
            issued = None
        if issued is None:
            return note.sold_out
        return frozenset(
            prize.prize_id
            for prize in snapshot.prizes
            # The cache may not have a new prize yet.
            if issued.get(prize.prize_id, 0) >= prize.total
        )

    def _keep(self, campaign_id: str, note: PageNote) -> None:
        try:
            self._prizes.note_page(campaign_id, note)
        except Unavailable as error:
            self._logger.failure("page_not_noted", error, campaign_id=campaign_id)
