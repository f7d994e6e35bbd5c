"""Repository of campaigns, and of the ids of their packets, in CampaignsTable."""

from __future__ import annotations

from collections.abc import Iterator

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.dynamodb.items import campaign_of
from redpacket.campaigns.model import Campaign
from redpacket.platform.dynamodb.client import Dynamo, values


class DynamoCampaigns:
    """DynamoDB implementation of CampaignRepository."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._table = dynamo.tables.campaigns

    def find_campaign(self, campaign_id: str) -> Campaign | None:
        row = self._dynamo.get(self._table, campaign_keys.campaign(campaign_id))
        return campaign_of(row) if row else None

    def list_packet_ids(self, campaign_id: str, after: str | None, limit: int) -> list[str]:
        first = f"{campaign_keys.CAMPAIGN_PACKET_PREFIX}{after or ''}"
        rows = self._dynamo.query_some(
            self._table,
            limit + 1,
            ProjectionExpression="pk, sk",
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues=values(
                pk=campaign_keys.packet_list(campaign_id),
                first=first,
                last=f"{campaign_keys.CAMPAIGN_PACKET_PREFIX}~",
            ),
            ConsistentRead=True,
        )
        ids = [str(row["sk"]).removeprefix(campaign_keys.CAMPAIGN_PACKET_PREFIX) for row in rows]
        return [packet_id for packet_id in ids if packet_id != after][:limit]

    def newest_packet_ids(self, campaign_id: str, limit: int) -> Iterator[str]:
        rows = self._dynamo.query(
            self._table,
            Limit=limit,
            IndexName="by_list",
            KeyConditionExpression="list_pk = :list",
            ExpressionAttributeValues=values(list=campaign_keys.packet_list(campaign_id)),
            ScanIndexForward=False,
        )
        for row in rows:
            yield str(row["sk"]).removeprefix(campaign_keys.CAMPAIGN_PACKET_PREFIX)
