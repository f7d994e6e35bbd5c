"""Ports for campaigns' audience lists and the host's risk decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.campaigns.model import AudienceMode


class AudienceRows(Protocol):
    """Durable audience lists, which prevail over the cache."""

    def edit(self, campaign_id: str, add: Sequence[str], remove: Sequence[str]) -> int:
        """Add and remove users by batch, and return the size. Raises InvalidRequest if too long."""

    def set_mode(self, campaign_id: str, mode: AudienceMode) -> None:
        """Set the list's mode."""

    def list_members(self, campaign_id: str, bucket: int) -> list[str]:
        """Return the users in one bucket of a list."""


class AudienceCache(Protocol):
    """Cached audience lists by bucket; a refusal is confirmed by the ledger."""

    def begin_load(self, campaign_id: str, bucket: int, life_ms: int) -> str | None:
        """Return a lock token to load a bucket, or None if another caller has it."""

    def load(self, campaign_id: str, bucket: int, lock_token: str, user_ids: Sequence[str]) -> bool:
        """Load a bucket read under the lock; return False if the list was edited meanwhile."""

    def edit(self, campaign_id: str, add: Sequence[str], remove: Sequence[str]) -> None:
        """Apply a durable edit to loaded buckets."""
