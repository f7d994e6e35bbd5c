"""Quota reservations in Redis or Valkey, with one hash per campaign and user."""

from __future__ import annotations

from redpacket.campaigns.model import audience_bucket
from redpacket.campaigns.redis import keys
from redpacket.packets.model.claim import Quota, QuotaStatus
from redpacket.platform.redis.client import Client
from redpacket.platform.redis.connect import Cache, Script

_LIFE_MS = 24 * 3600 * 1000
"""Milliseconds that a key lives after its last change. The ledger enforces the quota regardless."""

_WHOLE = "#"


class RedisQuotas(Cache):
    """Quotas implementation for Redis and Valkey."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._reserve = Script.read("quota_reserve")

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        script_keys = [
            keys.quota(quota.campaign_id, user_id),
            keys.audience(quota.campaign_id, audience_bucket(user_id)),
        ]
        counted = "" if claimed_count is None else claimed_count
        args = packet_id, quota.count_max, _LIFE_MS, counted, user_id, quota.audience_mode or ""
        return QuotaStatus(self.run(self._reserve, script_keys, *args))

    def find_member(self, campaign_id: str, user_id: str) -> bool | None:
        key = keys.audience(campaign_id, audience_bucket(user_id))
        whole, member = self.ask("HMGET", key, _WHOLE, user_id)
        return None if whole is None else member is not None

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        self.ask("HDEL", keys.quota(quota.campaign_id, user_id), packet_id)
