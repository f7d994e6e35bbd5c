"""CampaignRepository and audiences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

from redpacket.containers.container import Container

if TYPE_CHECKING:
    from redpacket.campaigns.audience_ports import AudienceCache, AudienceRows
    from redpacket.campaigns.model import Campaign
    from redpacket.campaigns.ports import CampaignRepository
    from redpacket.campaigns.use_cases.cached_campaigns import CachedCampaigns


@dataclass(eq=False)
class CampaignsContainer(Container):
    """CampaignRepository and audiences."""

    @cached_property
    def get_campaign(self) -> partial[Campaign]:
        from redpacket.campaigns.use_cases.edit_campaign import get_campaign

        return partial(get_campaign, campaigns=self.repository)

    @cached_property
    def repository(self) -> CampaignRepository:
        from redpacket.campaigns.dynamodb.campaigns import DynamoCampaigns

        return DynamoCampaigns(
            self.dynamo,
            self.settings.campaigns_table,
            self.platform.new_seed,
            self.platform.seeds,
        )

    @cached_property
    def campaign_rows(self) -> CampaignRepository:
        """Repository without the keys of seeds."""
        from redpacket.campaigns.dynamodb.campaigns import DynamoCampaigns

        return DynamoCampaigns(self.dynamo, self.settings.campaigns_table, self.platform.new_seed)

    @cached_property
    def audience_rows(self) -> AudienceRows:
        from redpacket.campaigns.dynamodb.audiences import DynamoAudiences

        return DynamoAudiences(
            self.dynamo,
            self.settings.audience_table,
            self.settings.campaigns_table,
        )

    @cached_property
    def audience_cache(self) -> AudienceCache:
        from redpacket.campaigns.redis.audiences import RedisAudiences

        return RedisAudiences(self.platform.cache_client)

    def load_audience(self, campaign_id: str, bucket: int) -> None:
        from redpacket.campaigns.use_cases.load_audience import load_audience

        load_audience(campaign_id, bucket, rows=self.audience_rows, cache=self.audience_cache)

    @cached_property
    def cached_campaigns(self) -> CachedCampaigns:
        from redpacket.campaigns.use_cases.cached_campaigns import CachedCampaigns

        return CachedCampaigns(self.repository, clock=self.clock, journal=self.journal)
