"""Cached decisions of the host's risk control, one key for each user."""

from __future__ import annotations

from redpacket.operations.redis import keys
from redpacket.platform.redis.connect import Cache

_ALLOWED, _DENIED = "allow", "deny"


class RedisAskedVerdicts(Cache):
    """Implementation of AskedVerdicts on Redis or Valkey."""

    def find(self, user_id: str) -> bool | None:
        answer = self.ask("GET", keys.asked_verdict(user_id))
        return None if answer is None else answer == _ALLOWED

    def keep(self, user_id: str, *, is_allowed: bool, for_ms: int) -> None:
        word = _ALLOWED if is_allowed else _DENIED
        self.ask("SET", keys.asked_verdict(user_id), word, "PX", for_ms)
