"""Profile edits; a nickname must not look like a reserved name."""

from __future__ import annotations

from collections.abc import Callable

from redpacket.platform.errors import InvalidRequest
from redpacket.platform.text import LOOKS_RESERVED, looks_reserved
from redpacket.users.ports import Profile, ProfileRepository


def edit_profile(
    user_id: str,
    nickname: str,
    avatar_url: str | None,
    *,
    profiles: ProfileRepository,
    skeleton_of: Callable[[str], str],
    absolute_url: Callable[[str], str],
) -> Profile:
    """Store a profile. Raises InvalidRequest for a reserved name or a refused avatar.

    *absolute_url* returns the avatar's URL, or raises ValueError with the reason.
    """
    errors = []
    if looks_reserved(nickname, skeleton_of):
        errors.append({"field": "nickname", "message": LOOKS_RESERVED})
    try:
        avatar_url = avatar_url and absolute_url(avatar_url)
    except ValueError as error:
        errors.append({"field": "avatar_url", "message": str(error)})
    if errors:
        raise InvalidRequest(errors)
    profile = Profile(user_id, nickname, avatar_url)
    profiles.put(profile)
    return profile
