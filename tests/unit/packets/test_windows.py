"""Packets of campaigns whose window operators edit: grabs, stored ends, and owners' retries."""

from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from redpacket.campaigns.model import WINDOW_AGE_MAX_MS, Campaign
from redpacket.campaigns.use_cases.cached_campaigns import KEPT_MS, CachedCampaigns
from redpacket.lottery.use_cases.apply_edit import count_closed
from redpacket.packets.dynamodb.keys import edited_window
from redpacket.packets.dynamodb.windows import DynamoWindows
from redpacket.packets.dynamodb.work_lists import DynamoWorkLists
from redpacket.packets.errors import PacketExpired, PacketNotStarted
from redpacket.packets.model.claim import Admission
from redpacket.packets.model.packet import Opening, Packet, PacketStatus, is_sharded
from redpacket.packets.use_cases import move_packets
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import Contended, Unavailable
from redpacket.reconciliation.use_cases.statements import MOVING_MS
from testing.in_memory_system import DAY_MS, InMemorySystem
from testing.platform.fake_tables import TABLE_NAMES

HOUR_MS = 3_600_000


@pytest.fixture
def system() -> InMemorySystem:
    return InMemorySystem()


def _edit(system: InMemorySystem, campaign: Campaign, **window: Any) -> Campaign:
    return system.edit_campaign(replace(campaign.plan, **window))


def _ends_ms(system: InMemorySystem, packet: Packet) -> int:
    return system.stored(packet).expires_at_ms


# Claims


def test_a_postponed_campaign_gives_nothing_at_its_old_start(system: InMemorySystem) -> None:
    now_ms = system.clock.now_ms()
    campaign = system.rain(starts_at_ms=now_ms + 15_000, ends_at_ms=now_ms + HOUR_MS)
    packet = system.send_of(campaign, life_ms=None)
    _edit(system, campaign, starts_at_ms=now_ms + DAY_MS, ends_at_ms=now_ms + 2 * DAY_MS)
    system.pass_time(20_000)

    with pytest.raises(PacketNotStarted):
        system.grab(packet, "ann")

    system.pass_time(DAY_MS)
    assert system.grab(packet, "ann").is_new


def test_a_shortened_campaign_gives_nothing_after_its_new_end(system: InMemorySystem) -> None:
    campaign = system.rain(ends_at_ms=system.clock.now_ms() + 90 * DAY_MS)
    packet = system.send_of(campaign, life_ms=None)
    _edit(system, campaign, ends_at_ms=system.clock.now_ms() + 5_000)
    system.pass_time(5_000)

    with pytest.raises(PacketExpired):
        system.grab(packet, "ann")

    system.sweep()
    assert system.stored(packet).status is PacketStatus.CLOSED
    assert system.balance_fen("sender") == packet.terms.total_fen


@pytest.mark.parametrize("days", [1, 200])
def test_an_extended_campaign_gives_shares_after_its_old_end(
    system: InMemorySystem, days: int
) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None)
    _edit(system, campaign, ends_at_ms=campaign.ends_at_ms + days * DAY_MS)
    system.pass_time(HOUR_MS)
    system.sweep()

    assert system.grab(packet, "ann").is_new
    # The cache's key has expired, so the next claim reloads the packet.
    system.pass_time(days * DAY_MS - 1)
    assert system.grab(packet, "bob").is_new


def test_a_campaign_that_starts_earlier_gives_shares_at_once(system: InMemorySystem) -> None:
    now_ms = system.clock.now_ms()
    campaign = system.rain(starts_at_ms=now_ms + DAY_MS, ends_at_ms=now_ms + 2 * DAY_MS)
    packet = system.send_of(campaign, life_ms=None)
    with pytest.raises(PacketNotStarted):
        system.grab(packet, "ann")

    _edit(system, campaign, starts_at_ms=now_ms)

    assert system.grab(packet, "ann").is_new


def test_a_packet_with_its_own_end_keeps_it_in_every_edit(system: InMemorySystem) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=60_000)
    own_end_ms = packet.expires_at_ms
    shorter = _edit(system, campaign, ends_at_ms=own_end_ms - 30_000)
    system.sweep()
    assert _ends_ms(system, packet) == own_end_ms - 30_000

    _edit(system, shorter, ends_at_ms=campaign.ends_at_ms + DAY_MS)
    system.sweep()

    assert _ends_ms(system, packet) == own_end_ms
    system.pass_time(60_000)
    with pytest.raises(PacketExpired):
        system.grab(packet, "ann")


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.parametrize("is_cache_lost", [False, True])
def test_an_owner_gets_their_share_whatever_the_current_window(
    system: InMemorySystem, shards: int, *, is_cache_lost: bool
) -> None:
    packet = system.send_in_shards(shards, count=4)
    assert is_sharded(packet.packet_id) is (shards > 1)
    campaign_id = packet.rules.campaign_id or ""
    # Users whose shard is full get shares of other shards.
    shares = system.crowd(packet, 4)
    campaign = system.campaigns.find_campaign(campaign_id)
    assert campaign
    now_ms = system.clock.now_ms()
    for window in (
        {"starts_at_ms": now_ms + DAY_MS, "ends_at_ms": now_ms + 2 * DAY_MS},
        {"starts_at_ms": now_ms - 2, "ends_at_ms": now_ms - 1},
    ):
        _edit(system, campaign, **window)
        system.sweep()
        if is_cache_lost:
            system.memory.fail_over({})
            # A preheat loads the shards one by one.
            system.load_packet(packet.packet_id)
        for share in shares:
            assert share.claimer
            assert system.grab(packet, share.claimer.user_id).share == share


@pytest.mark.parametrize("opening", Opening)
def test_users_before_the_start_read_no_share_after_a_failover(
    system: InMemorySystem, opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = system.rain(starts_at_ms=system.clock.now_ms() + 60_000)
    packet = system.send_of(campaign, life_ms=None, opening=opening)
    system.memory.fail_over({})
    read = Mock(wraps=system.dynamo.get_item)
    monkeypatch.setattr(system.dynamo, "get_item", read)

    for number in range(3):
        with pytest.raises(PacketNotStarted):
            system.grab(packet, f"user-{number}")

    assert "shares" not in {call.kwargs["TableName"] for call in read.call_args_list}


def test_an_owner_keeps_their_share_if_the_start_moves_before_and_after_the_first_one(
    system: InMemorySystem,
) -> None:
    now_ms = system.clock.now_ms()
    campaign = system.rain(starts_at_ms=now_ms + DAY_MS, ends_at_ms=now_ms + 2 * DAY_MS)
    packet = system.send_of(campaign, life_ms=None)
    earlier = _edit(system, campaign, starts_at_ms=now_ms)
    owned = system.grab(packet, "ann").share
    _edit(system, earlier, starts_at_ms=now_ms + DAY_MS)
    system.memory.fail_over({})

    assert system.grab(packet, "ann").share == owned
    with pytest.raises(PacketNotStarted):
        system.grab(packet, "bob")


def test_campaigns_of_earlier_releases_look_for_owners_before_their_start(
    system: InMemorySystem,
) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None)
    owned = system.grab(packet, "ann").share
    campaign_key = {"pk": f"campaign#{campaign.campaign_id}", "sk": "campaign"}
    del system.row("campaigns", campaign_key)["first_starts_at_ms"]
    _edit(system, campaign, starts_at_ms=campaign.starts_at_ms + 60_000)
    system.memory.fail_over({})

    assert system.grab(packet, "ann").share == owned


def test_an_interrupted_claim_is_not_recorded_outside_the_window(
    system: InMemorySystem,
) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None)
    # The cache gave a number to a process that crashed before the ledger recorded it.
    taken = system.claim_cache.take(packet.packet_id, "ann", packet.terms.stored)
    assert taken.share_no
    _edit(system, campaign, ends_at_ms=system.clock.now_ms())

    with pytest.raises(PacketExpired):
        system.grab(packet, "ann")


def test_an_admitted_user_opens_nothing_outside_the_window(system: InMemorySystem) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None, opening=Opening.TWO_STEP)
    admission = system.grab_or_enter(packet, "ann")
    assert isinstance(admission, Admission)
    _edit(system, campaign, ends_at_ms=system.clock.now_ms())

    with pytest.raises(PacketExpired):
        system.open(packet, "ann", admission.grab_token)
    with pytest.raises(PacketExpired):
        system.grab_or_enter(packet, "bob")


def test_a_cached_window_is_trusted_for_ten_seconds(system: InMemorySystem) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None)
    recalled = CachedCampaigns(system.campaigns, clock=system.clock, logger=system.logger)
    system.recall_campaigns = lambda: recalled
    assert system.grab(packet, "ann").is_new
    recalled._campaigns = _Away()
    for _ in range(WINDOW_AGE_MAX_MS // KEPT_MS):
        system.pass_time(KEPT_MS)
        assert recalled.get(campaign.campaign_id).title == campaign.title
    system.pass_time(WINDOW_AGE_MAX_MS % KEPT_MS)
    assert system.grab(packet, "bob").is_new

    system.pass_time(1)

    with pytest.raises(Unavailable):
        system.grab(packet, "cat")
    assert not system.grab(packet, "ann").is_new


class _Away:
    """Campaign repository whose table is unavailable."""

    def __getattr__(self, _name: str) -> Any:
        raise Unavailable


# Rows


def test_the_sweep_moves_the_packets_of_an_edited_campaign(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move_packets, "PACKETS_AT_ONCE", 2)
    campaign = system.rain()
    packets = [system.send_of(campaign, life_ms=None) for _ in range(3)]
    now_ms = system.clock.now_ms()
    edited = _edit(system, campaign, starts_at_ms=now_ms + DAY_MS, ends_at_ms=now_ms + 2 * DAY_MS)

    assert system.sweep().moved_count == 3

    for packet in map(system.stored, packets):
        assert (packet.starts_at_ms, packet.expires_at_ms) == (now_ms + DAY_MS, edited.ends_at_ms)
    assert system.work.list_edited(100) == []
    assert system.work.list_due(edited.ends_at_ms - 1, 100) == []
    assert set(system.work.list_due(edited.ends_at_ms, 100)) == {
        packet.packet_id for packet in packets
    }


def test_one_sweep_of_more_partitions_than_campaigns_finds_an_edit(
    system: InMemorySystem,
) -> None:
    campaign = system.rain()
    _edit(system, campaign, ends_at_ms=campaign.ends_at_ms + DAY_MS)
    dynamo = Dynamo(lambda: system.dynamo, TABLE_NAMES)
    work = DynamoWorkLists(dynamo, range(128))

    assert work.list_edited(move_packets.CAMPAIGNS_PER_SWEEP) == [campaign.campaign_id]


def test_an_unreadable_row_does_not_stop_the_moves_of_others(
    system: InMemorySystem,
) -> None:
    campaign = system.rain()
    packets = [system.send_of(campaign, life_ms=None) for _ in range(2)]
    bad, good = sorted(packets, key=lambda packet: packet.packet_id)
    del system.row("packets", {"pk": f"packet#{bad.packet_id}", "sk": "packet"})["terms"]
    edited = _edit(system, campaign, ends_at_ms=campaign.ends_at_ms + DAY_MS)

    assert system.sweep().moved_count == 1

    assert _ends_ms(system, good) == edited.ends_at_ms
    assert system.work.list_edited(100) == []
    assert [name for name, _ in system.logger.errors] == ["move_failed"]


def test_other_edits_leave_the_packets_unchanged(system: InMemorySystem) -> None:
    campaign = system.rain()

    system.edit_campaign(replace(campaign.plan, title="again"))

    assert system.work.list_edited(100) == []


def test_a_move_continues_where_the_last_sweep_ran_out_of_time(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move_packets, "PACKETS_AT_ONCE", 2)
    campaign = system.rain()
    packets = [system.send_of(campaign, life_ms=None) for _ in range(5)]
    edited = _edit(system, campaign, ends_at_ms=campaign.ends_at_ms + DAY_MS)
    moved = list[str]()
    ports = system.sweep_ports()
    ports.work.windows = _Slow(system, moved)

    for _ in range(5):
        move_packets.move_packets(system.clock.now_ms() + 1, ports=ports)

    assert {_ends_ms(system, packet) for packet in packets} == {edited.ends_at_ms}
    assert sorted(moved) == sorted(packet.packet_id for packet in packets)
    assert system.work.list_edited(100) == []


class _Slow(DynamoWindows):
    """Repository whose moves take a second each."""

    def __init__(self, system: InMemorySystem, moved: list[str]) -> None:
        super().__init__(system.packets._dynamo)
        self._system, self._moved_ids = system, moved

    def move(self, packet_id: str, window: Any) -> bool:
        self._system.pass_time(1_000)
        self._moved_ids.append(packet_id)
        return super().move(packet_id, window)


def test_an_unloaded_packet_stays_due_for_its_load(system: InMemorySystem) -> None:
    campaign = system.rain(ends_at_ms=system.clock.now_ms() + 90 * DAY_MS)
    system.claim_cache = _Away()
    packet = system.send_of(campaign, life_ms=None)
    system.claim_cache = InMemorySystem().claim_cache
    read = system.stored(packet)
    edited = _edit(system, campaign, ends_at_ms=system.clock.now_ms() + HOUR_MS)

    system.sweep()

    assert system.work.list_unloaded(system.clock.now_ms(), 100) == [packet.packet_id]
    # A load that began before the move does not restore the old end.
    system.packets.mark_loaded(read)
    assert system.work.list_due(edited.ends_at_ms, 100) == [packet.packet_id]


def test_an_extension_reaches_a_packet_that_another_sweep_would_close(
    system: InMemorySystem,
) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None)
    system.pass_time(HOUR_MS - 1_000)
    edited = _edit(system, campaign, ends_at_ms=campaign.ends_at_ms + DAY_MS)
    system.pass_time(2_000)

    # This sweep closes packets; the sweep that moves them runs later.
    system.expire()

    stored = system.stored(packet)
    assert (stored.status, stored.expires_at_ms) == (PacketStatus.OPEN, edited.ends_at_ms)
    assert system.grab(packet, "ann").is_new


def test_an_extension_leaves_closing_packets_unchanged(system: InMemorySystem) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None)
    system.pass_time(HOUR_MS)
    system.packets.begin_close(system.stored(packet), system.clock.now_ms())

    _edit(system, campaign, ends_at_ms=campaign.ends_at_ms + DAY_MS)
    system.sweep()

    assert system.stored(packet).status is PacketStatus.CLOSED
    with pytest.raises(PacketExpired):
        system.grab(packet, "ann")


def test_ended_packets_with_unclaimed_shares_are_counted(
    system: InMemorySystem,
) -> None:
    campaign = system.rain()
    emptied = system.send_of(campaign, life_ms=None, count=1)
    for life_ms in (60_000, 60_000, None, None):
        system.send_of(campaign, life_ms=life_ms)
    system.grab(emptied, "ann")
    system.settle()
    system.pass_time(60_000)
    system.sweep()

    assert count_closed(campaign.campaign_id, ports=system.campaign_ports()) == 2


def test_the_newest_edit_wins_over_concurrent_moves(system: InMemorySystem) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None)
    windows = system.work.windows
    first = _edit(system, campaign, ends_at_ms=campaign.ends_at_ms + DAY_MS)
    older = windows.find(campaign.campaign_id)
    second = _edit(system, first, ends_at_ms=campaign.ends_at_ms + 2 * DAY_MS)
    newer = windows.find(campaign.campaign_id)
    assert older
    assert newer

    assert windows.move(packet.packet_id, newer)
    assert not windows.move(packet.packet_id, older)
    windows.checkpoint(older, packet.packet_id)
    windows.finish(older)

    assert _ends_ms(system, packet) == second.ends_at_ms
    assert windows.find(campaign.campaign_id) == newer
    assert system.work.list_edited(100) == [campaign.campaign_id]


def test_packets_of_older_versions_also_follow_an_edit(system: InMemorySystem) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None)
    row = system.row("packets", {"pk": f"packet#{packet.packet_id}", "sk": "packet"})
    del row["asked_starts_at_ms"], row["asked_ends_at_ms"]

    edited = _edit(system, campaign, ends_at_ms=campaign.ends_at_ms + DAY_MS)
    system.sweep()

    assert _ends_ms(system, packet) == edited.ends_at_ms


def test_packets_are_refunded_after_an_edit_by_an_older_version(system: InMemorySystem) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None)
    edited = _edit(system, campaign, ends_at_ms=campaign.ends_at_ms + HOUR_MS)
    del system.row("packets", edited_window(campaign.campaign_id))["old_ends_at_ms"]
    system.sweep()
    assert _ends_ms(system, packet) == edited.ends_at_ms

    system.pass_time(2 * HOUR_MS)
    system.sweep()

    assert system.stored(packet).status is PacketStatus.CLOSED


def test_packets_of_older_versions_keep_the_end_of_their_sender(system: InMemorySystem) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=60_000)
    row = system.row("packets", {"pk": f"packet#{packet.packet_id}", "sk": "packet"})
    del row["asked_starts_at_ms"], row["asked_ends_at_ms"]
    shorter = _edit(system, campaign, ends_at_ms=packet.expires_at_ms - 30_000)
    system.sweep()
    assert _ends_ms(system, packet) == packet.expires_at_ms - 30_000

    _edit(system, shorter, ends_at_ms=campaign.ends_at_ms + DAY_MS)
    system.sweep()

    assert _ends_ms(system, packet) == packet.expires_at_ms


def test_a_packet_that_was_sent_under_an_edited_window_is_refused(system: InMemorySystem) -> None:
    campaign = system.rain()
    _edit(system, campaign, ends_at_ms=campaign.ends_at_ms - 60_000)

    with pytest.raises(Contended):
        system.send_of(campaign, life_ms=None)

    assert system.send_of(campaign, life_ms=60_000).expires_at_ms < campaign.ends_at_ms


@pytest.mark.parametrize("is_owner", [False, True])
def test_a_claim_is_not_recorded_if_the_campaign_ends_before_the_cache_answers(
    system: InMemorySystem, *, is_owner: bool
) -> None:
    campaign = system.rain()
    packet = system.send_of(campaign, life_ms=None)
    owned = system.grab(packet, "ann").share if is_owner else None
    # The cache has lost the owner.
    system.memory.fail_over({})
    take = system.claim_cache.take

    def slow(*arguments: Any) -> Any:
        system.pass_time(HOUR_MS)
        return take(*arguments)

    system.claim_cache.take = slow  # type: ignore[assignment, method-assign]

    if owned:
        assert system.grab(packet, "ann").share == owned
    else:
        with pytest.raises(PacketExpired):
            system.grab(packet, "ann")
        assert system.memory.holders(packet.packet_id) == {}


# Early ends


def test_a_claim_over_ten_seconds_after_an_early_end_is_found(system: InMemorySystem) -> None:
    packet, replica = system.send(count=3), system.memory.snapshot()
    system.end_packet(packet)
    # The cache loses the end, and no sweep runs.
    system.memory.fail_over(replica)
    system.pass_time(10_000)
    system.grab(packet, "ann")
    system.settle()
    assert system.differences() == []

    system.pass_time(1)
    share = system.grab(packet, "bob").share
    system.settle()
    found = system.differences()
    system.sweep()
    system.pass_time(MOVING_MS + 1)
    result = system.reconcile()

    what = f"share 2 claimed at {share.decided_at_ms}"
    assert [(each.rule, each.what) for each in found] == [("I-window", what)]
    assert [check.name for check in result.checks if check.differences] == ["check_own_ends"]
