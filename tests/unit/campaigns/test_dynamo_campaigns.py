"""Concurrent edits of one campaign that tests/contract/test_draws.py reaches only by chance."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.lottery.model.lottery import Prize
from redpacket.platform.dynamodb.client import Dynamo
from testing.builders import a_campaign, a_prize
from testing.fakes import FakeDynamo
from testing.lottery.prizes import write_prize
from testing.platform.fake_tables import TABLE_NAMES

FAIR = a_campaign(campaign_id="fair")


class MeddledDynamo(FakeDynamo):
    """DynamoDB client that runs another write between a read and the write that follows it."""

    def __init__(self) -> None:
        super().__init__()
        self.meddle: Callable[[], object] | None = None

    def transact_write_items(self, **request: Any) -> None:
        if meddle := self.meddle:
            self.meddle = None
            meddle()
        super().transact_write_items(**request)


@pytest.fixture
def client() -> MeddledDynamo:
    return MeddledDynamo()


@pytest.fixture
def campaigns(client: MeddledDynamo) -> DynamoEditedCampaigns:
    campaigns = DynamoEditedCampaigns(Dynamo(lambda: client, TABLE_NAMES))
    assert campaigns.create(FAIR)
    return campaigns


@pytest.fixture
def prizes(client: MeddledDynamo, campaigns: DynamoEditedCampaigns) -> DynamoPrizes:
    del campaigns
    return DynamoPrizes(Dynamo(lambda: client, TABLE_NAMES))


def put(prizes: DynamoPrizes, prize_id: str) -> Prize:
    prize = a_prize("fair", prize_id)
    write_prize(prizes, prize)
    return prize


def test_a_prize_is_not_added_to_a_campaign_that_was_edited_meanwhile(
    client: MeddledDynamo, prizes: DynamoPrizes, campaigns: DynamoEditedCampaigns
) -> None:
    edited = replace(FAIR, title="new", version=2)
    client.meddle = lambda: campaigns.edit(edited, FAIR)
    seen = prizes.find_snapshot("fair")
    assert seen

    assert prizes.put_prize(a_prize("fair", "cup"), seen) is None

    cup = put(prizes, "cup")
    client.meddle = lambda: put(prizes, "pen")
    again = replace(edited, miss_weight=9, version=3)
    assert campaigns.edit(again, edited)
    snapshot = prizes.find_snapshot("fair")
    assert snapshot
    assert snapshot.campaign == again.plan
    assert snapshot.prizes == (cup, a_prize("fair", "pen"))
    assert snapshot.version == 5
    assert campaigns.find_campaign("fair") == again
