"""Process cache of emptied packets, because most users arrive too late."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.packets.model.claim import EMPTIED_KEPT_MS
from redpacket.packets.ports import ClaimCache
from redpacket.packets.split import Terms
from redpacket.platform.process_cache import ProcessCache
from redpacket.platform.runtime import Clock

HOLDERS_MAX = 500
"""Maximum shares of a packet whose owners are read in one call, about 20 KB."""

_SIZE_MAX = 100


@dataclass(frozen=True, slots=True)
class _Emptied:
    is_small: bool
    holders: frozenset[str] | None = None


class CachedEmptied:
    """Cache of emptied packets. In small packets, it refuses users who own no share."""

    def __init__(self, claim_cache: ClaimCache, *, clock: Clock) -> None:
        self._claim_cache = claim_cache
        self._cache: ProcessCache[str, _Emptied] = ProcessCache(
            clock.now_ms, kept_ms=EMPTIED_KEPT_MS, size_max=_SIZE_MAX
        )

    def refuses(self, packet_id: str, user_id: str) -> bool:
        """Return whether the packet is emptied and the user owns no share. Raises Unavailable."""
        emptied = self._cache.find(packet_id)
        if emptied is None or not emptied.is_small:
            return False
        if emptied.holders is None:
            holders = self._claim_cache.emptied_by(packet_id)
            if holders is None:
                self._cache.forget(packet_id)  # A share is free again, or the packet was evicted.
                return False
            emptied = _Emptied(is_small=True, holders=holders)
            self._cache.keep(packet_id, emptied)
        return user_id not in (emptied.holders or ())

    def put(self, packet_id: str, terms: str) -> None:
        """Record that the claim cache refused a user because every share is taken."""
        if terms and not self._cache.find(packet_id):
            is_small = Terms.parse(terms).count <= HOLDERS_MAX
            self._cache.keep(packet_id, _Emptied(is_small))
