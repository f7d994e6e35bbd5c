"""What users see of a lottery: one read of a unit at most, whatever was won."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from redpacket.domain.campaign import Campaign
from redpacket.domain.errors import CampaignNotFound, Unavailable
from redpacket.domain.lottery import PageNote, PrizeKind, day_commitment
from redpacket.flows.campaigns.recall_lottery import KEPT_MS, RecalledLotteries
from tests.builders import NOW_MS, a_campaign, a_prize
from tests.prizes import real_prizes
from tests.town import Town
from tests.units import MeteredDynamo

DAY_MS = 24 * 3_600_000
TODAY, TOMORROW = "20261118", "20261119"


def a_lottery(town: Town, *prize_ids: str, **changes: Any) -> Campaign:
    campaign = a_campaign(campaign_id="gala", ends_at_ms=NOW_MS + 3 * DAY_MS)
    assert town.campaigns.create(campaign)
    for prize_id in prize_ids or ["cup"]:
        assert town.draws.put_prize(a_prize("gala", prize_id, **changes), None)
    return campaign


def meter_of(town: Town) -> MeteredDynamo:
    """Let the town's lottery be read through a meter."""
    meter = MeteredDynamo(town.dynamo)
    town.draws = town.draw_adapter(meter)
    return meter


def test_a_page_shows_prizes_and_todays_commitment(town: Town) -> None:
    a_lottery(town)

    shown = town.lotteries().recall("gala")

    assert [prize.prize_id for prize in shown.table.prizes] == ["cup"]
    seed = town.draws.day_seed("gala", TODAY)
    assert (shown.day, shown.commitment) == (TODAY, day_commitment(seed, "gala", TODAY))
    assert town.lotteries().recall("gala") == shown


def test_a_campaign_without_prizes_promises_nothing(town: Town) -> None:
    town.campaigns.create(a_campaign(campaign_id="gala"))

    shown = town.lotteries().recall("gala")

    assert (shown.table.prizes, shown.sold_out, shown.commitment) == ((), frozenset(), None)


def test_a_page_of_no_campaign_is_not_found(town: Town) -> None:
    with pytest.raises(CampaignNotFound):
        town.lotteries().recall("gala")


def test_a_new_process_reads_one_row_and_the_same_one_none(town: Town) -> None:
    a_lottery(town)
    town.load_campaign("gala")
    town.lotteries().recall("gala")
    meter = meter_of(town)
    pages = town.lotteries()

    pages.recall("gala")
    assert (meter.units, meter.strong_count) == (0.5, 0)
    town.pass_time(KEPT_MS - 1)
    pages.recall("gala")
    assert meter.units == 0.5
    town.pass_time(1)
    pages.recall("gala")
    assert meter.units == 1


def test_a_hundred_prizes_and_many_wins_cost_one_unit(town: Town) -> None:
    a_lottery(town)
    for prize in real_prizes("gala", 99):
        goods = replace(prize, kind=PrizeKind.GOODS, packets=(), version=1)
        assert town.draws.put_prize(goods, None)
    for number in range(200):
        town.draw("gala", f"user-{number}", "key")
    town.lotteries().recall("gala")
    meter = meter_of(town)

    town.lotteries().recall("gala")

    assert (meter.units, meter.strong_count) == (1, 0)


def test_an_edit_is_seen_some_seconds_later_and_whole(town: Town) -> None:
    campaign = a_lottery(town)
    pages = town.lotteries()
    before = pages.recall("gala")
    town.draws.put_prize(a_prize("gala", "pen"), None)
    assert town.campaigns.edit(replace(campaign, title="新", version=2), campaign)

    assert pages.recall("gala") == before
    town.pass_time(KEPT_MS)
    after = pages.recall("gala")

    assert [prize.prize_id for prize in after.table.prizes] == ["cup", "pen"]
    assert (after.table.campaign.title, after.table.version) == ("新", before.table.version + 2)
    assert (after.day, after.commitment) == (before.day, before.commitment)


def test_at_midnight_the_next_days_commitment_is_shown(town: Town) -> None:
    a_lottery(town)
    pages = town.lotteries()
    before = pages.recall("gala")
    until_midnight_ms = DAY_MS - (NOW_MS + 8 * 3_600_000) % DAY_MS

    town.pass_time(until_midnight_ms - 1)
    assert pages.recall("gala").day == TODAY
    town.pass_time(1)
    after = pages.recall("gala")

    assert after.day == TOMORROW
    assert after.commitment != before.commitment
    assert town.lotteries().recall("gala") == after


# ---- what is sold out


def test_a_prize_of_which_nothing_is_left_is_sold_out(town: Town) -> None:
    a_lottery(town, total=2)
    pages = town.lotteries()

    for number, sold_out in enumerate([set(), set(), {"cup"}]):
        assert pages.recall("gala").sold_out == sold_out
        town.draw("gala", f"user-{number}", "key")
        town.pass_time(KEPT_MS)


def test_a_prize_without_units_is_sold_out(town: Town) -> None:
    a_lottery(town, total=0)
    town.load_campaign("gala")

    assert town.lotteries().recall("gala").sold_out == {"cup"}


def test_what_the_cache_has_not_heard_of_is_not_sold_out(town: Town) -> None:
    a_lottery(town)
    town.load_campaign("gala")
    town.draws.put_prize(a_prize("gala", "pen"), None)

    assert town.lotteries().recall("gala").sold_out == frozenset()


def test_what_was_sold_out_is_so_when_the_cache_has_lost_it(town: Town) -> None:
    a_lottery(town, total=1)
    town.draw("gala", "ann", "key")
    assert town.lotteries().recall("gala").sold_out == {"cup"}
    town.lots.forget()
    meter = meter_of(town)

    assert town.lotteries().recall("gala").sold_out == {"cup"}
    assert meter.units == 0.5
    town.lots.is_away = True
    assert town.lotteries().recall("gala").sold_out == {"cup"}
    assert [name for name, _ in town.journal.errors] == ["stock_not_read"]


def test_stock_that_is_added_is_not_sold_out(town: Town) -> None:
    a_lottery(town, total=1)
    town.draw("gala", "ann", "key")
    assert town.lotteries().recall("gala").sold_out == {"cup"}
    (prize,) = town.draws.list_prizes("gala")
    town.change_stock(prize, 1)

    assert town.lotteries().recall("gala").sold_out == frozenset()


def test_a_note_is_written_where_it_changes_and_not_with_every_draw(town: Town) -> None:
    a_lottery(town, total=3)
    noted: list[PageNote] = []
    keep = town.draws.note_page

    def note_page(campaign_id: str, note: PageNote) -> None:
        noted.append(note)
        keep(campaign_id, note)

    town.draws.note_page = note_page  # type: ignore[method-assign]

    for number in range(5):
        town.draw("gala", f"user-{number}", "key")
        town.lotteries().recall("gala")

    assert [note.sold_out for note in noted] == [frozenset(), {"cup"}]


# ---- trouble


def away(*_: Any) -> Any:
    raise Unavailable("the ledger does not answer")


def test_a_page_that_can_not_be_noted_is_shown(town: Town) -> None:
    a_lottery(town)
    town.draws.note_page = away  # type: ignore[method-assign, assignment]

    assert town.lotteries().recall("gala").commitment
    assert [name for name, _ in town.journal.errors] == ["page_not_noted"]


def test_while_the_ledger_is_away_the_last_page_holds(town: Town) -> None:
    a_lottery(town)
    pages = town.lotteries()
    shown = pages.recall("gala")
    town.pass_time(KEPT_MS)
    town.draws.find_page = away  # type: ignore[method-assign, assignment]

    assert pages.recall("gala") == shown
    assert [name for name, _ in town.journal.errors] == ["campaign_not_read"]
    with pytest.raises(Unavailable):
        pages.recall("other")


def test_many_at_once_in_one_process_read_once(town: Town) -> None:
    a_lottery(town)
    town.lotteries().recall("gala")
    meter = meter_of(town)
    pages = town.lotteries()

    with ThreadPoolExecutor(8) as pool:
        shown = list(pool.map(pages.recall, ["gala"] * 64))

    assert len(set(map(id, shown))) == 1
    assert len(meter.reads) == 1


def test_a_process_does_not_remember_campaigns_without_end(town: Town) -> None:
    pages: RecalledLotteries = town.lotteries()
    for number in range(101):
        town.campaigns.create(a_campaign(campaign_id=f"gala-{number}"))
        pages.recall(f"gala-{number}")

    assert len(pages._known) == 1
