"""Users' view of a lottery: it costs at most one read unit, regardless of the wins."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.model import CampaignStatus, WhenSoldOut
from redpacket.fairness.model.days import chain_commitment
from redpacket.lottery.model.lottery import CampaignSnapshot, PageNote, PrizeKind
from redpacket.lottery.model.odds import probabilities
from redpacket.lottery.use_cases import cached_lotteries
from redpacket.lottery.use_cases.cached_lotteries import KEPT_MS, CachedLotteries
from redpacket.platform.errors import Unavailable
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.fakes import Away
from testing.in_memory_system import DAY_MS, InMemorySystem
from testing.lottery.prizes import real_prizes, write_prize
from testing.platform.units import MeteredDynamo

TODAY, TOMORROW = "20261118", "20261119"


def meter_of(system: InMemorySystem) -> MeteredDynamo:
    """Return a meter through which the system now reads its lottery."""
    meter = MeteredDynamo(system.dynamo)
    system.prizes = system.prize_adapter(meter)
    return meter


def test_a_page_shows_prizes_and_the_commitment_to_all_days(system: InMemorySystem) -> None:
    system.lottery()

    shown = system.lotteries().get("gala")

    assert [prize.prize_id for prize in shown.snapshot.prizes] == ["cup"]
    seed = system.prizes.day_seed("gala", TODAY)
    assert (shown.day, shown.commitment) == (TODAY, chain_commitment("gala", seed, TODAY))
    assert system.lotteries().get("gala") == shown


def test_a_campaign_without_prizes_has_no_commitment(system: InMemorySystem) -> None:
    system.campaigns.create(a_campaign(campaign_id="gala"))

    shown = system.lotteries().get("gala")

    assert (shown.snapshot.prizes, shown.sold_out, shown.commitment) == ((), frozenset(), None)


def test_a_page_of_an_unknown_campaign_is_not_found(system: InMemorySystem) -> None:
    with pytest.raises(CampaignNotFound):
        system.lotteries().get("gala")


def test_a_new_process_reads_one_row_and_the_next_read_costs_none(system: InMemorySystem) -> None:
    system.lottery()
    system.load_campaign("gala")
    system.lotteries().get("gala")
    meter = meter_of(system)
    pages = system.lotteries()

    pages.get("gala")
    assert (meter.units, meter.strong_count) == (0.5, 0)
    system.pass_time(KEPT_MS - 1)
    pages.get("gala")
    assert meter.units == 0.5
    system.pass_time(1)
    pages.get("gala")
    assert meter.units == 1


def test_a_hundred_prizes_and_many_wins_cost_one_unit(system: InMemorySystem) -> None:
    system.lottery()
    for prize in real_prizes("gala", 99):
        goods = replace(prize, kind=PrizeKind.GOODS, packets=(), version=1)
        write_prize(system.prizes, goods)
    system.draw_each(40)
    system.lotteries().get("gala")
    meter = meter_of(system)

    system.lotteries().get("gala")

    assert (meter.units, meter.strong_count) == (1, 0)


def test_an_edit_is_seen_completely_some_seconds_later(system: InMemorySystem) -> None:
    campaign = system.lottery()
    pages = system.lotteries()
    before = pages.get("gala")
    write_prize(system.prizes, a_prize("gala", "pen"))
    assert system.campaigns.edit(replace(campaign, title="新", version=2), campaign)

    assert pages.get("gala") == before
    system.pass_time(KEPT_MS)
    after = pages.get("gala")

    assert [prize.prize_id for prize in after.snapshot.prizes] == ["cup", "pen"]
    assert (after.snapshot.campaign.title, after.snapshot.version) == (
        "新",
        before.snapshot.version + 2,
    )
    assert (after.day, after.commitment) == (before.day, before.commitment)


def test_at_midnight_the_next_day_is_shown_with_the_same_commitment(system: InMemorySystem) -> None:
    system.lottery()
    pages = system.lotteries()
    before = pages.get("gala")
    until_midnight_ms = DAY_MS - (NOW_MS + 8 * 3_600_000) % DAY_MS

    system.pass_time(until_midnight_ms - 1)
    assert pages.get("gala").day == TODAY
    system.pass_time(1)
    after = pages.get("gala")

    assert after.day == TOMORROW
    assert after.commitment == before.commitment
    assert system.lotteries().get("gala") == after


# ---- sold-out prizes


def test_a_prize_without_remaining_units_is_sold_out(system: InMemorySystem) -> None:
    system.lottery(a_prize("gala", total=2))
    pages = system.lotteries()

    for number, sold_out in enumerate([set(), set(), {"cup"}]):
        assert pages.get("gala").sold_out == sold_out
        system.draw("gala", f"user-{number}", "key")
        system.pass_time(KEPT_MS)
    (prize,) = system.prizes.list_prizes("gala")
    system.change_stock(prize, 1)
    assert system.lotteries().get("gala").sold_out == frozenset()


def test_a_prize_without_units_is_sold_out_but_one_that_the_cache_missed_is_not(
    system: InMemorySystem,
) -> None:
    system.lottery(a_prize("gala", total=0))
    system.load_campaign("gala")
    write_prize(system.prizes, a_prize("gala", "pen"))

    assert system.lotteries().get("gala").sold_out == {"cup"}


def test_a_sold_out_prize_stays_so_after_the_cache_lost_it(system: InMemorySystem) -> None:
    system.lottery(a_prize("gala", total=1))
    system.draw("gala", "ann", "key")
    assert system.lotteries().get("gala").sold_out == {"cup"}
    system.lots.forget()
    meter = meter_of(system)

    assert system.lotteries().get("gala").sold_out == {"cup"}
    assert meter.units == 0.5
    system.lots.is_away = True
    assert system.lotteries().get("gala").sold_out == {"cup"}
    assert [name for name, _ in system.logger.errors] == ["stock_not_read"]


def test_the_sold_out_note_is_written_only_when_it_changes(system: InMemorySystem) -> None:
    system.lottery(a_prize("gala", total=3))
    noted: list[PageNote] = []
    keep = system.prizes.note_page

    def note_page(campaign_id: str, note: PageNote) -> None:
        noted.append(note)
        keep(campaign_id, note)

    system.prizes.note_page = note_page  # type: ignore[method-assign]

    for number in range(5):
        system.draw("gala", f"user-{number}", "key")
        system.lotteries().get("gala")

    assert [note.sold_out for note in noted] == [{"cup"}]


# ---- trouble


def test_a_page_is_shown_if_its_note_cannot_be_stored(system: InMemorySystem) -> None:
    system.lottery(a_prize("gala", total=1))
    system.draw("gala", "ann", "key")
    system.prizes.note_page = Away().note_page  # type: ignore[method-assign]

    assert system.lotteries().get("gala").commitment
    assert [name for name, _ in system.logger.errors] == ["page_not_noted"]


def test_while_the_ledger_is_unavailable_the_last_page_is_shown(system: InMemorySystem) -> None:
    system.lottery()
    pages = system.lotteries()
    shown = pages.get("gala")
    system.pass_time(KEPT_MS)
    system.prizes.find_page = Away().find_page  # type: ignore[method-assign]

    assert pages.get("gala") == shown
    assert [name for name, _ in system.logger.errors] == ["campaign_not_read"]
    with pytest.raises(Unavailable):
        pages.get("other")


def test_concurrent_requests_in_one_process_read_once(system: InMemorySystem) -> None:
    system.lottery()
    system.lotteries().get("gala")
    meter = meter_of(system)
    pages = system.lotteries()

    with ThreadPoolExecutor(8) as pool:
        shown = list(pool.map(pages.get, ["gala"] * 64))

    assert len(set(map(id, shown))) == 1
    assert len(meter.reads) == 1


def test_the_number_of_cached_campaigns_in_a_process_is_bounded(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached_lotteries, "_SIZE_MAX", 5)
    pages: CachedLotteries = system.lotteries()
    for number in range(6):
        system.campaigns.create(a_campaign(campaign_id=f"gala-{number}"))
        pages.get(f"gala-{number}")

    assert len(pages._cache._entries) == 5


@pytest.mark.parametrize(
    ("when_sold_out", "left", "expected"),
    [
        (WhenSoldOut.REDISTRIBUTE, {"cup", "pen"}, [0.3, 0.1, 0]),
        (WhenSoldOut.REDISTRIBUTE, {"pen"}, [0, 0.142857, 0]),
        (WhenSoldOut.MISS, {"pen"}, [0, 0.1, 0]),
        (WhenSoldOut.REDISTRIBUTE, set(), [0, 0, 0]),
    ],
)
def test_the_probability_of_a_prize_is_its_share_of_the_remaining_weights(
    when_sold_out: WhenSoldOut, left: set[str], expected: list[float]
) -> None:
    prizes = (
        a_prize("gala", "cup", weight=30),
        a_prize("gala", "pen", weight=10),
        a_prize("gala", "tea", weight=50, status=CampaignStatus.OFF),
    )
    campaign = a_campaign(miss_weight=60, when_sold_out=when_sold_out)

    odds = probabilities(CampaignSnapshot(campaign, prizes, 1), {"cup", "pen"} - left)

    assert list(odds.values()) == expected
    certain = CampaignSnapshot(a_campaign(miss_weight=0), prizes[:1], 1)
    assert probabilities(certain, {"cup"}) == {"cup": 0}
    assert probabilities(certain, set()) == {"cup": 1}
