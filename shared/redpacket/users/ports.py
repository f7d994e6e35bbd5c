"""Ports for profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.platform.user import User


@dataclass(frozen=True, slots=True)
class Profile:
    """Public profile of a user; *is_erased* means that an erasure removed the name."""

    user_id: str
    nickname: str | None = None
    avatar_url: str | None = None
    is_erased: bool = False


class ProfileRepository(Protocol):
    """Repository of profiles and host ids by user id. Most reads are eventually consistent.

    Packets, lottery, chat and erasure use the Protocol.
    """

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        """Return the existing profiles by user id."""

    def list_users(self, user_ids: Sequence[str]) -> dict[str, User]:
        """Return the known users with host id and nickname, keyed by user id."""

    def put(self, profile: Profile) -> None:
        """Replace a profile, but keep data from tokens."""

    def list_unnoted(self, users: Sequence[User]) -> list[User]:
        """Return those users, without duplicates, whose stored data differs from their token's."""

    def note(self, person: User, said_at_ms: int) -> None:
        """Store a token's data, unless the user was erased at or after *said_at_ms*."""

    def erase(self, user_id: str, now_ms: int) -> None:
        """Delete a user's profile and token data; a later token restores the user."""

    def find_erased_at_ms(self, user_id: str) -> int:
        """Return the time of a user's last erasure, or 0, from a strongly consistent read."""
