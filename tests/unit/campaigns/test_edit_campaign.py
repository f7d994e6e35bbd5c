from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.errors import CampaignEnded, CampaignNotFound, CampaignPaused
from redpacket.campaigns.model import Campaign, CampaignStatus, check_campaign_id, is_timezone
from redpacket.ledger.errors import InsufficientFunds
from redpacket.lottery.use_cases.preheat_campaign import Preheated
from redpacket.packets.errors import PacketNotStarted
from redpacket.packets.model.picture import picture_of
from redpacket.packets.split import Split
from redpacket.platform import errors
from testing.builders import NOW_MS, a_campaign
from testing.fakes import Away
from testing.in_memory_system import LIFE_MS, InMemorySystem, an_order
from testing.operations.office import Office
from testing.pictures import jpeg
from testing.platform.fake_tables import LateCopy

DAY_MS = 24 * 3_600_000


class Desk(Office):
    """Operator who may spend campaign budgets."""

    def made(self, **changes: Any) -> Campaign:
        self.campaign = a_campaign(**changes)
        assert self.system.campaigns.create(self.campaign)
        return self.campaign

    def preheat(
        self, campaign: Campaign, cursor: str | None = None, within_ms: int = 20_000
    ) -> Preheated:
        preheated = self.system.process().preheat_campaign(
            campaign.campaign_id, cursor, self.system.clock.now_ms() + within_ms
        )
        assert isinstance(preheated, Preheated)
        return preheated

    def in_shards(self, campaign: Campaign) -> str:
        """Send a packet with three shards, and remove it from the cache."""
        self.system.shard_share_count = 4
        packet = self.system.send("operator", campaign=campaign, count=12)
        self.system.memory.caches.clear()
        return packet.packet_id


@pytest.fixture
def office(system: InMemorySystem) -> Desk:
    return Desk(system, a_campaign())


def test_a_campaign_id_is_a_slug() -> None:
    for campaign_id in ("rain", "spring-2027", "1", "a_b", "a" * 63):
        assert check_campaign_id(campaign_id) == campaign_id
    for other in ("", "Rain", "-rain", "a" * 64, "{rain}", "ra#in", "rain\n", "雨", "thanks"):
        with pytest.raises(CampaignNotFound):
            check_campaign_id(other)


def test_only_places_have_a_time_zone() -> None:
    assert all(map(is_timezone, ("Asia/Shanghai", "UTC", "America/Argentina/Ushuaia")))
    others = ("", "Asia", "Asia/Atlantis", "localtime", "../etc/passwd", "Asia/../UTC", "CST8")
    assert not any(map(is_timezone, (*others, "+08:00")))


# ---- edits


def test_the_first_edit_creates_and_the_next_one_edits(office: Desk) -> None:
    plan = office.campaign

    created, is_new = office.edit(plan, 500)
    edited, is_new_again = office.edit(replace(plan, title="new"))

    assert (is_new, is_new_again) == (True, False)
    assert (created.version, created.budget_fen, created.budget_left_fen) == (1, 500, 500)
    assert edited == replace(created, title="new", version=2)
    assert office.stored() == edited


def test_a_campaign_has_no_budget_by_default(office: Desk) -> None:
    created, _ = office.edit(a_campaign())

    assert (created.budget_fen, created.budget_left_fen) == (0, 0)


def test_an_edit_of_another_version_than_it_names_is_refused(office: Desk) -> None:
    with pytest.raises(errors.VersionConflict):
        office.edit(a_campaign(), version=1)
    campaign = office.made(version=2)

    for version in (1, 3):
        with pytest.raises(errors.VersionConflict):
            office.edit(replace(campaign, title="new"), version=version)

    assert office.stored() == campaign
    assert office.edit(replace(campaign, title="new"), version=2)[0].version == 3


def test_a_conflicting_edit_is_applied_on_top_of_the_other_unless_it_names_a_version(
    office: Desk,
) -> None:
    campaign = office.made()
    other = Desk(office.system, campaign)
    office.meet(lambda: other.edit(replace(campaign, title="other")), "SET budget")
    with pytest.raises(errors.VersionConflict):
        office.edit(replace(campaign, title="new"), version=1)
    office.meet(lambda: other.edit(replace(campaign, title="another")), "SET budget")

    edited, _ = office.edit(replace(campaign, title="new"))

    assert (edited.title, edited.version) == ("new", 4)


def test_a_budget_cannot_be_lowered_below_the_amount_in_packets(office: Desk) -> None:
    campaign = office.made()
    office.system.send("operator", total_fen=4_000, campaign=campaign)

    with pytest.raises(errors.InvalidRequest) as refused:
        office.edit(campaign, 3_999)

    assert refused.value.errors == [
        {
            "field": "budget_fen",
            "message": "must be at least 4000, the fen that are already in packets",
        }
    ]
    lowered, _ = office.edit(campaign, 4_000)
    assert (lowered.budget_fen, lowered.budget_left_fen) == (4_000, 0)
    raised, _ = office.edit(campaign, 9_000)
    assert (raised.budget_fen, raised.budget_left_fen) == (9_000, 5_000)
    kept, _ = office.edit(campaign)
    assert (kept.budget_fen, kept.budget_left_fen) == (9_000, 5_000)


def test_an_edit_returns_the_current_remaining_budget(office: Desk) -> None:
    campaign = office.made()
    office.meet(
        lambda: office.system.send("operator", campaign=campaign, total_fen=6_000), "SET budget"
    )

    edited, _ = office.edit(replace(campaign, title="new"))

    assert edited.budget_left_fen == 4_000
    assert edited == office.stored()


@pytest.mark.parametrize(("version", "version_after"), [(1, 2), (2, 3), (None, 3)])
def test_the_repeat_of_an_edit_returns_the_first_result(
    office: Desk, version: int | None, version_after: int
) -> None:
    campaign = office.made()
    plan = replace(campaign, title="new")
    first, _ = office.edit(plan, 9_000, 1)

    again, is_new = office.edit(plan, 9_000, version)

    assert (again, is_new) == (replace(first, version=version_after), False)
    # A different body makes it another edit, whose version is outdated.
    for plan_2, budget_fen in ((replace(plan, title="newer"), 9_000), (plan, 8_000)):
        with pytest.raises(errors.VersionConflict):
            office.edit(plan_2, budget_fen, 1)


# ---- packets of a campaign


def test_a_packet_lives_as_long_as_its_campaign(office: Desk) -> None:
    campaign = office.made(starts_at_ms=NOW_MS + 1_000, ends_at_ms=NOW_MS + 30 * DAY_MS)

    packet = office.system.send("operator", campaign=campaign, life_ms=None)

    assert packet.rules.campaign_id == campaign.campaign_id
    assert (packet.starts_at_ms, packet.expires_at_ms) == (
        campaign.starts_at_ms,
        campaign.ends_at_ms,
    )
    assert office.system.packets.find_packet(packet.packet_id) == packet


def test_a_packet_of_a_running_campaign_starts_now_and_may_end_earlier(office: Desk) -> None:
    campaign = office.made()

    short = office.system.send("operator", campaign=campaign)
    long = office.system.send("operator", campaign=campaign, life_ms=9 * DAY_MS)

    assert (short.starts_at_ms, short.expires_at_ms) == (NOW_MS, NOW_MS + LIFE_MS)
    assert (long.starts_at_ms, long.expires_at_ms) == (NOW_MS, campaign.ends_at_ms)


def test_claims_before_the_start_are_refused(office: Desk) -> None:
    campaign = office.made(starts_at_ms=NOW_MS + 1_000)
    packet = office.system.send("operator", campaign=campaign, life_ms=None)

    with pytest.raises(PacketNotStarted):
        office.system.grab(packet, "ann")

    office.system.pass_time(1_000)
    assert office.system.grab(packet, "ann").is_new


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"status": CampaignStatus.OFF}, CampaignPaused),
        ({"ends_at_ms": NOW_MS}, CampaignEnded),
        ({"budget_left_fen": 999}, InsufficientFunds),
    ],
    ids=str,
)
def test_an_inactive_campaign_refuses_a_new_packet_and_returns_an_old_one(
    office: Desk, changes: dict[str, Any], refusal: type[Exception]
) -> None:
    campaign = office.made()
    office.system.deposit("operator", 5_000)
    order = an_order("operator", campaign=campaign)
    sent = office.system.send_order(order)
    now = replace(campaign, version=2, **{"budget_left_fen": 9_000, **changes})
    if "budget_left_fen" in changes:
        now = replace(now, budget_fen=campaign.budget_fen - 8_001)
    assert office.system.campaigns.edit(now, campaign)
    later = replace(order, campaign=office.stored())

    with pytest.raises(refusal):
        office.system.send_order(replace(later, request=replace(order.request, key_hash="new")))

    assert office.system.send_order(later) == sent
    assert office.system.balance_fen("operator") == 4_000
    assert office.stored().budget_left_fen == now.budget_left_fen


def test_refunds_go_to_the_operator_and_not_to_the_budget(office: Desk) -> None:
    campaign = office.made()
    packet = office.system.send("operator", campaign=campaign)
    taken_fen = office.system.grab(packet, "ann").share.amount_fen
    office.system.settle()
    office.system.pass_time(LIFE_MS)

    office.system.expire()

    assert office.system.balance_fen("operator") == 1_000 - taken_fen
    stored = office.stored()
    assert (stored.budget_fen, stored.budget_left_fen) == (10_000, 9_000)
    assert office.system.differences() == []


def test_the_first_share_of_a_million_is_claimed(office: Desk) -> None:
    campaign = office.made(budget_fen=10**9, budget_left_fen=10**9)
    packet = office.system.send(
        "operator", campaign=campaign, total_fen=10**8, count=10**6, split=Split.EQUAL
    )

    assert office.system.grab(packet, "ann").share.amount_fen == 100


# ---- preheat


def test_a_preheat_restores_data_that_the_cache_lost(office: Desk) -> None:
    campaign = office.made()
    packets = [office.system.send("operator", campaign=campaign) for _ in range(3)]
    first = office.system.grab(packets[0], "ann").share
    office.system.memory.caches.clear()

    assert office.preheat(campaign) == Preheated(3, 3, None)

    assert set(office.system.memory.caches) == {packet.packet_id for packet in packets}
    assert office.system.grab(packets[0], "ann").share == first
    assert office.system.grab(packets[0], "bob").share.share_no != first.share_no
    assert office.preheat(campaign) == Preheated(3, 3, None)


def test_a_preheat_loads_packets_that_a_send_could_not_load(office: Desk) -> None:
    system = office.system
    campaign = office.made()
    system.claim_cache = Away()
    packet = system.send("operator", campaign=campaign)

    assert office.preheat(campaign) == Preheated(1, 0, None)
    assert [name for name, _ in system.logger.errors] == ["packet_not_loaded", "preheat_failed"]
    system.claim_cache = system.memory

    assert office.preheat(campaign) == Preheated(1, 1, None)
    assert packet.packet_id in system.memory.caches
    assert system.work.list_unloaded(system.clock.now_ms(), 800) == []


def test_a_preheat_leaves_a_cover_that_a_send_could_not_store_to_the_sweep(office: Desk) -> None:
    system, picture_id = office.system, "p" * 22
    campaign = office.made()
    system.pictures.put(picture_id, picture_of(jpeg()), "operator")
    system.claim_cache = Away()
    # A send that cannot load the packet does not keep its cover.
    system.send(
        "operator", campaign=campaign, cover_url=f"https://share.example/pictures/{picture_id}"
    )
    system.claim_cache = system.memory

    assert office.preheat(campaign) == Preheated(1, 1, None)
    system.pass_time(61_000)
    system.sweep()

    assert system.pictures.kept == {picture_id}
    assert system.work.list_unloaded(system.clock.now_ms(), 800) == []


def test_a_preheat_that_runs_out_of_time_returns_where_to_continue(office: Desk) -> None:
    campaign = office.made()
    packets = [office.system.send("operator", campaign=campaign) for _ in range(3)]
    office.system.memory.caches.clear()

    first = office.preheat(campaign, within_ms=0)
    second = office.preheat(campaign, first.next_cursor, within_ms=0)
    third = office.preheat(campaign, second.next_cursor)

    ids = sorted(packet.packet_id for packet in packets)
    assert first == Preheated(1, 1, ids[0])
    assert second == Preheated(1, 1, ids[1])
    assert third == Preheated(1, 1, None)
    assert set(office.system.memory.caches) == set(ids)


def test_a_preheat_finds_packets_that_were_just_sent(office: Desk) -> None:
    campaign = office.made()
    office.system.dynamo.replicas = LateCopy(office.system.clock.now_ms, 60_000)
    office.system.send("operator", campaign=campaign)

    assert office.preheat(campaign) == Preheated(1, 1, None)


def test_a_preheat_continues_within_a_packet_of_several_shards(office: Desk) -> None:
    campaign = office.made()
    packet_id = office.in_shards(campaign)

    first = office.preheat(campaign, within_ms=0)
    second = office.preheat(campaign, first.next_cursor, within_ms=0)
    third = office.preheat(campaign, second.next_cursor)

    assert first == Preheated(0, 0, f"{packet_id}.0")
    assert second == Preheated(0, 0, f"{packet_id}.1")
    assert third == Preheated(1, 1, None)
    assert set(office.system.memory.caches) == {f"{packet_id}.{part}" for part in range(3)}


def test_a_cursor_of_another_campaign_or_behind_the_last_shard_loads_nothing(office: Desk) -> None:
    campaign = office.made()
    packet_id = office.in_shards(campaign)

    for part in (2, 99):
        assert office.preheat(campaign, f"{packet_id}.{part}") == Preheated(0, 0, None)
    for cursor in (f"{packet_id}.0", "AbCdEfGhIjKlMnOpQrStUv~3.0"):
        assert office.preheat(office.made(), cursor) == Preheated(0, 0, None)
    assert office.system.memory.caches == {}


def test_a_closed_packet_is_not_loaded_again(office: Desk) -> None:
    campaign = office.made()
    office.system.send("operator", campaign=campaign)
    office.system.pass_time(LIFE_MS)
    office.system.expire()
    office.system.memory.caches.clear()

    assert office.preheat(campaign) == Preheated(0, 0, None)
    assert office.system.memory.caches == {}


def test_a_preheat_of_an_unknown_campaign_is_refused(office: Desk) -> None:
    with pytest.raises(CampaignNotFound):
        office.preheat(a_campaign())


def test_a_vanished_packet_counts_as_not_loaded_and_stops_no_other(office: Desk) -> None:
    campaign = office.made()
    packet, _ = (office.system.send("operator", campaign=campaign) for _ in range(2))
    key = f"packet#{packet.packet_id}", "packet"
    row = office.system.dynamo.tables["packets"].pop(key)

    assert office.preheat(campaign) == Preheated(2, 1, None)
    assert [name for name, _ in office.system.logger.errors] == ["preheat_failed"]

    office.system.dynamo.tables["packets"][key] = row
