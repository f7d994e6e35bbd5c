"""HTTP request with user, body and token scopes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from redpacket.platform.errors import Forbidden, InvalidRequest
from redpacket.platform.settings import settings
from redpacket.platform.text import (
    NICKNAME_GRAPHEMES_MAX,
    composed,
    is_reserved,
    shortened,
    without_invisible,
)
from redpacket.platform.user import User, UserIds, check_host_id

Body = TypeVar("Body")

_CHARSETS = frozenset({"", "utf-8", "utf8", "us-ascii"})


@cache
def user_ids() -> UserIds:
    """Return the factory for user ids. Raises SettingMissing or ValueError."""
    return UserIds(settings.user_id_key)


def person_of(
    host_id: str, nickname: str | None = None, claims: Mapping[str, Any] | None = None
) -> User:
    """Return the user with *host_id*, which alone determines the user id."""
    return User(user_ids().id_of(host_id), nickname, host_id, claims or {})


def sharer_of(via: str | None, user: User) -> str | None:
    """Return the user token *via*, or None if it is missing, invented, or the caller's own."""
    return via if via and via != user.user_id and user_ids().has_made(via) else None


def nickname_of(text: str) -> str | None:
    """Return the part of *text* that others may see as a nickname, or None.

    Look-alikes of reserved names are dropped when the nickname is stored.
    """
    nickname = shortened(composed(without_invisible(text)), NICKNAME_GRAPHEMES_MAX)
    return nickname if nickname and not is_reserved(nickname) else None


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """HTTP request; header names are lowercase. *source_ip* is the address that the gateway saw."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    claims: Mapping[str, Any]
    body: bytes
    source_ip: str = ""

    def json(self) -> dict[str, Any]:
        """Return the body as an object; {} for an empty body. Raises InvalidRequest."""
        if not self.body.strip():
            return {}
        charset = self.headers.get("content-type", "").lower().partition("charset=")[2]
        if charset.partition(";")[0].strip(' "') not in _CHARSETS:
            raise InvalidRequest.of("body", "must be encoded in UTF-8")
        try:
            parsed = json.loads(
                # Decode first, because json.loads would also accept UTF-16 bytes.
                self.body.decode(),
                parse_constant=_refuse_constant,
                object_pairs_hook=_unique,
            )
        except (ValueError, RecursionError) as error:
            raise InvalidRequest.of("body", "must be valid JSON without repeated names") from error
        if not isinstance(parsed, dict):
            raise InvalidRequest.of("body", "must be a JSON object: {...}")
        return parsed

    @property
    def user(self) -> User:
        """User whom the token's subject names. Raises Forbidden for an invalid subject."""
        host_id = check_host_id(str(self.claims.get("sub", "")))
        nickname = nickname_of(str(self.claims.get("nickname", "")))
        return person_of(host_id, nickname, self.claims)

    @property
    def scopes(self) -> frozenset[str]:
        """Scopes of the token; none for a user's token if operators have their own issuer."""
        if settings.operator_issuer not in {"", self.claims.get("iss")}:
            return frozenset()
        return frozenset(str(self.claims.get("scope", "")).split())

    def require_scope(self, scopes: tuple[str, ...]) -> None:
        """Raise Forbidden unless the token has one of *scopes*."""
        if self.scopes.isdisjoint(scopes):
            raise Forbidden(f"This route needs the scope {' or '.join(scopes)}.")


class RequestOf(HttpRequest, Generic[Body]):
    """Request, typed with the schema of its body."""

    __slots__ = ()


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(members)
    if len(unique) != len(members):
        raise ValueError("a name appears twice")
    return unique
