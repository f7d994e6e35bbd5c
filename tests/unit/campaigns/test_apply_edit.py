"""Order of the steps in an operator's edit: write it, load it into the cache, read it back."""

from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.model import Campaign
from redpacket.platform.errors import InvalidRequest
from redpacket.platform.idempotency import Request
from testing.builders import a_campaign, a_prize
from testing.fakes import Away
from testing.in_memory_system import InMemorySystem, an_operator

OPERATOR = an_operator()


@pytest.fixture
def campaign(system: InMemorySystem) -> Campaign:
    campaign = a_campaign(campaign_id="fair")
    assert system.campaigns.create(campaign)
    return campaign


def put(system: InMemorySystem, **changes: Any) -> Any:
    return system.process().apply_prize(a_prize("fair", **changes), None, OPERATOR)


def change_stock(system: InMemorySystem, delta: int) -> Any:
    request = Request("operator", f"stock {delta}", str(delta))
    return system.process().apply_stock("fair", "cup", delta, None, OPERATOR, request)


@pytest.mark.usefixtures("campaign")
def test_a_new_prize_can_be_drawn_at_once(system: InMemorySystem) -> None:
    prize, stock, is_new = put(system, total=1)

    assert (prize.prize_id, stock.prize_id, is_new) == ("cup", "cup", True)
    # The edit itself loads the prize, because the cache already has the campaign.
    assert system.lots.count_issued("fair", ["cup"]) == {"cup": 0}
    assert system.draw("fair", "ann", "key").draw.prize


@pytest.mark.usefixtures("campaign")
def test_an_edit_is_stored_if_the_cache_is_unavailable(system: InMemorySystem) -> None:
    system.draw_cache = Away()

    prize, _, is_new = put(system, total=1)

    assert (prize.version, is_new) == (1, True)
    assert [name for name, _ in system.logger.errors] == ["campaign_not_loaded"]
    system.draw_cache = system.lots
    assert system.draw("fair", "ann", "key").draw.prize


@pytest.mark.usefixtures("campaign")
def test_more_stock_is_reported_with_the_number_left(system: InMemorySystem) -> None:
    put(system, total=1)
    system.draw("fair", "ann", "key")

    prize, stock = change_stock(system, 2)

    assert (prize.total, stock.durable_no) == (3, 1)
    assert system.draw("fair", "bob", "key").draw.prize


@pytest.mark.usefixtures("campaign")
def test_a_refused_edit_loads_nothing(system: InMemorySystem) -> None:
    put(system, total=1)
    system.lots.forget()

    with pytest.raises(InvalidRequest):
        put(system, total=2)

    assert system.lots.count_issued("fair", ["cup"]) is None


def test_a_campaign_with_prizes_is_loaded_after_an_edit(
    system: InMemorySystem, campaign: Campaign
) -> None:
    put(system, total=1)
    system.lots.forget()

    system.process().apply_campaign(replace(campaign, miss_weight=1), None, None, OPERATOR)

    assert system.lots.count_issued("fair", ["cup"]) == {"cup": 0}


def test_a_campaign_without_prizes_needs_no_cache(
    system: InMemorySystem, campaign: Campaign
) -> None:
    system.draw_cache = Away()

    system.process().apply_campaign(campaign, 20_000, None, OPERATOR)

    assert system.logger.errors == []
