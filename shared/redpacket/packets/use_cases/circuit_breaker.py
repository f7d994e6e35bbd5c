"""Circuit breaker around the claim cache for one sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

from redpacket.packets.model.claim import Share
from redpacket.packets.model.packet import Packet
from redpacket.packets.ports import ClaimCache
from redpacket.platform.errors import CacheAway


class CircuitBreaker:
    """Claim cache that rejects all calls after the first CacheAway; *turn* serializes calls."""

    def __init__(self, claim_cache: ClaimCache, turn: Lock) -> None:
        self._claim_cache = claim_cache
        self._turn = turn
        self._is_away = False

    def close(self, packet_id: str) -> None:
        """Close a packet. Raises Unavailable."""
        self._try(lambda: self._claim_cache.close(packet_id))

    def load(self, packet: Packet, shares: Sequence[Share], shard: int) -> None:
        """Load a shard of a packet. Raises Unavailable."""
        self._try(lambda: self._claim_cache.load(packet, shares, shard))

    def _try(self, do: Callable[[], None]) -> None:
        with self._turn:
            if self._is_away:
                raise CacheAway("an earlier cache call of this sweep failed")
            try:
                do()
            except CacheAway:
                self._is_away = True
                raise
