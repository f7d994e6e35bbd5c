"""A user as the host's token describes one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class User:
    """A user; rows about money hold *user_id* only.

    *nickname* and *host_id* come from the token, and are kept in an erasable profile
    (docs/adr/0019). *claims* are the token's, and are not stored.
    """

    user_id: str
    nickname: str | None = field(default=None, repr=False, compare=False)
    host_id: str | None = field(default=None, repr=False, compare=False)
    claims: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
