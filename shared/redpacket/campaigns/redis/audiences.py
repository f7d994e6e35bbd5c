"""Audience lists in Redis or Valkey: one hash per bucket, in the slot of its users' quotas."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Sequence

from redpacket.campaigns.model import audience_bucket
from redpacket.campaigns.redis import keys
from redpacket.platform.redis.client import Client
from redpacket.platform.redis.connect import Cache, Script

_LIFE_MS = 10 * 60 * 1000
"""Lifetime of a bucket in milliseconds; a reload then restores edits that a failover lost."""

_USERS_PER_LOAD = 1_000
"""Maximum users per script call; ElastiCache Serverless allows 3,999 arguments."""


class RedisAudiences(Cache):
    """AudienceCache implementation for Redis and Valkey."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._load = Script.read("audience_load")
        self._edit = Script.read("audience_edit")

    def begin_load(self, campaign_id: str, bucket: int, life_ms: int) -> str | None:
        lock_token, key = secrets.token_hex(8), keys.audience_loading(campaign_id, bucket)
        return lock_token if self.take_turn(key, lock_token, life_ms) else None

    def load(self, campaign_id: str, bucket: int, lock_token: str, user_ids: Sequence[str]) -> bool:
        script_keys = _script_keys(campaign_id, bucket)
        for start in range(0, max(1, len(user_ids)), _USERS_PER_LOAD):
            chunk = user_ids[start : start + _USERS_PER_LOAD]
            is_last = start + _USERS_PER_LOAD >= len(user_ids)
            flags = int(start == 0), int(is_last)
            if self.run(self._load, script_keys, lock_token, _LIFE_MS, *flags, *chunk) != "loaded":
                return False
        return True

    def edit(self, campaign_id: str, add: Sequence[str], remove: Sequence[str]) -> None:
        by_bucket: dict[int, list[str]] = defaultdict(list)
        for sign, user_ids in (("+", add), ("-", remove)):
            for user_id in user_ids:
                by_bucket[audience_bucket(user_id)].append(f"{sign}{user_id}")
        for bucket, signed in by_bucket.items():
            self.run(self._edit, _script_keys(campaign_id, bucket), *signed)


def _script_keys(campaign_id: str, bucket: int) -> list[str]:
    return [keys.audience(campaign_id, bucket), keys.audience_loading(campaign_id, bucket)]
