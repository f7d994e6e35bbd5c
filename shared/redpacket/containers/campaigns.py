"""Container for campaigns, audiences and rains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from redpacket.campaigns.dynamodb.audiences import DynamoAudiences
    from redpacket.campaigns.ports import AudienceCache, CampaignRepository
    from redpacket.campaigns.use_cases.cached_campaigns import CachedCampaigns
    from redpacket.packets.dynamodb.rains import DynamoRains


@dataclass(eq=False)
class CampaignsContainer(Container):
    @cached_property
    def repository(self) -> CampaignRepository:
        from redpacket.campaigns.dynamodb.campaigns import DynamoCampaigns

        return DynamoCampaigns(self.dynamo)

    @cached_property
    def cached_campaigns(self) -> CachedCampaigns:
        from redpacket.campaigns.use_cases.cached_campaigns import CachedCampaigns

        return CachedCampaigns(self.repository, clock=self.clock, logger=self.logger)

    @cached_property
    def rain_plans(self) -> DynamoRains:
        from redpacket.packets.dynamodb.rains import DynamoRains

        return DynamoRains(self.dynamo)

    @cached_property
    def audience_rows(self) -> DynamoAudiences:
        from redpacket.campaigns.dynamodb.audiences import DynamoAudiences

        return DynamoAudiences(self.dynamo)

    @cached_property
    def audience_cache(self) -> AudienceCache:
        from redpacket.campaigns.redis.audiences import RedisAudiences

        return RedisAudiences(self.platform.cache_client)

    def load_audience(self, campaign_id: str, bucket: int) -> None:
        from redpacket.campaigns.use_cases.edit_audience import load_audience

        load_audience(campaign_id, bucket, rows=self.audience_rows, cache=self.audience_cache)
