"""Remember nicknames and avatars for some seconds: a crowd looks at the same few takers."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.ports import Clock, Profile, Profiles

KEPT_MS = 10_000
"""A new nickname may be shown this much later."""

_REMEMBERED_MAX = 20_000


class RecalledProfiles:
    """Profiles as one process knows them, users without one included."""

    def __init__(self, profiles: Profiles, *, clock: Clock) -> None:
        self._profiles = profiles
        self._clock = clock
        self._known: dict[str, tuple[int, Profile | None]] = {}

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        """Return the profiles that exist, by user id; reads only those that are not known."""
        now_ms = self._clock.now_ms()
        unknown = [
            user_id
            for user_id in dict.fromkeys(user_ids)
            if not 0 <= now_ms - self._known.get(user_id, (-KEPT_MS, None))[0] < KEPT_MS
        ]
        if len(self._known) + len(unknown) > _REMEMBERED_MAX:
            self._known.clear()
            unknown = list(dict.fromkeys(user_ids))
        found = self._profiles.list_profiles(unknown) if unknown else {}
        self._known.update({user_id: (now_ms, found.get(user_id)) for user_id in unknown})
        known = {user_id: self._known[user_id][1] for user_id in user_ids}
        return {user_id: profile for user_id, profile in known.items() if profile}
