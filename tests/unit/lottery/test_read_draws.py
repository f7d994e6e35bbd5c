from dataclasses import replace
from typing import Any, cast

import pytest

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.model import WINDOW_AGE_MAX_MS, Campaign
from redpacket.fairness.model.days import chain_commitment
from redpacket.lottery.model.lottery import Draw, draw_day, find_day
from redpacket.lottery.use_cases import read_draws
from redpacket.lottery.use_cases.cached_snapshots import KEPT_MS
from redpacket.packets.errors import ProofNotReady
from redpacket.platform.errors import Unavailable
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.fakes import Away
from testing.in_memory_system import DAY_MS, InMemorySystem
from testing.lottery.prizes import write_prize

TODAY = "20261118"


@pytest.fixture
def campaign(system: InMemorySystem) -> Campaign:
    return system.lottery(a_prize("gala", total=100, per_day=2))


def watch(system: InMemorySystem) -> read_draws.WatchedLottery:
    ports = {"campaigns": system.campaigns, "prizes": system.prizes, "clock": system.clock}
    return read_draws.watch_lottery("gala", **ports)  # type: ignore[arg-type]


def proof(system: InMemorySystem, day: str = TODAY) -> read_draws.DrawProof:
    return system.process().read_draw_proof("gala", day)


def test_operators_see_current_stock_and_money(system: InMemorySystem, campaign: Campaign) -> None:
    pages = system.lotteries()
    pages.get("gala")
    system.draw_each(3)
    edited = replace(campaign, title="new", budget_fen=7, budget_left_fen=7, version=2)
    assert system.campaigns.edit(edited, campaign)

    watched = watch(system)

    assert watched.campaign == edited
    assert watched.lottery.snapshot == system.prizes.find_snapshot("gala")
    assert watched.stock["cup"].durable_no == 2
    assert (watched.stock["cup"].day_durable_no, watched.lottery.sold_out) == (2, frozenset())
    shown = pages.get("gala")
    assert (watched.lottery.day, watched.lottery.commitment) == (shown.day, shown.commitment)


def test_operators_see_sold_out_prizes(system: InMemorySystem) -> None:
    system.campaigns.create(a_campaign(campaign_id="gala"))
    write_prize(system.prizes, a_prize("gala", total=1))
    write_prize(system.prizes, a_prize("gala", "pen", total=1, weight=0))
    system.draw("gala", "ann", "key")

    assert watch(system).lottery.sold_out == {"cup"}


def test_operators_of_a_campaign_without_prizes_see_its_plan(system: InMemorySystem) -> None:
    campaign = a_campaign(campaign_id="gala")
    system.campaigns.create(campaign)

    watched = watch(system)

    assert (watched.campaign, watched.stock, watched.lottery.commitment) == (campaign, {}, None)


def test_an_unknown_campaign_has_nothing_to_watch_or_list(system: InMemorySystem) -> None:
    with pytest.raises(CampaignNotFound):
        watch(system)
    with pytest.raises(CampaignNotFound):
        read_draws.list_draws(
            "gala",
            "ann",
            None,
            draws=system.draws,
            snapshots=system.snapshots(),
            clock=system.clock,
        )


def test_cached_data_is_served_for_some_seconds_and_longer_while_the_ledger_is_unavailable(
    system: InMemorySystem,
) -> None:
    system.lottery(a_prize("gala", total=100, per_day=2))
    snapshots = system.snapshots()
    shown = snapshots.get("gala")
    write_prize(system.prizes, a_prize("gala", "pen"))

    assert snapshots.get("gala") == shown
    assert len(snapshots.get("gala", version_min=shown.version + 1).prizes) == 2
    system.pass_time(KEPT_MS)

    away: Any = Away()
    snapshots._prizes = away
    assert len(snapshots.get("gala").prizes) == 2
    assert [name for name, _ in system.logger.errors] == ["campaign_not_read"]
    with pytest.raises(Unavailable):
        snapshots.get("gala", version_min=shown.version + 2)
    with pytest.raises(Unavailable):
        snapshots.get("other")


def test_a_draw_trusts_a_campaign_in_memory_for_ten_seconds(system: InMemorySystem) -> None:
    system.lottery(a_prize("gala", total=100, per_day=2))
    snapshots, away = system.snapshots(), Away()
    system.draw("gala", "ann", "first", snapshots)
    snapshots._prizes = cast("Any", away)
    for _ in range(WINDOW_AGE_MAX_MS // KEPT_MS):
        system.pass_time(KEPT_MS)
        assert snapshots.get("gala").prizes
    system.pass_time(WINDOW_AGE_MAX_MS % KEPT_MS)
    assert snapshots.get("gala").prizes

    system.pass_time(1)

    with pytest.raises(Unavailable):
        snapshots.get("gala")
    with pytest.raises(Unavailable):
        system.draw("gala", "bob", "first", snapshots)


def test_draws_are_paged_newest_first(system: InMemorySystem) -> None:
    system.lottery(a_prize("gala", total=100, per_day=2))
    draws: list[Draw] = []
    for number in range(read_draws.PAGE_SIZE + 2):
        system.pass_time(1)
        draws.insert(0, system.draw("gala", "ann", f"key-{number}").draw)
    system.draw("gala", "bob", "key")

    def page(cursor: str | None) -> Any:
        return read_draws.list_draws(
            "gala",
            "ann",
            cursor,
            draws=system.draws,
            snapshots=system.snapshots(),
            clock=system.clock,
        )

    first = page(None)
    second = page(first.next)

    assert [*first.items, *second.items] == draws
    assert len(first.items) == read_draws.PAGE_SIZE
    assert second.next is None
    assert page("unknown") == first


def test_the_seed_of_a_day_is_secret_today_and_later_matches_its_commitment(
    system: InMemorySystem, campaign: Campaign
) -> None:
    shown = system.lotteries().get("gala")
    # The proof is available once no clock can still be on that day.
    system.clock.at_ms = draw_day(campaign, NOW_MS).ends_at_ms + read_draws.REVEAL_AFTER_MS - 1
    with pytest.raises(ProofNotReady):
        proof(system)
    system.clock.at_ms += 1

    revealed = proof(system)

    assert revealed.commitment == shown.commitment
    assert chain_commitment("gala", revealed.seed, TODAY) == shown.commitment


@pytest.mark.usefixtures("campaign")
def test_an_unknown_day_of_a_campaign_is_not_found(system: InMemorySystem) -> None:
    system.pass_time(10 * DAY_MS)

    for day in ("20261117", "20261122", "2026111", "20261131", "", "today"):
        with pytest.raises(CampaignNotFound):
            proof(system, day)


def test_a_campaign_without_prizes_reveals_nothing(system: InMemorySystem) -> None:
    system.campaigns.create(a_campaign(campaign_id="gala"))
    system.pass_time(3 * DAY_MS)

    with pytest.raises(CampaignNotFound):
        proof(system)


def test_the_first_and_last_day_of_a_campaign_are_found() -> None:
    start_ms = 1_798_761_600_000
    campaign = a_campaign(timezone="UTC", starts_at_ms=start_ms, ends_at_ms=start_ms + 2 * DAY_MS)

    draw_days = [
        find_day(campaign, day) for day in ("20261231", "20270101", "20270102", "20270103")
    ]

    assert [day and day.name for day in draw_days] == [None, "20270101", "20270102", None]
    # Days before the first seed are invalid.
    ever = a_campaign(timezone="UTC", starts_at_ms=0)
    assert (find_day(ever, "20251231"), bool(find_day(ever, "20260101"))) == (None, True)


@pytest.mark.parametrize(
    ("timezone", "day", "hours"),
    [
        ("Asia/Shanghai", "20260329", 24),
        ("Europe/Berlin", "20260329", 23),
        ("Europe/Berlin", "20261025", 25),
        ("Africa/Cairo", "20260424", 23),
        ("America/Havana", "20261101", 25),
    ],
)
def test_a_day_has_the_length_of_its_time_zone(timezone: str, day: str, hours: int) -> None:
    campaign = a_campaign(timezone=timezone, starts_at_ms=0, ends_at_ms=4_000_000_000_000)
    lottery_day = find_day(campaign, day)

    assert lottery_day
    assert lottery_day.ends_at_ms - lottery_day.starts_at_ms == hours * 3_600_000
    assert draw_day(campaign, lottery_day.starts_at_ms) == lottery_day
    assert draw_day(campaign, lottery_day.ends_at_ms - 1) == lottery_day
    assert draw_day(campaign, lottery_day.ends_at_ms).starts_at_ms == lottery_day.ends_at_ms
