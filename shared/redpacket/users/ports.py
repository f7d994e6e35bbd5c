"""Ports for profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redpacket.platform.user import User


@dataclass(frozen=True, slots=True)
class Profile:
    """Public profile of a user; *is_erased* means that they have no name since an erasure."""

    user_id: str
    nickname: str | None = None
    avatar_url: str | None = None
    is_erased: bool = False


class ProfileRepository(Protocol):
    """Profiles, and the mapping to the host's user ids. Reads are eventually consistent.

    Packets, lottery and erasure use it.
    """

    def list_profiles(self, user_ids: Sequence[str]) -> dict[str, Profile]:
        """Return the existing profiles by user id."""

    def list_users(self, user_ids: Sequence[str]) -> dict[str, User]:
        """Return the known people with host id and nickname."""

    def put(self, profile: Profile) -> None:
        """Replace a profile; data from tokens stays."""

    def list_unnoted(self, users: Sequence[User]) -> list[User]:
        """Return, without duplicates, the people whose stored data differs from their token's."""

    def note(self, person: User, said_at_ms: int) -> None:
        """Store a token's data about its user, unless they were erased at or after *said_at_ms*."""

    def erase(self, user_id: str, now_ms: int) -> None:
        """Delete a user's profile and token data; a later token restores the user."""

    def find_erased_at_ms(self, user_id: str) -> int:
        """Return the time of a user's last erasure, strongly consistent, or 0."""
