"""User named by the host's token, and the user id, which identifies users in rows about money.

The same user always has the same id, without a lookup. Without the key, an id does not reveal the
user. A tag exposes invented ids (docs/adr/0019-user-ids-are-keyed-hashes.md).
"""

from __future__ import annotations

import hmac
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from redpacket.platform.errors import Forbidden

# Matches subjects from known issuers: UUIDs, e-mail addresses, employee numbers, provider|id.
HOST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@:|+=-]{0,127}")

_USER_ID = re.compile(r"[A-Za-z0-9_-]{24}")

_HASH_BYTES = 12
"""Bytes of a hash; the probability that two of 10^9 users collide is 10^-11."""

_TAG_BYTES = 6
"""Bytes of a tag; one in 2^48 invented ids has a valid tag, but belongs to no user."""

_HASH_LENGTH = 16
_KEY_LENGTH_MIN = 32


@dataclass(frozen=True, slots=True)
class User:
    """A user, of whom rows about money contain only *user_id*.

    *nickname* and *host_id* come from the token or a chat platform, and are kept in an erasable
    profile (docs/adr/0019). *claims* come from the token, and are not stored. *chat_id* is the chat
    in which the user acts, as in `Rules.chat_id`; only calls from that chat's platform set it.
    """

    user_id: str
    nickname: str | None = field(default=None, repr=False, compare=False)
    host_id: str | None = field(default=None, repr=False, compare=False)
    claims: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    chat_id: str | None = field(default=None, repr=False, compare=False)


class UserIds:
    """Factory for one deployment's user ids, which depend on its key."""

    def __init__(self, key: str) -> None:
        # The message must not contain the value, which may be a key.
        if len(key) < _KEY_LENGTH_MIN or not key.isascii():
            raise ValueError(f"the key of user ids has at least {_KEY_LENGTH_MIN} ASCII characters")
        self._key = key.encode()

    def id_of(self, host_id: str) -> str:
        """Return the id of the user whose host id is *host_id*."""
        return self._tagged(self._text("user", host_id, _HASH_BYTES))

    def has_made(self, user_id: str) -> bool:
        """Return whether *user_id* has a valid tag, like every user's id."""
        if not _USER_ID.fullmatch(user_id):
            return False
        return hmac.compare_digest(user_id, self._tagged(user_id[:_HASH_LENGTH]))

    def seal(self, use: str, text: str) -> str:
        """Return 32 hex digits that cannot be computed for *text* without the key."""
        return hmac.digest(self._key, f"{use}:{text}".encode(), "sha256")[:16].hex()

    def _tagged(self, head: str) -> str:
        return head + self._text("tag", head, _TAG_BYTES)

    def _text(self, use: str, text: str, size: int) -> str:
        # No use contains a colon, so two different uses never hash the same text.
        digest = hmac.digest(self._key, f"{use}:{text}".encode(), "sha256")
        return urlsafe_b64encode(digest[:size]).decode()


def check_host_id(host_id: str) -> str:
    """Return *host_id*, or raise Forbidden if the token's subject cannot be a user."""
    if not HOST_ID.fullmatch(host_id):
        raise Forbidden("The token's subject is not a valid user id. Sign in again.")
    return host_id
