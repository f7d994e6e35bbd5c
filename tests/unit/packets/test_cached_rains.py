"""Packets that a campaign's page offers: open, newest first, and only while the campaign runs."""

from dataclasses import replace
from typing import Any

import pytest

from local.seed_keys import PUBLISHED_SEEDS
from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.model import Campaign, CampaignStatus
from redpacket.lottery.dynamodb.edited_campaigns import DynamoEditedCampaigns
from redpacket.lottery.use_cases import cached_rains
from redpacket.lottery.use_cases.cached_rains import KEPT_MS, CachedRains
from redpacket.packets.dynamodb import keys
from redpacket.packets.dynamodb.pages import DynamoPages
from redpacket.packets.model.packet import Packet, Rules
from redpacket.platform.dynamodb.client import Dynamo, to_wire
from redpacket.platform.errors import Unavailable
from testing.builders import NOW_MS, a_campaign
from testing.fakes import Away
from testing.in_memory_system import InMemorySystem
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.units import MeteredDynamo


@pytest.fixture
def campaign(system: InMemorySystem) -> Campaign:
    made = a_campaign(campaign_id="rain", starts_at_ms=NOW_MS, ends_at_ms=NOW_MS + 120_000)
    assert system.campaigns.create(made)
    return made


@pytest.fixture
def rains(system: InMemorySystem) -> CachedRains:
    return system.process().rains


def send(system: InMemorySystem, *recipients: str) -> Packet:
    system.pass_time(1)
    rules = Rules(campaign_id="rain", recipients=frozenset(recipients))
    campaign = system.campaigns.find_campaign("rain")
    return system.send(rules=rules, campaign=campaign, count=1, total_fen=10)


@pytest.mark.parametrize("forged", [{}, {"status": {"S": "unknown"}}])
def test_a_packet_that_can_not_be_read_hides_no_other_of_its_campaign(
    forged: dict[str, Any],
) -> None:
    """The send role may put any packet, and name it in any campaign."""
    system = InMemorySystem()
    campaign = a_campaign(campaign_id="rain", starts_at_ms=NOW_MS, ends_at_ms=NOW_MS + 120_000)
    system.campaigns.create(campaign)
    good = send(system)
    row = dict(system.row("packets", keys.packet(good.packet_id))) if forged else {}
    row |= to_wire({**keys.packet("bad"), "packet_id": "bad"}) | forged
    system.dynamo.put_item(TableName="packets", Item=row)
    member = dict(system.row("campaigns", campaign_keys.campaign_packet("rain", good.packet_id)))
    member |= to_wire(campaign_keys.campaign_packet("rain", "bad"))
    system.dynamo.put_item(TableName="campaigns", Item=member)

    page, _ = system.process().list_packets("rain", None, None, None, 10)

    assert listed(system.process().rains, campaign) == [good.packet_id]
    assert [packet.packet_id for packet in page] == [good.packet_id]
    assert system.preheat("rain").loaded_count == 1


def listed(rains: CachedRains, campaign: Campaign) -> list[str]:
    return [packet.packet_id for packet in rains.get(campaign)]


def test_open_packets_for_all_users_are_listed_newest_first(
    system: InMemorySystem, campaign: Campaign, rains: CachedRains
) -> None:
    first, emptied, last = [send(system) for _ in range(3)]
    send(system, "ann")
    system.grab_all(emptied, "bob")
    system.settle()

    assert listed(rains, campaign) == [last.packet_id, first.packet_id]
    system.pass_time(last.expires_at_ms - system.clock.at_ms - 1)
    assert listed(rains, campaign) == [last.packet_id]
    system.pass_time(1)
    assert listed(rains, campaign) == []


def test_ended_packets_hide_no_open_packet(
    system: InMemorySystem,
    campaign: Campaign,
    rains: CachedRains,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cached_rains, "PACKETS_MAX", 2)
    first, second = send(system), send(system)
    for _ in range(3):
        system.grab_all(send(system), "bob")
    system.settle()

    assert listed(rains, campaign) == [second.packet_id, first.packet_id]


def test_no_packet_is_listed_unless_the_campaign_is_active(
    system: InMemorySystem, campaign: Campaign, rains: CachedRains
) -> None:
    packet = send(system)
    now_ms = system.clock.at_ms

    for changes in (
        {"starts_at_ms": now_ms + 1},
        {"ends_at_ms": now_ms},
        {"status": CampaignStatus.OFF},
    ):
        assert listed(rains, replace(campaign, **changes)) == []
    assert listed(rains, replace(campaign, starts_at_ms=now_ms)) == [packet.packet_id]


def test_a_process_reads_packets_once_per_interval_and_serves_them_without_the_ledger(
    system: InMemorySystem, campaign: Campaign
) -> None:
    packets = [send(system) for _ in range(2)]
    meter = MeteredDynamo(system.dynamo)
    metered = Dynamo(lambda: meter, TABLE_NAMES)
    campaigns = DynamoEditedCampaigns(metered)
    pages = DynamoPages(metered, PUBLISHED_SEEDS)
    rains = system.process(campaigns=campaigns, pages=pages).rains

    for _ in range(2):
        assert len(listed(rains, campaign)) == len(packets)
    assert (meter.units, meter.strong_count) == (0.5 + 2 * 0.5, 0)
    send(system)
    system.pass_time(KEPT_MS)
    assert len(listed(rains, campaign)) == len(packets) + 1
    system.pass_time(KEPT_MS)
    rains._campaigns = Away()
    assert len(listed(rains, campaign)) == len(packets) + 1
    with pytest.raises(Unavailable):
        rains.get(replace(campaign, campaign_id="other"))
