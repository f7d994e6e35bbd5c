"""Know for a second that a packet is emptied, and by whom: most of its crowd comes too late."""

from __future__ import annotations

from dataclasses import dataclass

from redpacket.domain.claim import EMPTIED_KEPT_MS
from redpacket.domain.split import Terms
from redpacket.ports.packets import ClaimCache
from redpacket.ports.runtime import Clock

HOLDERS_MAX = 500
"""All of them are read at once: about 20 KB with ids of 36 characters."""

_REMEMBERED_MAX = 100


@dataclass(frozen=True, slots=True)
class _Emptied:
    """What was seen at *seen_at_ms*; *holders* is None until a second loser comes."""

    seen_at_ms: int
    is_small: bool
    holders: frozenset[str] | None = None


class CachedEmptied:
    """Small packets that are emptied, as one process knows them.

    The first loser costs the cache one read, the second one a read of all who have a share, and the
    others of that second none. Owners are never refused: the cache is asked for them.
    """

    def __init__(self, claim_cache: ClaimCache, *, clock: Clock) -> None:
        self._claim_cache = claim_cache
        self._clock = clock
        self._known: dict[str, _Emptied] = {}

    def refuses(self, packet_id: str, user_id: str) -> bool:
        """Tell whether the last share went to others. Raises Unavailable."""
        known = self._known.get(packet_id)
        if known is None:
            return False
        now_ms = self._clock.now_ms()
        if not 0 <= now_ms - known.seen_at_ms < EMPTIED_KEPT_MS:
            self._known.pop(packet_id, None)
            return False
        if not known.is_small:
            return False
        if known.holders is None:
            holders = self._claim_cache.emptied_by(packet_id)
            if holders is None:
                self._known.pop(packet_id, None)  # a number was given back
                return False
            known = self._known[packet_id] = _Emptied(now_ms, is_small=True, holders=holders)
        return user_id not in (known.holders or ())

    def remember(self, packet_id: str, terms: str) -> None:
        """Note that the cache has just refused somebody, because every share is taken."""
        if packet_id in self._known or not terms:
            return
        if len(self._known) >= _REMEMBERED_MAX:
            self._known.clear()
        is_small = Terms.parse(terms).count <= HOLDERS_MAX
        self._known[packet_id] = _Emptied(self._clock.now_ms(), is_small)
