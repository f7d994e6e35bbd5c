"""Remember nicknames and avatars for some seconds: a crowd looks at the same few takers."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.domain.process_cache import ProcessCache
from redpacket.ports.accounts import Profile, Profiles
from redpacket.ports.runtime import Clock

KEPT_MS = 10_000
"""A new nickname may be shown this much later."""

_SIZE_MAX = 20_000


class CachedProfiles:
    """Caches profiles in one process.

    Missing profiles are not cached: senders and takers have one, but a read may come too early
    to see it.
    """

    def __init__(self, profiles: Profiles, *, clock: Clock) -> None:
        self._profiles = profiles
        self._cache: ProcessCache[str, Profile] = ProcessCache(
            clock.now_ms, kept_ms=KEPT_MS, size_max=_SIZE_MAX
        )

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        """Return the profiles that exist, by user id; reads only those that are not known."""
        wanted = dict.fromkeys(user_ids)
        known = {user_id: kept for user_id in wanted if (kept := self._cache.find(user_id))}
        unknown = [user_id for user_id in wanted if user_id not in known]
        found = self._profiles.list_profiles(unknown) if unknown else {}
        for user_id, profile in found.items():
            self._cache.keep(user_id, profile)
        return {**known, **found}
