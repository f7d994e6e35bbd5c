"""Ports of campaigns and their audiences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from redpacket.campaigns.model import Campaign


class CampaignRepository(Protocol):
    """Repository of campaigns and their packet ids. Several contexts depend on this Protocol."""

    def find_campaign(self, campaign_id: str) -> Campaign | None:
        """Return a campaign."""

    def list_packet_ids(self, campaign_id: str, after: str | None, limit: int) -> list[str]:
        """Return sorted ids of the campaign's packets, starting after the id *after*."""

    def newest_packet_ids(self, campaign_id: str, limit: int) -> Iterator[str]:
        """Yield ids of the campaign's packets, newest first, *limit* per read; new ids may lag."""


class AudienceCache(Protocol):
    """Cached buckets of audience lists; the ledger confirms each refusal. Tests have a double."""

    def begin_load(self, campaign_id: str, bucket: int, life_ms: int) -> str | None:
        """Return a lock token to load a bucket, or None if another caller holds the lock."""

    def load(self, campaign_id: str, bucket: int, lock_token: str, user_ids: Sequence[str]) -> bool:
        """Store a bucket that was read under the lock; return False if the lock has ended."""

    def edit(self, campaign_id: str, add: Sequence[str], remove: Sequence[str]) -> None:
        """Apply a durable edit to the buckets that are loaded."""
