"""Process cache for draws: lottery snapshots and daily seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.model import WINDOW_AGE_MAX_MS
from redpacket.lottery.model.lottery import CampaignSnapshot, check_is_published
from redpacket.platform.errors import Unavailable
from redpacket.platform.process_cache import ProcessCache
from redpacket.platform.runtime import Clock, EventLogger

if TYPE_CHECKING:
    from redpacket.lottery.dynamodb.prizes import DynamoPrizes

KEPT_MS = 4_000
"""Milliseconds between reads of the packed row, unless the draw cache has a newer version."""

_SIZE_MAX = 100


class CachedSnapshots:
    """Process cache of snapshots; while the store fails, an old one is used for a limited time."""

    def __init__(self, prizes: DynamoPrizes, *, clock: Clock, logger: EventLogger) -> None:
        self._prizes = prizes
        self._clock = clock
        self._logger = logger
        self._snapshots: ProcessCache[str, CampaignSnapshot] = ProcessCache(
            clock.now_ms, kept_ms=KEPT_MS, trusted_ms=WINDOW_AGE_MAX_MS, size_max=_SIZE_MAX
        )
        self._seeds: ProcessCache[tuple[str, str], bytes] = ProcessCache(
            clock.now_ms, size_max=_SIZE_MAX
        )

    def get(self, campaign_id: str, version_min: int = 0) -> CampaignSnapshot:
        """Return the lottery's snapshot at version *version_min* or later.

        Raises CampaignNotFound (a draft counts as missing) and Unavailable.
        """
        snapshot = self._get(campaign_id, version_min)
        check_is_published(snapshot.campaign, self._clock.now_ms())
        return snapshot

    def _get(self, campaign_id: str, version_min: int) -> CampaignSnapshot:
        def note_failure(error: Unavailable) -> None:
            old = self._snapshots.find_old(campaign_id)
            if old is None or old.version < version_min:
                raise error
            self._logger.failure("campaign_not_read", error, campaign_id=campaign_id)

        return self._snapshots.read(
            campaign_id,
            self._read,
            note_failure,
            lambda snapshot: snapshot.version >= version_min,
        )

    def _read(self, campaign_id: str) -> CampaignSnapshot:
        snapshot = self._prizes.find_snapshot(campaign_id)
        if snapshot is None:
            raise CampaignNotFound
        return snapshot

    def seed(self, campaign_id: str, day: str) -> bytes:
        """Return the day's secret seed, which is durable and never changes."""
        seed = self._seeds.find((campaign_id, day))
        if seed is None:
            seed = self._prizes.day_seed(campaign_id, day)
            self._seeds.keep((campaign_id, day), seed)
        return seed
