from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from redpacket.domain.campaign import Campaign, CampaignStatus
from redpacket.domain.claim import EMPTIED_KEPT_MS, Admission, Quota
from redpacket.domain.errors import CampaignPaused, PacketEmptied, QuotaExhausted, Unavailable
from redpacket.domain.packet import Opening, Packet, Rules
from redpacket.flows.packets.recall_campaign import KEPT_MS, RecalledCampaigns
from tests.builders import a_campaign
from tests.town import Town


@pytest.fixture
def campaign(town: Town) -> Campaign:
    return _made(town, quota_per_user=2)


def _made(town: Town, **changes: Any) -> Campaign:
    now_ms = town.clock.now_ms()
    campaign = a_campaign(starts_at_ms=now_ms, ends_at_ms=now_ms + 3_600_000, **changes)
    assert town.campaigns.create(campaign)
    return campaign


def _packets(town: Town, campaign: Campaign, number: int, **changes: Any) -> list[Packet]:
    rules = Rules(
        campaign_id=campaign.campaign_id, opening=changes.pop("opening", Opening.ONE_STEP)
    )
    return [town.send(rules=rules, campaign=campaign, **changes) for _ in range(number)]


@pytest.fixture(autouse=True)
def _nobody_has_more_than_the_quota(town: Town, campaign: Campaign) -> Iterator[None]:
    yield
    counts = town.world().claim_counts.items()
    assert all(count <= 2 for (counted, _), count in counts if counted == campaign.campaign_id)
    assert town.differences() == []


def test_a_user_takes_as_many_shares_as_the_quota(town: Town, campaign: Campaign) -> None:
    first, second, third = _packets(town, campaign, 3)

    town.grab(first, "ann")
    town.grab(second, "ann")
    with pytest.raises(QuotaExhausted):
        town.grab(third, "ann")

    assert town.grab(first, "ann").is_new is False
    assert town.grab(third, "bob").is_new
    assert town.packets.count_claims(campaign.campaign_id, "ann") == 2


def test_the_claims_of_who_has_had_enough_are_counted_once_and_take_no_number(
    town: Town, campaign: Campaign
) -> None:
    first, second, third, fourth = _packets(town, campaign, 4)
    for packet in (first, second):
        town.grab(packet, "ann")
    asked: list[str] = []
    count_claims = town.packets.count_claims

    def counted(campaign_id: str, user_id: str) -> int:
        asked.append(user_id)
        return count_claims(campaign_id, user_id)

    town.packets.count_claims = counted  # type: ignore[method-assign]

    for packet in (third, fourth, third):
        with pytest.raises(QuotaExhausted):
            town.grab(packet, "ann")

    assert asked == ["ann"]
    assert town.memory.holders(third.packet_id) == {}


def test_a_cache_that_forgot_everything_gives_nobody_more(town: Town, campaign: Campaign) -> None:
    first, second, third, fourth = _packets(town, campaign, 4, count=1)
    for packet in (first, second):
        town.grab(packet, "ann")
    town.reserved.forget()

    with pytest.raises(QuotaExhausted):
        town.grab(third, "ann")
    with pytest.raises(QuotaExhausted):
        town.grab(fourth, "ann")

    # The number that she held for a moment is there for somebody else, a second later.
    town.pass_time(EMPTIED_KEPT_MS)
    assert town.grab(third, "bob").share.share_no == 1
    assert town.memory.holders(fourth.packet_id) == {}


def test_who_has_had_enough_hears_of_a_share_that_the_cache_forgot(
    town: Town, campaign: Campaign
) -> None:
    first, second, third = _packets(town, campaign, 3)
    town.grab(first, "ann")
    before = town.memory.snapshot()
    claim = town.grab(second, "ann")
    with pytest.raises(QuotaExhausted):
        town.grab(third, "ann")
    town.memory.fail_over(before)

    again = town.grab(second, "ann")

    assert (again.share, again.is_new) == (claim.share, False)


def test_a_claim_that_comes_too_late_costs_no_quota(town: Town, campaign: Campaign) -> None:
    emptied, *others = _packets(town, campaign, 3, count=1)
    town.grab(emptied, "bob")
    # It looked open when ann came.
    open_yet = town.memory.grab(others[0].packet_id, "ann")
    town.memory.grab = lambda *_: open_yet  # type: ignore[method-assign]
    with pytest.raises(PacketEmptied):
        town.grab(emptied, "ann")
    del town.memory.grab

    for packet in others:
        assert town.grab(packet, "ann").is_new


def test_a_reservation_that_a_crash_left_behind_costs_no_share(
    town: Town, campaign: Campaign
) -> None:
    quota = Quota(campaign.campaign_id, 2)
    town.quotas.reserve(quota, "ann", "one that was never claimed")
    town.quotas.reserve(quota, "ann", "another")

    for packet in _packets(town, campaign, 2):
        assert town.grab(packet, "ann").is_new


def test_a_claim_that_was_cut_off_before_the_ledger_counts_when_it_is_completed(
    town: Town, campaign: Campaign
) -> None:
    first, second, third = _packets(town, campaign, 3)
    town.memory.take(first.packet_id, "ann", str(first.terms))  # and her Lambda dies

    for packet in (first, second):
        assert town.grab(packet, "ann").is_new
    with pytest.raises(QuotaExhausted):
        town.grab(third, "ann")


def test_the_quota_counts_when_a_packet_is_opened(town: Town, campaign: Campaign) -> None:
    packets = _packets(town, campaign, 3, opening=Opening.TWO_STEP)
    tokens = []
    for packet in packets:
        admission = town.grab_or_enter(packet, "ann")
        assert isinstance(admission, Admission)
        tokens.append(admission.grab_token)

    for packet, token in list(zip(packets, tokens, strict=True))[:2]:
        assert town.open(packet, "ann", token).is_new
    with pytest.raises(QuotaExhausted):
        town.open(packets[2], "ann", tokens[2])


def test_a_campaign_without_a_quota_limits_nobody(town: Town) -> None:
    for packet in _packets(town, _made(town, campaign_id="free", quota_per_user=0), 4):
        assert town.grab(packet, "ann").is_new


def test_a_quota_that_is_set_later_counts_what_was_taken_before(town: Town) -> None:
    before = _made(town, campaign_id="later", quota_per_user=0)
    first, second = _packets(town, before, 2)
    town.grab(first, "ann")
    limited = replace(before, quota_per_user=1, version=before.version + 1)
    assert town.campaigns.edit(limited, before)

    with pytest.raises(QuotaExhausted):
        town.grab(second, "ann")


def test_a_campaign_that_is_off_gives_nothing_but_known_shares(town: Town) -> None:
    campaign = _made(town, campaign_id="paused")
    first, second = _packets(town, campaign, 2)
    (in_two_steps,) = _packets(town, campaign, 1, opening=Opening.TWO_STEP)
    nobody_knows = town.memory.snapshot()
    claim = town.grab(first, "ann")
    off = a_campaign(
        campaign_id="paused",
        starts_at_ms=campaign.starts_at_ms,
        ends_at_ms=campaign.ends_at_ms,
        status=CampaignStatus.OFF,
        version=campaign.version + 1,
    )
    before = town.campaigns.find_campaign("paused")
    assert before
    assert town.campaigns.edit(off, before)

    for packet in (second, in_two_steps):
        with pytest.raises(CampaignPaused):
            town.grab_or_enter(packet, "ann")
    assert town.grab(first, "ann").share == claim.share
    town.memory.fail_over(nobody_knows)
    assert town.grab(first, "ann").share == claim.share


def test_a_campaign_is_remembered_for_seconds_and_while_the_store_is_away(town: Town) -> None:
    campaign = _made(town, campaign_id="known")

    class Away:
        is_away = False

        def find_campaign(self, campaign_id: str) -> Campaign | None:
            if self.is_away:
                raise Unavailable("away")
            return town.campaigns.find_campaign(campaign_id)

    store = Away()
    recalled = RecalledCampaigns(store, clock=town.clock, journal=town.journal)  # type: ignore[arg-type]
    assert recalled.recall("known") == campaign
    store.is_away = True

    assert recalled.recall("known") == campaign
    town.pass_time(KEPT_MS)
    assert recalled.recall("known") == campaign
    assert [name for name, _ in town.journal.errors] == ["campaign_not_read"]
    with pytest.raises(Unavailable):
        recalled.recall("another")
