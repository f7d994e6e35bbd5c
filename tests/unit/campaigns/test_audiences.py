"""Audience of a campaign: a list of users, or claims in users' tokens."""

from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.dynamodb import keys as campaign_keys
from redpacket.campaigns.errors import CampaignNotFound, CampaignPaused, NotInAudience
from redpacket.campaigns.model import AudienceMode, Campaign, CampaignStatus, audience_bucket, meets
from redpacket.campaigns.use_cases.edit_audience import Audience
from redpacket.packets.errors import PacketEmptied
from redpacket.packets.model.claim import Admission
from redpacket.packets.model.packet import Opening
from redpacket.platform import errors
from redpacket.platform.dynamodb.client import to_wire
from redpacket.platform.user import User
from testing.builders import a_campaign, a_prize
from testing.fakes import FakeTable
from testing.in_memory_system import InMemorySystem, an_operator

ALLOW, DENY = AudienceMode.ALLOW, AudienceMode.DENY


@pytest.fixture
def campaign(system: InMemorySystem) -> Campaign:
    return system.rain(quota_per_user=0)


def _edit(
    system: InMemorySystem,
    campaign: Campaign,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    mode: AudienceMode | None = None,
) -> Audience:
    edited: Audience = system.process().edit_audience(
        campaign.campaign_id, add or [], remove or [], mode, bool, an_operator()
    )
    return edited


# ---- the list


def test_two_concurrent_edits_count_a_user_once(system: InMemorySystem, campaign: Campaign) -> None:
    system.before_first_transaction(lambda _: _edit_beside(system, campaign, ["bob", "cat"]))

    assert _edit(system, campaign, add=["ann", "bob"]).size == 3


def _edit_beside(system: InMemorySystem, campaign: Campaign, add: list[str]) -> None:
    system.audience_rows.edit(campaign.campaign_id, add, [])


def test_a_list_has_at_most_a_million_users(system: InMemorySystem, campaign: Campaign) -> None:
    _edit(system, campaign, add=["ann"])
    rows: FakeTable = system.dynamo.tables["audience"]
    rows[f"audience#{campaign.campaign_id}", "size"]["member_count"] = {"N": "999999"}

    assert _edit(system, campaign, add=["bob"]).size == 1_000_000
    with pytest.raises(errors.InvalidRequest):
        _edit(system, campaign, add=["cat"])
    assert _edit(system, campaign, add=["ann", "bob"]).size == 1_000_000


def test_a_user_cannot_be_added_and_removed_in_one_edit_nor_without_a_campaign(
    system: InMemorySystem, campaign: Campaign
) -> None:
    with pytest.raises(errors.InvalidRequest):
        _edit(system, campaign, add=["ann", "bob"], remove=["ann"])
    assert _edit(system, campaign).size == 0

    with pytest.raises(CampaignNotFound):
        _edit(system, a_campaign(), add=["ann"])


def test_an_edit_of_the_campaign_leaves_its_list_unchanged(
    system: InMemorySystem, campaign: Campaign
) -> None:
    _edit(system, campaign, add=["ann"], mode=ALLOW)

    system.edit_campaign(replace(campaign.plan, title="灯会"))

    assert _edit(system, campaign) == Audience(1, ALLOW)


# ---- grabs


@pytest.mark.parametrize("quota", [0, 2])
def test_a_list_has_no_effect_before_its_use_is_set(system: InMemorySystem, quota: int) -> None:
    campaign = system.rain(quota_per_user=quota)
    packet = system.send_of(campaign)
    assert _edit(system, campaign, add=["ann"]) == Audience(1, None)

    assert system.grab(packet, "bob").is_new

    assert _edit(system, campaign, mode=ALLOW) == Audience(1, ALLOW)
    with pytest.raises(NotInAudience):
        system.grab(packet, "cat")


@pytest.mark.parametrize("quota", [0, 2])
@pytest.mark.parametrize(
    ("mode", "claimer", "refused"), [(ALLOW, "ann", "bob"), (DENY, "bob", "ann")]
)
def test_only_members_of_the_audience_get_a_share(
    system: InMemorySystem, mode: AudienceMode, claimer: str, refused: str, quota: int
) -> None:
    campaign = system.rain(quota_per_user=quota)
    packet = system.send_of(campaign)
    _edit(system, campaign, add=["ann"], mode=mode)

    with pytest.raises(NotInAudience):
        system.grab(packet, refused)
    assert system.grab(packet, claimer).share.share_no == 1
    with pytest.raises(NotInAudience):
        system.grab(packet, refused)

    assert set(system.memory.holders(packet.packet_id)) == {claimer}


def test_an_emptied_packet_and_a_paused_campaign_are_reported_to_all_users(
    system: InMemorySystem, campaign: Campaign
) -> None:
    packet = system.send_of(campaign, count=1)
    _edit(system, campaign, add=["ann"], mode=ALLOW)
    system.grab(packet, "ann")
    with pytest.raises(PacketEmptied):
        system.grab(packet, "bob")
    other = system.send_of(campaign)
    system.edit_campaign(replace(campaign.plan, status=CampaignStatus.OFF))

    with pytest.raises(CampaignPaused):
        system.grab(other, "bob")


def test_users_outside_the_list_are_not_admitted_and_open_nothing(
    system: InMemorySystem, campaign: Campaign
) -> None:
    packet = system.send_of(campaign, opening=Opening.TWO_STEP)
    _edit(system, campaign, add=["ann"], mode=ALLOW)

    with pytest.raises(NotInAudience):
        system.grab_or_enter(packet, "bob")
    entered = system.grab_or_enter(packet, "ann")
    assert isinstance(entered, Admission)
    _edit(system, campaign, remove=["ann"])
    with pytest.raises(NotInAudience):
        system.open(packet, "ann", entered.grab_token)


def test_the_owner_of_a_share_keeps_it_and_gets_it_again(
    system: InMemorySystem, campaign: Campaign
) -> None:
    packet = system.send_of(campaign)
    before = system.memory.snapshot()
    claim = system.grab(packet, "ann")
    _edit(system, campaign, add=["ann"], mode=DENY)

    assert system.grab(packet, "ann").share == claim.share
    # The owner gets the share even if the cache has lost it.
    system.memory.fail_over(before)
    assert system.grab(packet, "ann").share == claim.share


@pytest.mark.parametrize("quota", [0, 2])
@pytest.mark.parametrize(("mode", "edit"), [(ALLOW, "remove"), (DENY, "add")])
def test_a_wrong_list_in_the_cache_gives_no_share(
    system: InMemorySystem, mode: AudienceMode, edit: str, quota: int
) -> None:
    campaign = system.rain(quota_per_user=quota)
    packet = system.send_of(campaign)
    others = ["ann", "bob"] if mode is ALLOW else []
    _edit(system, campaign, add=others, mode=mode)
    system.grab(packet, "bob")
    process = system.process()
    process.load_audience(campaign.campaign_id, audience_bucket("ann"))
    # The edit is stored in the table, but the cache lost it.
    change = ([], ["ann"]) if edit == "remove" else (["ann"], [])
    system.audience_rows.edit(campaign.campaign_id, *change)

    with pytest.raises(NotInAudience):
        system.grab(packet, "ann")

    # The share number is free for another user, and the quota has room for another packet.
    assert set(system.memory.holders(packet.packet_id)) == {"bob"}
    assert not system.reserved.reserved.get((campaign.campaign_id, "ann"))
    assert system.recorder.count_claims(campaign.campaign_id, "ann") == 0


@pytest.mark.parametrize("quota", [0, 2])
def test_one_of_many_callers_loads_a_lost_list(system: InMemorySystem, quota: int) -> None:
    campaign = system.rain(quota_per_user=quota)
    packet = system.send_of(campaign)
    _edit(system, campaign, add=["ann"], mode=ALLOW)
    system.audiences.forget()
    bucket = campaign.campaign_id, audience_bucket("ann")
    system.audiences.begin_load(*bucket, 2_000)

    with pytest.raises(errors.Unavailable):
        system.grab(packet, "ann")
    system.audiences.turns.clear()

    assert system.grab(packet, "ann").is_new
    assert system.audiences.lists[bucket] == {"ann"}


def test_a_load_that_an_edit_overtakes_is_discarded(
    system: InMemorySystem, campaign: Campaign
) -> None:
    packet = system.send_of(campaign)
    _edit(system, campaign, mode=ALLOW)
    list_members = system.audience_rows.list_members

    def overtaken(campaign_id: str, bucket: int) -> list[str]:
        members = list_members(campaign_id, bucket)
        system.audience_rows.list_members = list_members  # type: ignore[method-assign]
        _edit(system, campaign, add=["ann"])
        return members

    system.audience_rows.list_members = overtaken  # type: ignore[method-assign]

    with pytest.raises(errors.Unavailable):
        system.grab(packet, "ann")
    assert system.grab(packet, "ann").is_new


def test_a_preheat_loads_the_list(system: InMemorySystem, campaign: Campaign) -> None:
    _edit(system, campaign, add=["ann", "bob"], mode=ALLOW)

    system.preheat(campaign.campaign_id)

    assert len(system.audiences.lists) == 256
    assert set().union(*system.audiences.lists.values()) == {"ann", "bob"}


def test_a_preheat_without_time_loads_no_list(system: InMemorySystem, campaign: Campaign) -> None:
    _edit(system, campaign, add=["ann"], mode=ALLOW)
    system.audiences.lists.clear()

    system.process().preheat_campaign(campaign.campaign_id, None, 0)

    assert system.audiences.lists == {}


# ---- claims in the token


GOLD = (("grade", ("gold", "platinum")),)


def test_a_token_has_one_of_the_values_of_each_claim() -> None:
    met: list[Any] = ["gold", "[silver platinum]", ["silver", "gold"]]
    not_met: list[Any] = ["silver", "[silver]", "", None]
    for grade in (*met, *not_met):
        assert meets(GOLD, {"grade": grade}) is (grade in met), grade
        assert not meets((*GOLD, ("region", ("sh",))), {"grade": grade})
        assert meets((), {"grade": grade})
    assert not meets(GOLD, {})


def test_numbers_and_booleans_of_a_token_are_compared_as_text() -> None:
    assert meets((("level", ("3",)), ("is_staff", ("true",))), {"level": "3", "is_staff": "true"})


def test_an_unverified_email_address_meets_no_required_claim() -> None:
    required = (("email", ("cfo@corp.example",)),)
    claims = {"email": "cfo@corp.example"}

    assert meets(required, claims)
    assert meets(required, {**claims, "email_verified": "true"})
    assert not any(meets(required, {**claims, "email_verified": no}) for no in (False, "false"))


def test_only_tokens_with_the_claim_get_a_share_and_draw(system: InMemorySystem) -> None:
    campaign = system.rain(quota_per_user=0, required_claims=GOLD, miss_weight=10)
    campaign_id, process = campaign.campaign_id, system.process()
    packet = system.send_of(campaign)
    system.load_campaign(campaign_id)
    silver, gold = (User("ann", claims={"grade": grade}) for grade in ("silver", "gold"))

    with pytest.raises(NotInAudience):
        process.grab_packet(packet.packet_id, silver, None)
    with pytest.raises(NotInAudience):
        process.draw_prize(campaign_id, silver, "one")

    claim: Any = process.grab_packet(packet.packet_id, gold, None)
    assert claim.is_new
    assert system.process().draw_prize(campaign_id, gold, "one").draw.draw_no == 1


# ---- draws


@pytest.fixture
def lottery(system: InMemorySystem) -> Campaign:
    campaign = system.rain(miss_weight=10)
    system.put_prize(a_prize(campaign.campaign_id, total=100))
    system.load_campaign(campaign.campaign_id)
    return campaign


def test_only_listed_users_draw(system: InMemorySystem, lottery: Campaign) -> None:
    campaign_id = lottery.campaign_id
    _edit(system, lottery, add=["ann"], mode=ALLOW)
    forged = {**campaign_keys.member(campaign_id, "bob"), "is_member": "yes"}
    system.dynamo.put_item(TableName="audience", Item=to_wire(forged))

    with pytest.raises(NotInAudience):
        system.draw(campaign_id, "bob", "one")
    result = system.draw(campaign_id, "ann", "one")
    _edit(system, lottery, remove=["ann"])

    # An earlier draw stays valid.
    assert system.draw(campaign_id, "ann", "one").draw == result.draw
    with pytest.raises(NotInAudience):
        system.draw(campaign_id, "ann", "two")


def test_a_process_that_missed_the_edit_lets_no_other_user_draw(
    system: InMemorySystem, lottery: Campaign
) -> None:
    campaign_id, process = lottery.campaign_id, system.process()
    ann, bob = (User(name, None, name) for name in ("ann", "bob"))
    assert process.draw_prize(campaign_id, bob, "one").draw.draw_no == 1
    _edit(system, lottery, add=["ann"], mode=ALLOW)

    with pytest.raises(NotInAudience):
        process.draw_prize(campaign_id, bob, "two")
    assert process.draw_prize(campaign_id, ann, "one").draw.draw_no == 1


def test_a_denied_user_cannot_draw_and_a_paused_lottery_is_paused_for_all(
    system: InMemorySystem, lottery: Campaign
) -> None:
    _edit(system, lottery, add=["ann"], mode=DENY)

    with pytest.raises(NotInAudience):
        system.draw(lottery.campaign_id, "ann", "one")
    assert system.draw(lottery.campaign_id, "bob", "one").draw.draw_no == 1
    system.edit_campaign(replace(lottery.plan, status=CampaignStatus.OFF))
    system.load_campaign(lottery.campaign_id)
    with pytest.raises(CampaignPaused):
        system.draw(lottery.campaign_id, "ann", "one")
