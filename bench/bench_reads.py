"""What pages cost in read units, by the sizes of what they read.

make bench-reads

The real flows and adapters on DynamoDB in memory, behind a meter (tests/units.py). Each figure
has a function of its own, and is the most that one request cost in any case. The last line is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from redpacket.adapters import keys
from redpacket.adapters.dynamo import put
from redpacket.domain.lottery import Prize, PrizeKind, PrizeStock, draw_day
from redpacket.flows.recall_lottery import KEPT_MS
from tests.builders import a_campaign
from tests.prizes import noisy_prizes, real_prizes
from tests.town import Town
from tests.units import MeteredDynamo

WIN_COUNT = 20_000
CAMPAIGN_ID = "spring-2027"
GETS = 5
"""A page of a process that has just started, then of one that lives, as often as it asks again."""


def campaign_rcu_max() -> float:
    """Return the most that a user's GET of a campaign reads, with 10 and 100 prizes."""
    units = {count: _campaign_rcus(real_prizes(CAMPAIGN_ID, count)) for count in (10, 100)}
    for count, (first_of_day, *others) in units.items():
        print(
            f"{count} prizes, {WIN_COUNT:,} wins: {max(others):g} units a GET at most,"
            f" {first_of_day:g} the first one of a day"
        )
    noisy = _campaign_rcus(noisy_prizes(CAMPAIGN_ID, 100))
    print(f"100 prizes of nothing but noise, 500 signs each: {max(noisy[1:]):g} units")
    return max(max(others) for _, *others in units.values())


FIGURES: dict[str, Callable[[], float]] = {"campaign_rcu_max": campaign_rcu_max}


def _campaign_rcus(prizes: list[Prize]) -> list[float]:
    """Return what each GET costs: the first of the day, of new processes, of one that lives on."""
    town = Town()
    assert town.campaigns.create(a_campaign(campaign_id=CAMPAIGN_ID, title="新春好运大转盘"))
    for prize in prizes:
        goods = replace(prize, kind=PrizeKind.GOODS, packets=(), amount_fen=None, total=WIN_COUNT)
        assert town.draws.put_prize(goods, None)
    _win(town, prizes)
    meter = MeteredDynamo(town.dynamo)
    town.draws = town.draw_adapter(meter)
    units = []
    lasting = town.lotteries()
    for pages in [*(town.lotteries() for _ in range(GETS)), *([lasting] * GETS)]:
        meter.forget()
        shown = pages.recall(CAMPAIGN_ID)
        units.append(meter.units)
        assert len(shown.table.prizes) == len(prizes)
        assert shown.sold_out == {prizes[0].prize_id}
        assert shown.commitment
        town.pass_time(KEPT_MS)
    return units


def _win(town: Town, prizes: list[Prize]) -> None:
    """Put every unit of the first prize, and load the lottery: it is sold out."""
    first = prizes[0]
    write = town.dynamo.put_item
    for unit_no in range(1, WIN_COUNT + 1):
        unit = keys.unit(CAMPAIGN_ID, first.prize_id, unit_no)
        won = put("draws", {**unit, "user_id": f"user-{unit_no}", "draw_id": f"{unit_no:032x}"})
        write(**won["Put"])
    table = town.draws.find_table(CAMPAIGN_ID)
    assert table
    day = draw_day(table.campaign, town.clock.now_ms())
    town.draw_board.load(table, day, [PrizeStock(first.prize_id, durable_no=WIN_COUNT)])


def main() -> None:
    """Measure all figures."""
    print(json.dumps({name: measure() for name, measure in FIGURES.items()}))


if __name__ == "__main__":
    main()
