"""Nicknames and avatars in ProfilesTable."""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.adapters.dynamo import Dynamo, Value, to_wire
from redpacket.ports import Profile

_KEYS_PER_CALL = 100
"""BatchGetItem's own limit."""


class DynamoProfiles:
    """Implements Profiles."""

    def __init__(self, dynamo: Dynamo, table: str) -> None:
        self._dynamo = dynamo
        self._table = table

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        wanted = [{"pk": user_id} for user_id in dict.fromkeys(user_ids)]
        profiles = {}
        for start in range(0, len(wanted), _KEYS_PER_CALL):
            chunk = wanted[start : start + _KEYS_PER_CALL]
            for row in self._dynamo.get_many(self._table, chunk, is_strong=False):
                user_id = str(row["pk"])
                nickname, avatar_url = row.get("nickname"), row.get("avatar_url")
                profiles[user_id] = Profile(
                    user_id,
                    str(nickname) if nickname else None,
                    str(avatar_url) if avatar_url else None,
                )
        return profiles

    def put(self, profile: Profile) -> None:
        row: dict[str, Value] = {"pk": profile.user_id}
        if profile.nickname:
            row["nickname"] = profile.nickname
        if profile.avatar_url:
            row["avatar_url"] = profile.avatar_url
        self._dynamo.write({"Put": {"TableName": self._table, "Item": to_wire(row)}})
