"""The rounds of the beacon and who draws by them, on every kind of table."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest

from redpacket.fairness.beacon_ports import Drawing
from redpacket.fairness.dynamodb.rounds import DynamoRounds
from redpacket.fairness.model.beacon import BeaconChain, BeaconRound, CampaignBeacon
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.platform.dynamodb.client import Dynamo
from testing.builders import NOW_MS, a_campaign
from testing.platform.fake_tables import TABLE_NAMES
from tests.contract.tables import KINDS, a_client

_numbers = itertools.count(1)


@pytest.fixture(params=KINDS)
def dynamo(request: pytest.FixtureRequest) -> Iterator[Dynamo]:
    with a_client(request.param, request) as client:
        yield Dynamo(lambda: client, TABLE_NAMES)


def a_chain() -> BeaconChain:
    """Return a chain that no other test has."""
    return BeaconChain(f"{next(_numbers):064x}", 1_790_000_000, 3)


def test_a_round_is_kept_once_and_found(dynamo: Dynamo) -> None:
    rounds, chain_hash = DynamoRounds(dynamo), a_chain().chain_hash
    kept = BeaconRound(999_999, b"\1" * 48)

    assert rounds.find(chain_hash, 999_999) is None
    rounds.keep(chain_hash, kept)
    rounds.keep(chain_hash, replace(kept, signature=b"\2" * 48))

    assert rounds.find(chain_hash, 999_999) == kept
    assert rounds.find(chain_hash, 999_998) is None
    assert rounds.find(a_chain().chain_hash, 999_999) is None


def test_the_newest_round_is_known(dynamo: Dynamo) -> None:
    rounds, chain_hash = DynamoRounds(dynamo), a_chain().chain_hash

    assert rounds.find_newest_no(chain_hash) == 0
    for round_no in (9, 1_000_000, 999_999):
        rounds.keep(chain_hash, BeaconRound(round_no, bytes(48)))

    assert rounds.find_newest_no(chain_hash) == 1_000_000


def test_campaigns_that_draw_are_listed_until_their_end(dynamo: Dynamo) -> None:
    chain = a_chain()
    campaigns = DynamoEditedCampaigns(dynamo)
    rounds = DynamoRounds(dynamo)
    beacon = CampaignBeacon(chain, NOW_MS, "Asia/Shanghai")
    campaign = a_campaign(beacon=beacon)
    assert campaigns.create(campaign)
    assert campaigns.create(a_campaign())

    def drawing(now_ms: int) -> list[Drawing]:
        return [each for each in rounds.list_drawing(now_ms) if each.beacon.chain == chain]

    listed = Drawing(beacon, campaign.starts_at_ms, campaign.ends_at_ms)
    assert drawing(NOW_MS) == drawing(campaign.ends_at_ms) == [listed]
    assert drawing(campaign.ends_at_ms + 1) == []
    stored = campaigns.find_campaign(campaign.campaign_id)
    assert stored
    assert stored.beacon == beacon

    longer = replace(campaign, ends_at_ms=campaign.ends_at_ms + 1, version=2)
    assert campaigns.edit(longer, campaign)

    assert drawing(longer.ends_at_ms) == [replace(listed, ends_at_ms=longer.ends_at_ms)]
