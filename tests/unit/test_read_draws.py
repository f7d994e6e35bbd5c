from __future__ import annotations

from typing import Any

import pytest

from redpacket.domain.campaign import Campaign
from redpacket.domain.errors import CampaignNotFound, ProofNotReady, Unavailable
from redpacket.domain.lottery import Draw, day_commitment, draw_day, find_day, has_units_left
from redpacket.flows.read_draws import (
    PAGE_SIZE,
    REVEAL_AFTER_MS,
    DrawProof,
    Lottery,
    list_draws,
    read_draw_proof,
    read_lottery,
)
from redpacket.flows.recall_table import KEPT_MS, RecalledTables
from tests.builders import NOW_MS, a_campaign, a_prize
from tests.town import Town

DAY_MS = 24 * 3_600_000
TODAY = "20261118"


def a_lottery(town: Town, **changes: Any) -> Campaign:
    plan = {"campaign_id": "gala", "ends_at_ms": NOW_MS + 3 * DAY_MS, **changes}
    campaign = a_campaign(**plan)
    assert town.campaigns.create(campaign)
    assert town.draws.put_prize(a_prize("gala", total=100, per_day=2), None)
    return campaign


def lottery(town: Town, tables: RecalledTables | None = None) -> Lottery:
    return read_lottery("gala", tables=tables or town.tables(), clock=town.clock)


def proof(town: Town, day: str = TODAY) -> DrawProof:
    return read_draw_proof("gala", day, tables=town.tables(), clock=town.clock)


def test_a_lottery_shows_its_prizes_and_todays_commitment(town: Town) -> None:
    a_lottery(town)

    shown = lottery(town)

    assert [prize.prize_id for prize in shown.table.prizes] == ["cup"]
    assert shown.day == TODAY
    assert shown.commitment == lottery(town).commitment
    town.pass_time(DAY_MS)
    assert lottery(town).commitment != shown.commitment


def test_a_campaign_without_prizes_promises_nothing(town: Town) -> None:
    town.campaigns.create(a_campaign(campaign_id="gala"))

    assert (lottery(town).stock, lottery(town).commitment) == ({}, None)


def test_a_prize_of_which_nothing_is_left_is_sold_out(town: Town) -> None:
    town.campaigns.create(a_campaign(campaign_id="gala"))
    town.draws.put_prize(a_prize("gala", total=2), None)
    tables = town.tables()

    for number, is_left in enumerate([True, True, False]):
        shown = lottery(town, tables)
        assert has_units_left(shown.table.prizes[0], shown.stock["cup"]) is is_left
        town.draw("gala", f"user-{number}", "key")
        town.pass_time(KEPT_MS)


def test_what_is_known_is_good_for_some_seconds_and_longer_while_the_ledger_is_away(
    town: Town,
) -> None:
    a_lottery(town)
    tables = town.tables()
    shown = tables.recall("gala")
    town.draws.put_prize(a_prize("gala", "pen"), None)

    assert tables.recall("gala") == shown
    assert len(tables.recall("gala", version_min=shown.version + 1).prizes) == 2
    town.pass_time(KEPT_MS)

    class Away:
        def find_table(self, campaign_id: str) -> None:
            raise Unavailable(campaign_id)

    tables._draws = Away()  # type: ignore[assignment]
    assert len(tables.recall("gala").prizes) == 2
    assert [name for name, _ in town.journal.errors] == ["campaign_not_read"]
    with pytest.raises(Unavailable):
        tables.recall("gala", version_min=shown.version + 2)
    with pytest.raises(Unavailable):
        tables.recall("other")


def test_draws_come_in_pages_newest_first(town: Town) -> None:
    a_lottery(town)
    drawn: list[Draw] = []
    for number in range(PAGE_SIZE + 2):
        town.pass_time(1)
        drawn.insert(0, town.draw("gala", "ann", f"key-{number}").draw)
    town.draw("gala", "bob", "key")

    def page(cursor: str | None) -> Any:
        return list_draws("gala", "ann", cursor, draws=town.draws, tables=town.tables())

    first = page(None)
    second = page(first.next)

    assert [*first.items, *second.items] == drawn
    assert len(first.items) == PAGE_SIZE
    assert second.next is None
    assert page("unknown") == first


def test_draws_of_no_campaign_are_not_found(town: Town) -> None:
    with pytest.raises(CampaignNotFound):
        list_draws("gala", "ann", None, draws=town.draws, tables=town.tables())


def test_a_days_seed_is_what_its_commitment_promised(town: Town) -> None:
    campaign = a_lottery(town)
    shown = lottery(town)
    town.clock.at_ms = draw_day(campaign, NOW_MS).ends_at_ms + REVEAL_AFTER_MS

    revealed = proof(town)

    assert revealed.commitment == shown.commitment
    assert day_commitment(revealed.seed, "gala", TODAY) == shown.commitment


def test_a_days_seed_is_secret_until_no_clock_says_that_it_is_today(town: Town) -> None:
    campaign = a_lottery(town)
    town.clock.at_ms = draw_day(campaign, NOW_MS).ends_at_ms + REVEAL_AFTER_MS - 1

    with pytest.raises(ProofNotReady):
        proof(town)


@pytest.mark.parametrize("day", ["20261117", "20261122", "2026111", "20261131", "", "today"])
def test_a_day_that_the_campaign_does_not_have_is_not_found(town: Town, day: str) -> None:
    a_lottery(town)
    town.pass_time(10 * DAY_MS)

    with pytest.raises(CampaignNotFound):
        proof(town, day)


def test_a_campaign_without_prizes_reveals_nothing(town: Town) -> None:
    town.campaigns.create(a_campaign(campaign_id="gala"))
    town.pass_time(3 * DAY_MS)

    with pytest.raises(CampaignNotFound):
        proof(town)


def test_the_campaigns_first_and_last_day_are_found() -> None:
    campaign = a_campaign(timezone="UTC", starts_at_ms=0, ends_at_ms=2 * DAY_MS)

    found = [find_day(campaign, day) for day in ("19691231", "19700101", "19700102", "19700103")]

    assert [day and day.name for day in found] == [None, "19700101", "19700102", None]


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
def test_a_day_lasts_as_long_as_it_does_there(timezone: str, day: str, hours: int) -> None:
    campaign = a_campaign(timezone=timezone, starts_at_ms=0, ends_at_ms=4_000_000_000_000)
    found = find_day(campaign, day)

    assert found
    assert found.ends_at_ms - found.starts_at_ms == hours * 3_600_000
    assert draw_day(campaign, found.starts_at_ms) == found
    assert draw_day(campaign, found.ends_at_ms - 1) == found
    assert draw_day(campaign, found.ends_at_ms).starts_at_ms == found.ends_at_ms
