"""Profile edits; a nickname must not look like a reserved name."""

from __future__ import annotations

from collections.abc import Callable, Container

from redpacket.platform.errors import InvalidRequest
from redpacket.platform.image_url import is_on_hosts
from redpacket.platform.text import is_reserved
from redpacket.users.ports import Profile, ProfileRepository


def edit_profile(
    user_id: str,
    nickname: str,
    avatar_url: str | None,
    *,
    profiles: ProfileRepository,
    skeleton_of: Callable[[str], str],
    avatar_hosts: Container[str],
) -> Profile:
    """Store a profile. Raises InvalidRequest for a reserved name or a foreign avatar host."""
    errors = []
    if is_reserved(nickname) or is_reserved(nickname, skeleton_of):
        errors.append({"field": "nickname", "message": "is or looks reserved. Choose another"})
    if avatar_url and not is_on_hosts(avatar_url, avatar_hosts):
        errors.append({"field": "avatar_url", "message": "is not on a host of this deployment"})
    if errors:
        raise InvalidRequest(errors)
    profile = Profile(user_id, nickname, avatar_url)
    profiles.put(profile)
    return profile
