from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.errors import CampaignPaused
from redpacket.campaigns.model import Campaign, CampaignStatus
from redpacket.campaigns.use_cases.cached_campaigns import KEPT_MS, CachedCampaigns
from redpacket.packets.errors import PacketEmptied, QuotaExhausted
from redpacket.packets.model.claim import EMPTIED_KEPT_MS, Admission, Quota
from redpacket.packets.model.packet import Opening, Packet
from redpacket.platform.errors import Unavailable
from testing.fakes import Away
from testing.in_memory_system import InMemorySystem


@pytest.fixture
def campaign(system: InMemorySystem) -> Campaign:
    return system.rain(quota_per_user=2)


def _packets(
    system: InMemorySystem, campaign: Campaign, number: int, **changes: Any
) -> list[Packet]:
    return [system.send_of(campaign, **changes) for _ in range(number)]


@pytest.fixture(autouse=True)
def _nobody_has_more_than_the_quota(system: InMemorySystem, campaign: Campaign) -> Iterator[None]:
    yield
    counts = system.ledger_state().claim_counts.items()
    assert all(count <= 2 for (counted, _), count in counts if counted == campaign.campaign_id)
    assert system.differences() == []


def test_a_user_takes_as_many_shares_as_the_quota_allows(
    system: InMemorySystem, campaign: Campaign
) -> None:
    first, second, third = _packets(system, campaign, 3)

    system.grab(first, "ann")
    system.grab(second, "ann")
    with pytest.raises(QuotaExhausted):
        system.grab(third, "ann")

    assert system.grab(first, "ann").is_new is False
    assert system.grab(third, "bob").is_new
    assert system.recorder.count_claims(campaign.campaign_id, "ann") == 2


def test_claims_over_the_quota_are_counted_once_and_take_no_number(
    system: InMemorySystem, campaign: Campaign
) -> None:
    first, second, third, fourth = _packets(system, campaign, 4)
    for packet in (first, second):
        system.grab(packet, "ann")
    calls: list[str] = []
    count_claims = system.recorder.count_claims

    def counted(campaign_id: str, user_id: str) -> int:
        calls.append(user_id)
        return count_claims(campaign_id, user_id)

    system.recorder.count_claims = counted  # type: ignore[method-assign]

    for packet in (third, fourth, third):
        with pytest.raises(QuotaExhausted):
            system.grab(packet, "ann")

    assert calls == ["ann"]
    assert system.memory.holders(third.packet_id) == {}


def test_a_flushed_cache_does_not_raise_a_quota(system: InMemorySystem, campaign: Campaign) -> None:
    first, second, third, fourth = _packets(system, campaign, 4, count=1)
    for packet in (first, second):
        system.grab(packet, "ann")
    system.reserved.forget()

    with pytest.raises(QuotaExhausted):
        system.grab(third, "ann")
    with pytest.raises(QuotaExhausted):
        system.grab(fourth, "ann")

    # A second later, another user gets the share number that ann held briefly.
    system.pass_time(EMPTIED_KEPT_MS)
    assert system.grab(third, "bob").share.share_no == 1
    assert system.memory.holders(fourth.packet_id) == {}


def test_a_user_with_a_full_quota_gets_a_share_that_the_cache_lost(
    system: InMemorySystem, campaign: Campaign
) -> None:
    first, second, third = _packets(system, campaign, 3)
    system.grab(first, "ann")
    before = system.memory.snapshot()
    claim = system.grab(second, "ann")
    with pytest.raises(QuotaExhausted):
        system.grab(third, "ann")
    system.memory.fail_over(before)

    again = system.grab(second, "ann")

    assert (again.share, again.is_new) == (claim.share, False)


def test_a_late_claim_does_not_count_against_the_quota(
    system: InMemorySystem, campaign: Campaign
) -> None:
    emptied, *others = _packets(system, campaign, 3, count=1)
    system.grab(emptied, "bob")
    # The packet still looked open when ann's request arrived.
    open_yet = system.memory.grab(others[0].packet_id, "ann")
    system.memory.grab = lambda *_: open_yet  # type: ignore[method-assign]
    with pytest.raises(PacketEmptied):
        system.grab(emptied, "ann")
    del system.memory.grab

    for packet in others:
        assert system.grab(packet, "ann").is_new


def test_a_reservation_left_by_a_crash_costs_no_share(
    system: InMemorySystem, campaign: Campaign
) -> None:
    quota = Quota(campaign.campaign_id, 2)
    system.quotas.reserve(quota, "ann", "one that was never claimed")
    system.quotas.reserve(quota, "ann", "another")

    for packet in _packets(system, campaign, 2):
        assert system.grab(packet, "ann").is_new


def test_a_claim_interrupted_before_the_ledger_counts_when_it_is_completed(
    system: InMemorySystem, campaign: Campaign
) -> None:
    first, second, third = _packets(system, campaign, 3)
    system.memory.take(first.packet_id, "ann", str(first.terms))  # her Lambda crashes

    for packet in (first, second):
        assert system.grab(packet, "ann").is_new
    with pytest.raises(QuotaExhausted):
        system.grab(third, "ann")


def test_a_share_found_by_an_admission_is_counted(
    system: InMemorySystem, campaign: Campaign
) -> None:
    first, *others = _packets(system, campaign, 3)
    packet = system.send_of(campaign, opening=Opening.TWO_STEP)
    admit = system.memory.admit

    def opened_meanwhile(packet_id: str, user_id: str, **how: Any) -> Any:
        system.memory.take(packet_id, user_id, str(packet.terms))  # its Lambda crashes
        return admit(packet_id, user_id, **how)

    system.memory.admit = opened_meanwhile  # type: ignore[method-assign]

    assert system.grab(packet, "ann").is_new
    assert system.grab(first, "ann").is_new
    for other in others:
        with pytest.raises(QuotaExhausted):
            system.grab(other, "ann")


def test_the_quota_counts_when_a_packet_is_opened(
    system: InMemorySystem, campaign: Campaign
) -> None:
    packets = _packets(system, campaign, 3, opening=Opening.TWO_STEP)
    tokens = []
    for packet in packets:
        admission = system.grab_or_enter(packet, "ann")
        assert isinstance(admission, Admission)
        tokens.append(admission.grab_token)

    for packet, token in list(zip(packets, tokens, strict=True))[:2]:
        assert system.open(packet, "ann", token).is_new
    with pytest.raises(QuotaExhausted):
        system.open(packets[2], "ann", tokens[2])


def test_a_campaign_without_a_quota_has_no_limit_and_a_later_quota_counts_all_shares(
    system: InMemorySystem,
) -> None:
    free = system.rain(campaign_id="free", quota_per_user=0)
    *taken, last = _packets(system, free, 5)
    for packet in taken:
        assert system.grab(packet, "ann").is_new
    limited = replace(free, quota_per_user=1, version=free.version + 1)
    assert system.campaigns.edit(limited, free)

    with pytest.raises(QuotaExhausted):
        system.grab(last, "ann")


def test_a_paused_campaign_gives_only_shares_that_are_already_owned(system: InMemorySystem) -> None:
    campaign = system.rain(campaign_id="paused")
    first, second = _packets(system, campaign, 2)
    (in_two_steps,) = _packets(system, campaign, 1, opening=Opening.TWO_STEP)
    nobody_knows = system.memory.snapshot()
    claim = system.grab(first, "ann")
    system.edit_campaign(replace(campaign.plan, status=CampaignStatus.OFF))

    for packet in (second, in_two_steps):
        with pytest.raises(CampaignPaused):
            system.grab_or_enter(packet, "ann")
    assert system.grab(first, "ann").share == claim.share
    system.memory.fail_over(nobody_knows)
    assert system.grab(first, "ann").share == claim.share


def test_a_campaign_is_cached_for_seconds_and_while_the_store_is_unavailable(
    system: InMemorySystem,
) -> None:
    campaign = system.rain(campaign_id="known")

    recalled = CachedCampaigns(system.campaigns, clock=system.clock, logger=system.logger)
    assert recalled.get("known") == campaign
    recalled._campaigns = Away()

    assert recalled.get("known") == campaign
    system.pass_time(KEPT_MS)
    assert recalled.get("known") == campaign
    assert [name for name, _ in system.logger.errors] == ["campaign_not_read"]
    with pytest.raises(Unavailable):
        recalled.get("another")


def test_an_edit_takes_effect_within_seconds_in_a_process_that_cached_the_campaign(
    system: InMemorySystem, campaign: Campaign
) -> None:
    cached_campaigns = CachedCampaigns(system.campaigns, clock=system.clock, logger=system.logger)
    cached_campaigns.get(campaign.campaign_id)

    system.edit_campaign(replace(campaign.plan, quota_per_user=5))
    system.pass_time(KEPT_MS - 1)
    before = cached_campaigns.get(campaign.campaign_id)
    system.pass_time(1)
    after = cached_campaigns.get(campaign.campaign_id)

    assert (before.quota_per_user, after.quota_per_user) == (2, 5)
