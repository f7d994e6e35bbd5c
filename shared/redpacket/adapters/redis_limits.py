"""Rate limits on Redis or Valkey: one key per limit and subject, gone when it is of no more use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.adapters import keys
from redpacket.adapters.redis_scripts import Script, translated
from redpacket.domain.limits import Limit

if TYPE_CHECKING:
    import redis

    from redpacket.adapters.redis_cluster import ClusterClient


class RedisLimits:
    """Implements Limits."""

    def __init__(self, client: redis.Redis | ClusterClient) -> None:
        self._client = client
        self._take = Script.read("limit_take")

    def take(self, limit: Limit, subject: str) -> int:
        key = keys.limit(limit.name, subject)
        with translated(self._client):
            answer = self._take.run(self._client, key, limit.interval_ms, limit.burst)
        _, _, retry_after_ms = answer.partition(" ")
        return int(retry_after_ms or 0)
