"""Functions for parsing calls and shortening cards, shared by all platforms."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from redpacket.chat.model import Member
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.user import HOST_ID

_REST = "… +9999"


def json_object(body: bytes | str) -> dict[str, Any]:
    """Return the JSON object in *body*. Raises InvalidRequest."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise InvalidRequest.of("body", "must be a JSON object")
    return parsed


def part(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object *name* in *given*, or an empty one."""
    value = given.get(name)
    return value if isinstance(value, dict) else {}


def text(given: Mapping[str, Any], name: str) -> str:
    """Return the string or number *name* in *given* as a string, or ""."""
    value = given.get(name)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def member(host_id: str, name: str, language: str) -> Member:
    """Return a member. Raises InvalidRequest if *host_id* is malformed or has an empty part.

    Without this check, members whose calls lack an id would share one account.
    """
    if not (HOST_ID.fullmatch(host_id) and all(host_id.split(":"))):
        raise InvalidRequest.of("user", "has an id that no user can have")
    return Member(host_id, name, "zh" if language.startswith("zh") else "en")


def link_label(link: str) -> str:
    """Return the label of a card's link: the host name, which needs no translation."""
    return f"🔗 {urlsplit(link).hostname}"


def fitting(lines: Sequence[str], size_max: int, size: Callable[[str], int]) -> tuple[str, ...]:
    """Return the lines that fit, and a last line that counts the others."""
    if sum(size(line) + 1 for line in lines) <= size_max:
        return tuple(lines)
    kept: list[str] = []
    left = size_max - size(_REST)
    for line in lines:
        left -= size(line) + 1
        if left < 0:
            break
        kept.append(line)
    return (*kept, f"… +{len(lines) - len(kept)}")
