"""Process cache of profiles, because many viewers see the same few users."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.platform.process_cache import ProcessCache
from redpacket.platform.runtime import Clock
from redpacket.users.ports import Profile, ProfileRepository

KEPT_MS = 10_000

_SIZE_MAX = 20_000


class CachedProfiles:
    """Cache of existing profiles only, because a missing profile may be stored at any moment."""

    def __init__(self, profiles: ProfileRepository, *, clock: Clock) -> None:
        self._profiles = profiles
        self._cache: ProcessCache[str, Profile] = ProcessCache(
            clock.now_ms, kept_ms=KEPT_MS, size_max=_SIZE_MAX
        )

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        """Return the existing profiles by user id."""
        wanted = dict.fromkeys(user_ids)
        cached = {user_id: kept for user_id in wanted if (kept := self._cache.find(user_id))}
        unknown = [user_id for user_id in wanted if user_id not in cached]
        loaded = self._profiles.list_profiles(unknown) if unknown else {}
        for user_id, profile in loaded.items():
            self._cache.keep(user_id, profile)
        return {**cached, **loaded}
