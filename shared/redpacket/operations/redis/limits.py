"""Rate limits in Redis or Valkey, with one expiring key per limit and subject."""

from __future__ import annotations

from redpacket.operations.model.limits import Limit
from redpacket.operations.redis import keys
from redpacket.platform.redis.client import Client
from redpacket.platform.redis.connect import Cache, Script


class RedisLimits(Cache):
    """Limits implementation for Redis and Valkey."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._take = Script.read("limit_take")
        self._take_within = Script.read("limit_take_within")

    def take(self, limit: Limit, subject: str) -> int:
        key = keys.limit(limit.name, subject)
        return _retry_after_ms(self.run(self._take, key, limit.interval_ms, limit.burst))

    def take_within(
        self, limit: Limit, subject: str, group_limit: Limit, group: str, *, is_spent: bool
    ) -> int:
        both = (keys.limit_within(limit.name, group, subject), keys.limit(group_limit.name, group))
        numbers = (limit.interval_ms, limit.burst, group_limit.interval_ms, group_limit.burst)
        return _retry_after_ms(self.run(self._take_within, both, *numbers, int(is_spent)))


def _retry_after_ms(answer: str) -> int:
    _, _, retry_after_ms = answer.partition(" ")
    return int(retry_after_ms or 0)
