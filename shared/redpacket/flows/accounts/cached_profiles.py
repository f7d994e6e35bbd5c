"""Remember nicknames and avatars for some seconds: a crowd looks at the same few takers."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.ports.accounts import Profile, Profiles
from redpacket.ports.runtime import Clock

KEPT_MS = 10_000
"""A new nickname may be shown this much later."""

_REMEMBERED_MAX = 20_000


class CachedProfiles:
    """Caches profiles in one process.

    Missing profiles are not cached: senders and takers have one, but a read may come too early
    to see it.
    """

    def __init__(self, profiles: Profiles, *, clock: Clock) -> None:
        self._profiles = profiles
        self._clock = clock
        self._known: dict[str, tuple[int, Profile]] = {}

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        """Return the profiles that exist, by user id; reads only those that are not known."""
        now_ms = self._clock.now_ms()
        wanted = dict.fromkeys(user_ids)
        known = {
            user_id: kept[1]
            for user_id in wanted
            if (kept := self._known.get(user_id)) and 0 <= now_ms - kept[0] < KEPT_MS
        }
        unknown = [user_id for user_id in wanted if user_id not in known]
        found = self._profiles.list_profiles(unknown) if unknown else {}
        if len(self._known) + len(found) > _REMEMBERED_MAX:
            self._known.clear()
        self._known.update({user_id: (now_ms, profile) for user_id, profile in found.items()})
        return {**known, **found}
