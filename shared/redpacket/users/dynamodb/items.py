"""Rows of a user's data from the token, in ProfilesTable."""

from __future__ import annotations

from redpacket.platform.dynamodb.client import Operation, Value, merge
from redpacket.platform.text import is_reserved
from redpacket.platform.user import User
from redpacket.users.confusables import skeleton_of


def user_row(user: User) -> dict[str, Value]:
    """Return the user's row with the host id and nickname from their token.

    A nickname that looks like a reserved one is omitted, as PUT /me/profile rejects it.
    """
    row: dict[str, Value] = {"pk": user.user_id}
    if user.host_id:
        row["host_id"] = user.host_id
    if user.nickname and not is_reserved(user.nickname, skeleton_of):
        row["token_nickname"] = user.nickname
    return row


def note_user(profiles_table: str, user: User) -> list[Operation]:
    """Return the write that stores a user's host id, in the transaction that gives them a right."""
    if user.host_id is None:
        return []
    return [merge(profiles_table, user_row(user))]
