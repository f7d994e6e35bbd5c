"""Limit on the ledger reads that one user's grabs may cause."""

from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import Mock

import pytest

from redpacket.campaigns.errors import CampaignPaused
from redpacket.campaigns.model import CampaignStatus
from redpacket.operations.model.limits import Limit
from redpacket.packets.errors import PacketEmptied, PacketExpired, PacketNotFound, QuotaExhausted
from redpacket.packets.model.claim import Quota
from redpacket.packets.model.packet import Packet
from redpacket.platform import errors
from testing.builders import a_packet
from testing.in_memory_system import InMemorySystem

BURST = 3


@pytest.fixture
def system() -> Iterator[InMemorySystem]:
    system = InMemorySystem()
    system.grab_limit = Limit("grab", per_minute=1, burst=BURST)
    yield system
    assert system.differences() == []


@pytest.fixture
def reads(system: InMemorySystem, monkeypatch: pytest.MonkeyPatch) -> Mock:
    counted = Mock(wraps=system.dynamo.get_item)
    monkeypatch.setattr(system.dynamo, "get_item", counted)
    return counted


def _refusals(
    system: InMemorySystem, packet: Packet, user_id: str, times: int
) -> list[type[errors.Rejected]]:
    refusals = []
    for _ in range(times):
        try:
            system.grab(packet, user_id)
        except errors.Rejected as refusal:
            refusals.append(type(refusal))
    return refusals


def test_repeats_of_a_winner_are_limited(system: InMemorySystem, reads: Mock) -> None:
    packet = system.send()
    system.grab(packet, "ann")
    before = reads.call_count

    assert _refusals(system, packet, "ann", BURST + 5) == [errors.RateLimited] * 5
    per_repeat = (reads.call_count - before) / BURST
    assert per_repeat == int(per_repeat) <= 2
    assert system.grab(packet, "bob").is_new


def test_claims_themselves_are_not_counted(system: InMemorySystem) -> None:
    for _ in range(BURST + 3):
        assert system.grab(system.send(), "ann").is_new


def test_losers_of_an_emptied_packet_are_not_counted(system: InMemorySystem) -> None:
    packet = system.send(count=1)
    system.grab(packet, "ann")

    assert _refusals(system, packet, "bob", BURST + 5) == [PacketEmptied] * (BURST + 5)


def test_loads_are_limited_and_a_refused_one_does_not_delay_others(
    system: InMemorySystem, reads: Mock
) -> None:
    unknown = a_packet()

    refusals = _refusals(system, unknown, "ann", BURST + 5)

    assert refusals == [PacketNotFound] * BURST + [errors.RateLimited] * 5
    assert reads.call_count == BURST
    began_at_ms = system.clock.now_ms()
    assert _refusals(system, unknown, "bob", 1) == [PacketNotFound]
    assert system.clock.now_ms() == began_at_ms


def test_refusals_that_must_be_looked_up_are_limited(system: InMemorySystem) -> None:
    packet = system.send()
    system.memory.fail_over(system.memory.snapshot())
    system.pass_time(61_000)

    refusals = _refusals(system, packet, "ann", BURST + 2)

    assert refusals == [PacketExpired] * BURST + [errors.RateLimited] * 2


def test_counts_of_a_full_quota_are_limited(system: InMemorySystem) -> None:
    campaign = system.rain(quota_per_user=1)
    first, second = (system.send_of(campaign) for _ in range(2))
    # A grab of the first packet is in progress: it reserved a share, which is not durable yet.
    system.quotas.reserve(Quota(campaign.campaign_id, 1), "ann", first.packet_id)
    for _ in range(BURST):
        system.limits.take(system.grab_limit, "ann")

    assert _refusals(system, second, "ann", 2) == [errors.RateLimited] * 2


def _looks(system: InMemorySystem, monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Return a mock that counts the ledger reads that look for a user's share."""
    counted = Mock(wraps=system.packets.find_share_of)
    monkeypatch.setattr(type(system.packets), "find_share_of", counted)
    return counted


def test_a_late_grab_of_an_expired_packet_costs_no_read(
    system: InMemorySystem, reads: Mock
) -> None:
    packet = system.send()
    system.grab(packet, "ann")
    before = reads.call_count
    system.pass_time(61_000)

    assert _refusals(system, packet, "bob", BURST + 5) == [PacketExpired] * (BURST + 5)
    assert reads.call_count == before


def test_a_late_grab_of_a_closed_packet_costs_no_read_after_a_failover(
    system: InMemorySystem, reads: Mock
) -> None:
    packet = system.send()
    system.grab(packet, "ann")
    system.pass_time(61_000)
    system.settle()
    system.expire()
    before = reads.call_count
    system.memory.fail_over(system.memory.snapshot())

    assert _refusals(system, packet, "bob", BURST + 5) == [PacketExpired] * (BURST + 5)
    assert reads.call_count == before


@pytest.mark.parametrize("is_over", [False, True], ids=["same life", "another life"])
def test_refusals_of_a_paused_campaign_are_looked_up_only_after_a_failover(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch, *, is_over: bool
) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign)
    paused = replace(campaign, status=CampaignStatus.OFF)
    monkeypatch.setattr(type(system.campaigns), "find_campaign", lambda *_: paused)
    looks = _looks(system, monkeypatch)
    if is_over:
        system.memory.fail_over(system.memory.snapshot())

    assert _refusals(system, packet, "bob", BURST) == [CampaignPaused] * BURST
    assert looks.call_count == (BURST if is_over else 0)


def test_refusals_of_an_exhausted_quota_are_not_looked_up(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = system.rain(quota_per_user=1)
    first, second = (system.send_of(campaign) for _ in range(2))
    system.grab(first, "ann")
    looks = _looks(system, monkeypatch)

    assert set(_refusals(system, second, "ann", BURST)) == {QuotaExhausted}
    assert looks.call_count == 0


def test_the_one_reload_for_many_users_counts_for_the_user_who_causes_it(
    system: InMemorySystem,
) -> None:
    packets = [system.send(count=1) for _ in range(BURST + 1)]
    for packet in packets:
        system.grab(packet, "ann")
    system.settle()
    system.memory.fail_over(system.memory.snapshot())

    refusals = [_refusals(system, packet, "bob", 1) for packet in packets]

    assert refusals == [[PacketEmptied]] * BURST + [[errors.RateLimited]]
