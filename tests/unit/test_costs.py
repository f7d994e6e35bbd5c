"""What one user may make the ledger read by grabbing."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import Mock

import pytest

from redpacket.domain.claim import Quota
from redpacket.domain.errors import (
    PacketEmptied,
    PacketExpired,
    PacketNotFound,
    RateLimited,
    Rejected,
)
from redpacket.domain.limits import grab_limit
from redpacket.domain.packet import Packet, Rules
from tests.builders import a_campaign, a_packet
from tests.town import Town

BURST = 3


@pytest.fixture
def town() -> Iterator[Town]:
    town = Town()
    town.grab_limit = grab_limit(per_minute=1, burst=BURST)
    yield town
    assert town.differences() == []


@pytest.fixture
def reads(town: Town, monkeypatch: pytest.MonkeyPatch) -> Mock:
    counted = Mock(wraps=town.dynamo.get_item)
    monkeypatch.setattr(town.dynamo, "get_item", counted)
    return counted


def _refusals(town: Town, packet: Packet, user_id: str, times: int) -> list[type[Rejected]]:
    refusals = []
    for _ in range(times):
        try:
            town.grab(packet, user_id)
        except Rejected as refusal:
            refusals.append(type(refusal))
    return refusals


def test_repeats_of_a_winner_are_limited(town: Town, reads: Mock) -> None:
    packet = town.send()
    town.grab(packet, "ann")
    before = reads.call_count

    assert _refusals(town, packet, "ann", BURST + 5) == [RateLimited] * 5
    per_repeat = (reads.call_count - before) / BURST
    assert per_repeat == int(per_repeat) <= 2
    assert town.grab(packet, "bob").is_new


def test_claims_themselves_are_not_counted(town: Town) -> None:
    for _ in range(BURST + 3):
        assert town.grab(town.send(), "ann").is_new


def test_losers_of_an_emptied_packet_are_not_counted(town: Town) -> None:
    packet = town.send(count=1)
    town.grab(packet, "ann")

    assert _refusals(town, packet, "bob", BURST + 5) == [PacketEmptied] * (BURST + 5)


def test_loads_are_limited_and_a_refused_one_keeps_nobody_waiting(town: Town, reads: Mock) -> None:
    unknown = a_packet()

    refusals = _refusals(town, unknown, "ann", BURST + 5)

    assert refusals == [PacketNotFound] * BURST + [RateLimited] * 5
    assert reads.call_count == BURST
    began_at_ms = town.clock.now_ms()
    assert _refusals(town, unknown, "bob", 1) == [PacketNotFound]
    assert town.clock.now_ms() == began_at_ms


def test_refusals_that_must_be_looked_up_are_limited(town: Town) -> None:
    packet = town.send()
    town.memory.fail_over(town.memory.snapshot())
    town.pass_time(61_000)

    refusals = _refusals(town, packet, "ann", BURST + 2)

    assert refusals == [PacketExpired] * BURST + [RateLimited] * 2


def test_counts_of_a_full_quota_are_limited(town: Town, reads: Mock) -> None:
    campaign = a_campaign(quota_per_user=1)
    assert town.campaigns.create(campaign)
    rules = Rules(campaign_id=campaign.campaign_id)
    first, second = (town.send(rules=rules, campaign=campaign) for _ in range(2))
    # A grab of the first is under way: it has reserved, and is not durable yet.
    town.quotas.reserve(Quota(campaign.campaign_id, 1), "ann", first.packet_id)

    refusals = _refusals(town, second, "ann", BURST + 5)

    assert refusals[-1] is RateLimited
    before = reads.call_count
    assert _refusals(town, second, "ann", 5) == [RateLimited] * 5
    # Each process reads the rules and the campaign once, and here each grab has its own.
    assert reads.call_count - before <= 5
