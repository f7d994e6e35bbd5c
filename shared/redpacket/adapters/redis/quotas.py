"""Reservations of a campaign's quotas on Redis or Valkey: one hash per campaign and user."""

from __future__ import annotations

from redpacket.adapters import keys
from redpacket.adapters.redis.client import Client
from redpacket.adapters.redis.connect import Cache, Script
from redpacket.domain.claim import Quota, QuotaStatus

_LIFE_MS = 24 * 3600 * 1000
"""After a day without a grab it is forgotten, and the ledger is asked once more."""


class RedisQuotas(Cache):
    """Implements Quotas."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._reserve = Script.read("quota_reserve")

    def reserve(
        self, quota: Quota, user_id: str, packet_id: str, *, claimed_count: int | None = None
    ) -> QuotaStatus:
        key = keys.quota(quota.campaign_id, user_id)
        known = "" if claimed_count is None else claimed_count
        answer = self.run(self._reserve, key, packet_id, quota.count_max, _LIFE_MS, known)
        return QuotaStatus(answer)

    def release(self, quota: Quota, user_id: str, packet_id: str) -> None:
        self.ask("HDEL", keys.quota(quota.campaign_id, user_id), packet_id)
