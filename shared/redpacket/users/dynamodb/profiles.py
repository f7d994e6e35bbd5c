"""Repository of host ids, nicknames and avatars in ProfilesTable."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redpacket.platform.dynamodb.client import Dynamo, Operation, Row, Value, merge, update
from redpacket.platform.text import is_reserved
from redpacket.platform.user import User
from redpacket.users.confusables import skeleton_of
from redpacket.users.ports import Profile

IS_SAID_SINCE = "attribute_not_exists(erased_at_ms) OR erased_at_ms < :said_at_ms"

SHOWN = "pk, nickname, token_nickname, avatar_url, erased_at_ms"
"""Attributes for pages, which never show a host id."""

KNOWN = "pk, host_id, nickname, token_nickname"
"""Attributes for operators, including the host id."""

SAID = "pk, host_id, token_nickname"


class DynamoProfiles:
    """DynamoDB implementation of ProfileRepository; *id_of* maps a host id to its user id."""

    def __init__(self, dynamo: Dynamo, id_of: Callable[[str], str]) -> None:
        self._dynamo, self._id_of = dynamo, id_of
        self._table = dynamo.tables.profiles

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        profiles = {}
        for user_id, row in self._rows(user_ids, SHOWN).items():
            # Prefer the chosen nickname to the nickname in the user's last token.
            nickname = row.get("nickname") or row.get("token_nickname")
            avatar_url = row.get("avatar_url")
            profiles[user_id] = Profile(
                user_id,
                str(nickname) if nickname else None,
                str(avatar_url) if avatar_url else None,
                is_erased="erased_at_ms" in row and not nickname,
            )
        return profiles

    def list_users(self, user_ids: Sequence[str]) -> dict[str, User]:
        users = {}
        for user_id, row in self._rows(user_ids, KNOWN).items():
            nickname = row.get("nickname") or row.get("token_nickname")
            host_id = host_id_of(row, self._id_of)
            users[user_id] = User(user_id, str(nickname) if nickname else None, host_id)
        return users

    def list_unnoted(self, users: Sequence[User]) -> list[User]:
        by_id = {person.user_id: person for person in users}
        stored = self._rows(list(by_id), SAID)
        return [
            person
            for user_id, person in by_id.items()
            if not user_row(person).items() <= stored.get(user_id, {}).items()
        ]

    def note(self, person: User, said_at_ms: int) -> None:
        row = user_row(person)
        # A late duplicate message must not restore an erased user.
        self._dynamo.write(merge(self._table, row, condition=IS_SAID_SINCE, said_at_ms=said_at_ms))

    def erase(self, user_id: str, now_ms: int) -> None:
        forgotten = update(
            self._table,
            {"pk": user_id},
            "SET erased_at_ms = :now_ms REMOVE host_id, token_nickname, nickname, avatar_url,"
            " goods_address",
            now_ms=now_ms,
        )
        del forgotten["Update"]["ReturnValuesOnConditionCheckFailure"]
        self._dynamo.write(forgotten)

    def find_erased_at_ms(self, user_id: str) -> int:
        wanted = [{"pk": user_id}]
        rows = self._dynamo.get_many(self._table, wanted, is_strong=True, only="pk, erased_at_ms")
        return max((int(row.get("erased_at_ms", 0)) for row in rows), default=0)

    def put(self, profile: Profile) -> None:
        chosen = {"nickname": profile.nickname, "avatar_url": profile.avatar_url}
        kept = {name: value for name, value in chosen.items() if value}
        verbs = {
            "SET": [f"{name} = :{name}" for name in kept],
            "REMOVE": [name for name in chosen if name not in kept],
        }
        expression = " ".join(
            f"{verb} {', '.join(names)}" for verb, names in verbs.items() if names
        )
        self._dynamo.update(self._table, {"pk": profile.user_id}, expression, **kept)

    def _rows(self, user_ids: Sequence[str], only: str) -> dict[str, Row]:
        wanted = [{"pk": user_id} for user_id in dict.fromkeys(user_ids)]
        return {
            str(row["pk"]): row
            for row in self._dynamo.get_many(self._table, wanted, is_strong=False, only=only)
        }


class DynamoHostIds:
    """Map from user ids to host ids, for events. An erasure removes the user's entry."""

    def __init__(self, dynamo: Dynamo, id_of: Callable[[str], str]) -> None:
        self._dynamo, self._id_of = dynamo, id_of
        self._profiles = dynamo.tables.profiles

    def find(self, user_ids: Sequence[str]) -> dict[str, str]:
        wanted = [{"pk": user_id} for user_id in dict.fromkeys(user_ids)]
        return {
            str(row["pk"]): host_id
            # Read strongly consistently, because an erased user's host id must not be returned.
            for row in self._dynamo.get_many(
                self._profiles, wanted, is_strong=True, only="pk, host_id"
            )
            if (host_id := host_id_of(row, self._id_of))
        }


def host_id_of(row: Row, id_of: Callable[[str], str]) -> str | None:
    """Return a profile's host id, or None if it is missing or maps to another user id."""
    host_id = str(row.get("host_id") or "")
    return host_id if host_id and id_of(host_id) == row["pk"] else None


def user_row(user: User) -> dict[str, Value]:
    """Return the user's row with the host id and nickname from the token.

    A nickname that looks like a reserved name is omitted, because PUT /me/profile also rejects it.
    """
    row: dict[str, Value] = {"pk": user.user_id}
    if user.host_id:
        row["host_id"] = user.host_id
    if user.nickname and not is_reserved(user.nickname, skeleton_of):
        row["token_nickname"] = user.nickname
    return row


def note_user(profiles_table: str, user: User) -> list[Operation]:
    """Return the write that stores a user's token data, for a transaction about the user."""
    if user.host_id is None:
        return []
    return [merge(profiles_table, user_row(user))]
