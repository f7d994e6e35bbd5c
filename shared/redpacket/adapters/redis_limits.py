"""Rate limits on Redis or Valkey: one key per limit and subject, gone when it is of no more use."""

from __future__ import annotations

from redpacket.adapters import keys
from redpacket.adapters.redis_cache import Cache, Script
from redpacket.adapters.redis_client import Client
from redpacket.domain.limits import Limit


class RedisLimits(Cache):
    """Implements Limits."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._take = Script.read("limit_take")

    def take(self, limit: Limit, subject: str) -> int:
        key = keys.limit(limit.name, subject)
        answer = self.run(self._take, key, limit.interval_ms, limit.burst)
        _, _, retry_after_ms = answer.partition(" ")
        return int(retry_after_ms or 0)
