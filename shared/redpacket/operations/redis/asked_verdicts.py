"""Cached decisions of the host's risk control, with one key per user."""

from __future__ import annotations

from redpacket.operations.redis import keys
from redpacket.platform.redis.client import Client
from redpacket.platform.redis.connect import Cache, SignedTexts

_ALLOWED, _DENIED = "allow", "deny"


class RedisAskedVerdicts(Cache):
    """AskedVerdicts implementation for Redis and Valkey."""

    def __init__(self, client: Client, texts: SignedTexts) -> None:
        super().__init__(client)
        self._texts = texts

    def find(self, user_id: str) -> bool | None:
        key = keys.asked_verdict(user_id)
        answer = self._texts.read(key, self.ask("GET", key))
        return None if answer is None else answer == _ALLOWED

    def keep(self, user_id: str, *, is_allowed: bool, for_ms: int) -> None:
        key, word = keys.asked_verdict(user_id), _ALLOWED if is_allowed else _DENIED
        self.ask("SET", key, self._texts.write(key, word, for_ms), "PX", for_ms)
