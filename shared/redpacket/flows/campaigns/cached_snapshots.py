"""Know a lottery as it was some seconds ago, to draw by it: its table, and a day's seed."""

from __future__ import annotations

from typing import TypeVar

from redpacket.domain.errors import CampaignNotFound, Unavailable
from redpacket.domain.lottery import LotterySnapshot
from redpacket.ports.campaigns import Draws
from redpacket.ports.runtime import Clock, Journal

KEPT_MS = 10_000
"""A draw by a newer table reads it at once; so late is only what the cache has missed, too.

Every process reads the packed row that often.
"""

_REMEMBERED_MAX = 100

Key = TypeVar("Key")
Value = TypeVar("Value")


class CachedSnapshots:
    """The lotteries as one process knows them; where the store is away the last value holds."""

    def __init__(
        self,
        draws: Draws,
        *,
        clock: Clock,
        journal: Journal,
    ) -> None:
        self._draws = draws
        self._clock = clock
        self._journal = journal
        self._tables: dict[str, tuple[int, LotterySnapshot]] = {}
        self._seeds: dict[tuple[str, str], bytes] = {}

    def recall(self, campaign_id: str, version_min: int = 0) -> LotterySnapshot:
        """Return a campaign with its prizes; not older than *version_min*, which somebody saw.

        Raises CampaignNotFound; Unavailable where it was never read.
        """
        known = _fresh(self._tables, campaign_id, self._clock.now_ms())
        if known and known.version >= version_min:
            return known
        try:
            table = self._draws.find_table(campaign_id)
        except Unavailable as error:
            _, known = self._tables.get(campaign_id, (0, None))
            if known is None or known.version < version_min:
                raise
            self._journal.failure("campaign_not_read", error, campaign_id=campaign_id)
            table = known
        if table is None:
            msg = "no such campaign"
            raise CampaignNotFound(msg)
        _keep(self._tables, campaign_id, (self._clock.now_ms(), table))
        return table

    def seed(self, campaign_id: str, day: str) -> bytes:
        """Return the day's secret seed, which is durable and never changes."""
        key = campaign_id, day
        if key not in self._seeds:
            _keep(self._seeds, key, self._draws.day_seed(campaign_id, day))
        return self._seeds[key]


def _fresh(known: dict[Key, tuple[int, Value]], key: Key, now_ms: int) -> Value | None:
    read_at_ms, value = known.get(key, (0, None))
    return value if 0 <= now_ms - read_at_ms < KEPT_MS else None


def _keep(known: dict[Key, Value], key: Key, value: Value) -> None:
    if len(known) >= _REMEMBERED_MAX:
        known.clear()
    known[key] = value
