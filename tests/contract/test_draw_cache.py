"""Suite for the draw cache, in memory and with a real server.

The random scenario compares all answers with the fake's, which the tests of use cases check.
"""

from __future__ import annotations

import json
import random
import subprocess
import time
from dataclasses import dataclass, replace
from itertools import count, product
from typing import Any

import pytest

from local import places
from redpacket.campaigns.model import Campaign, CampaignStatus, DrawRules, WhenSoldOut
from redpacket.fairness.model.days import DrawDay
from redpacket.lottery.model.lottery import (
    CampaignSnapshot,
    DrawOutcome,
    DrawRequest,
    DrawStatus,
    Player,
    Prize,
    PrizeKind,
    PrizeStock,
)
from redpacket.lottery.model.odds import choose, could_be
from redpacket.lottery.ports import DrawCache
from redpacket.lottery.redis.draws import RedisDraws
from testing.builders import a_campaign
from testing.fakes import FakeClock, FakeDrawCache
from testing.platform.servers import OperatorCache

HOUR_MS = 3_600_000
LUCK = 2**51
"""Point in the middle, at which the prize with more than half of the weight wins."""


def _now_ms() -> int:
    return int(time.time() * 1000)


def a_prize(prize_id: str = "cup", *, weight: int = 1, total: int = 3, **changes: Any) -> Prize:
    prize = Prize("spring", prize_id, "杯子", PrizeKind.GOODS, weight, total)
    return replace(prize, **changes)


def a_lottery(**changes: Any) -> Campaign:
    now_ms = _now_ms()
    window = {"starts_at_ms": now_ms - HOUR_MS // 2, "ends_at_ms": now_ms + 2 * HOUR_MS}
    return a_campaign(**{"campaign_id": "spring", **window, **changes})


def a_day(name: str = "20270129") -> DrawDay:
    now_ms = _now_ms()
    return DrawDay(name, now_ms - HOUR_MS, now_ms + HOUR_MS)


@dataclass
class Lottery:
    """Draw cache under test, with defaults for the arguments of its calls."""

    claim_cache: DrawCache
    campaign: Campaign
    day: DrawDay
    numbers: count[int]

    def load(self, *prizes: Prize, version: int = 1, stock: tuple[PrizeStock, ...] = ()) -> None:
        self.claim_cache.load(CampaignSnapshot(self.campaign, prizes, version), self.day, stock)

    def ask(self, user_id: str = "ann", point: int = LUCK, draw_id: str = "") -> DrawRequest:
        name = draw_id or f"draw-{next(self.numbers)}"
        return DrawRequest(self.campaign.campaign_id, user_id, name, self.day, point)

    def draw(self, user_id: str = "ann", point: int = LUCK, draw_id: str = "") -> DrawOutcome:
        return self.claim_cache.draw(self.ask(user_id, point, draw_id))

    def units(self, times: int, user_id: str = "ann") -> list[int]:
        """Draw *times* times; return the unit numbers, in which 0 is a miss."""
        return [self.draw(user_id).unit_no for _ in range(times)]

    def rule(self, **rules: int) -> None:
        self.campaign = replace(self.campaign, rules=DrawRules(**rules))


@pytest.fixture(params=["fake", "redis"])
def lottery(request: pytest.FixtureRequest) -> Lottery:
    claim_cache: DrawCache
    if request.param == "fake":
        claim_cache = FakeDrawCache(FakeClock(_now_ms()))
    else:
        cache: OperatorCache = request.getfixturevalue("cache")
        claim_cache = RedisDraws(cache)
    return Lottery(claim_cache, a_lottery(), a_day(), count(1))


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"starts_at_ms": 1, "ends_at_ms": 2}, DrawStatus.CAMPAIGN_ENDED),
        ({"starts_at_ms": _now_ms() + HOUR_MS}, DrawStatus.CAMPAIGN_NOT_STARTED),
        ({"status": CampaignStatus.OFF}, DrawStatus.CAMPAIGN_PAUSED),
        (
            {"starts_at_ms": 1, "ends_at_ms": 2, "status": CampaignStatus.OFF},
            DrawStatus.CAMPAIGN_ENDED,
        ),
    ],
    ids=["ended", "not started", "paused", "ended and paused"],
)
def test_a_lottery_that_currently_gives_nothing_returns_the_reason(
    lottery: Lottery, changes: dict[str, Any], status: DrawStatus
) -> None:
    lottery.campaign = a_lottery(**changes)
    lottery.load(a_prize(), version=7)

    # The version shows the caller whether the cache lacks an edit.
    assert lottery.draw() == DrawOutcome(status, snapshot_version=7)


@pytest.mark.parametrize("shift_ms", [-3 * HOUR_MS, 3 * HOUR_MS], ids=["yesterday", "tomorrow"])
def test_a_draw_for_another_day_is_refused(lottery: Lottery, shift_ms: int) -> None:
    lottery.load(a_prize())
    day = lottery.day
    lottery.day = DrawDay("20270130", day.starts_at_ms + shift_ms, day.ends_at_ms + shift_ms)

    assert lottery.draw() == DrawOutcome(DrawStatus.WRONG_DAY)


@pytest.mark.parametrize(
    ("when_sold_out", "odds"), [(WhenSoldOut.REDISTRIBUTE, "|5"), (WhenSoldOut.MISS, "|15")]
)
def test_a_user_at_the_limit_of_wins_can_only_miss(
    lottery: Lottery, when_sold_out: WhenSoldOut, odds: str
) -> None:
    lottery.campaign = replace(lottery.campaign, miss_weight=5, when_sold_out=when_sold_out)
    lottery.rule(wins_per_user_per_day=1, guaranteed_after_misses=1)
    lottery.load(a_prize(weight=10))

    assert lottery.draw(point=0).prize_id == "cup"
    for _ in range(3):
        assert lottery.draw(point=0) == DrawOutcome(DrawStatus.MISSED, None, 0, 0, 1, odds)
    assert lottery.draw("bob", point=0).unit_no == 2


@pytest.mark.parametrize(
    ("when_sold_out", "odds"),
    [
        (WhenSoldOut.REDISTRIBUTE, ["pen:20|5", "pen:20|5", "pen:20|5", "|5"]),
        (WhenSoldOut.MISS, ["pen:20|15", "pen:20|15", "pen:20|15", "|35"]),
    ],
)
def test_a_sold_out_prize_keeps_the_odds_of_the_others_unchanged(
    lottery: Lottery, when_sold_out: WhenSoldOut, odds: list[str]
) -> None:
    lottery.campaign = replace(lottery.campaign, miss_weight=5, when_sold_out=when_sold_out)
    lottery.load(a_prize("cup", weight=10, total=1), a_prize("pen", weight=20))

    assert [lottery.draw(point=0).odds for _ in range(5)] == ["cup:10,pen:20|5", *odds]


def test_daily_stock_belongs_to_one_day(lottery: Lottery) -> None:
    lottery.load(a_prize(total=5, per_day=2))

    won = []
    for lottery.day in (a_day(), a_day("20270130"), a_day("20270131")):
        won.append(
            [
                (draw_outcome.unit_no, draw_outcome.day_no)
                for draw_outcome in (lottery.draw() for _ in range(3))
            ]
        )

    assert won == [[(1, 1), (2, 2), (0, 0)], [(3, 1), (4, 2), (0, 0)], [(5, 1), (0, 0), (0, 0)]]


def test_the_next_hour_releases_more_units(lottery: Lottery) -> None:
    now_ms = _now_ms()
    # The first hour is over in half a second.
    lottery.campaign = replace(lottery.campaign, starts_at_ms=now_ms - HOUR_MS + 500)
    lottery.load(a_prize(total=10, per_hour=1))
    before = lottery.units(2)

    if isinstance(lottery.claim_cache, FakeDrawCache):
        lottery.claim_cache._clock.sleep_ms(600)
    else:
        time.sleep(0.6)

    assert before == [1, 0]
    assert lottery.units(2) == [2, 0]


def test_units_are_counted_for_a_loaded_lottery(lottery: Lottery) -> None:
    claim_cache, campaign_id = lottery.claim_cache, lottery.campaign.campaign_id
    assert claim_cache.count_issued(campaign_id, ["cup"]) is None

    stock = PrizeStock("pen", durable_no=7, free=(2, 5))
    lottery.load(a_prize(total=2), a_prize("pen", weight=0, total=9), stock=(stock,))
    assert claim_cache.count_issued(campaign_id, ["cup", "pen", "new"]) == {"cup": 0, "pen": 5}
    ask = lottery.ask()
    claim_cache.draw(ask)
    lottery.draw("bob")
    assert claim_cache.count_issued(campaign_id, ["cup"]) == {"cup": 2}
    claim_cache.undo(ask, is_unit_free=True)
    assert claim_cache.count_issued(campaign_id, ["pen", "cup"]) == {"pen": 5, "cup": 1}
    assert claim_cache.count_issued(campaign_id, []) == {}


def test_one_of_many_callers_loads(lottery: Lottery) -> None:
    answers = [lottery.claim_cache.begin_load("spring", 300) for _ in range(3)]

    assert answers == [True, False, False]
    assert lottery.claim_cache.begin_load("autumn", 300)
    if isinstance(lottery.claim_cache, FakeDrawCache):
        lottery.claim_cache._clock.sleep_ms(301)
    else:
        time.sleep(0.31)
    assert lottery.claim_cache.begin_load("spring", 300)


class _Scenario:
    """Random calls to the fake and to a server, both of which must give the same answers."""

    def __init__(self, seed: int, cache: OperatorCache) -> None:
        self._random = random.Random(seed)
        self._cache = cache
        self._fake = FakeDrawCache(FakeClock(_now_ms()))
        self._caches: list[DrawCache] = [self._fake, RedisDraws(cache)]
        self._days = [a_day("20270129"), a_day("20270130")]
        self._asks: list[DrawRequest] = []
        self._version = 0
        self.decided: list[tuple[str, int, str | None]] = []
        """Odds, point and prize of each new draw."""

    def edit(self) -> None:
        pick = self._random
        self._version += pick.choice([-1, 0, 1, 1, 1]) if self._version else 1
        campaign = a_lottery(
            miss_weight=pick.choice([0, 1, 10, 10**9]),
            when_sold_out=pick.choice(list(WhenSoldOut)),
            rules=DrawRules(*(pick.choice([0, 0, limit]) for limit in (6, 3, 2))),
            # Start far from the end of an hour, at which the two clocks might differ.
            starts_at_ms=_now_ms() - HOUR_MS * pick.choice([1, 3]) // 2,
        )
        prizes = [
            a_prize(
                f"p-{number}",
                weight=pick.choice([0, 1, 3, 1000, 10**6]),
                total=pick.randint(0, 12),
                per_day=pick.choice([0, 0, 2, 5]),
                per_hour=pick.choice([0, 0, 3]),
                once_per_user=pick.random() < 0.3,
                status=CampaignStatus.OFF if pick.random() < 0.1 else CampaignStatus.ON,
            )
            for number in range(pick.randint(1, 12))
        ]
        pick.shuffle(prizes)
        stock = [self._stock(prize) for prize in prizes if pick.random() < 0.3]
        snapshot, day = (
            CampaignSnapshot(campaign, tuple(prizes), self._version),
            pick.choice(self._days),
        )
        for claim_cache in self._caches:
            claim_cache.load(snapshot, day, stock)

    def _stock(self, prize: Prize) -> PrizeStock:
        durable_no, day_no = self._random.randint(0, 6), self._random.randint(0, 2)
        free = [no for no in range(1, durable_no) if self._random.random() < 0.3]
        day_free = [no for no in range(1, day_no) if self._random.random() < 0.3]
        return PrizeStock(prize.prize_id, durable_no, tuple(free), day_no, tuple(day_free))

    def draw(self) -> None:
        pick = self._random
        if self._asks and pick.random() < 0.2:
            ask = pick.choice(self._asks)
        else:
            user_id, day = pick.choice(["ann", "bob", "陈 =:#"]), pick.choice(self._days)
            point = pick.choice([0, 2**52 - 1, pick.getrandbits(52), pick.getrandbits(52)])
            ask = DrawRequest("spring", user_id, f"draw-{len(self._asks)}", day, point)
            self._asks.append(ask)
        fake, real = (claim_cache.draw(ask) for claim_cache in self._caches)
        assert real == fake
        if real.odds and not real.is_repeat:
            assert real.prize_id == choose(real.odds, ask.point)
            # The ledger checks the cache's decision in this way.
            assert could_be(real, self._fake.snapshots["spring"], ask.point)
            self.decided.append((real.odds, ask.point, real.prize_id))

    def undo(self) -> None:
        if self._asks:
            ask, is_unit_free = self._random.choice(self._asks), self._random.random() < 0.5
            for claim_cache in self._caches:
                claim_cache.undo(ask, is_unit_free=is_unit_free)

    def drop(self) -> None:
        if self._asks:
            ask = self._random.choice(self._asks)
            # Drop all days. If one stayed, a new lottery could get the same revision as that day's
            # odds: a scenario loads more than once per millisecond, so revisions run ahead of the
            # clock.
            for claim_cache, day in product(self._caches, self._days):
                claim_cache.drop(replace(ask, day=day))

    def forget(self) -> None:
        self._cache.flushall()
        self._fake.forget()
        if self._random.random() < 0.8:
            self.edit()

    def correct(self) -> None:
        if self._asks:
            ask = self._random.choice(self._asks)
            player = Player(*(self._random.randint(low, 3) for low in (-2, 0, 0)))
            prize_id = f"p-{self._random.randint(0, 12)}"
            for claim_cache in self._caches:
                claim_cache.set_player(ask, player)
                claim_cache.mark_winner(ask, prize_id)


@pytest.mark.parametrize("seed", range(30))
def test_the_scripts_and_the_fake_give_the_same_answers(cache: OperatorCache, seed: int) -> None:
    scenario = _Scenario(seed, cache)
    moves = random.Random(seed)
    scenario.edit()

    for _ in range(150):
        (move,) = moves.choices(
            [
                scenario.draw,
                scenario.undo,
                scenario.edit,
                scenario.correct,
                scenario.drop,
                scenario.forget,
            ],
            [40, 6, 4, 2, 1, 1],
        )
        move()


def test_the_version_of_the_loaded_snapshot_is_found(lottery: Lottery) -> None:
    claim_cache, campaign_id = lottery.claim_cache, lottery.campaign.campaign_id
    assert claim_cache.find_version(campaign_id) is None

    for version in (3, 7, 5):
        lottery.load(version=version)

    assert claim_cache.find_version(campaign_id) == 7


DECIDED_MIN = 10_000
NODE = places.LOCAL / "venv" / "node" / "bin" / "node"
CHOOSE_AGAIN = """
const { choose } = await import(process.argv[1]);
const lines = (await import("node:fs")).readFileSync(0, "utf8").trim().split("\\n");
const cases = lines.map((line) => JSON.parse(line));
const wrong = cases.filter(([odds, point, prize]) => choose(odds, point) !== prize);
console.log(JSON.stringify({ count: cases.length, wrong: wrong.slice(0, 3) }));
"""


def test_every_implementation_of_the_odds_decides_10_000_draws_alike(
    cache: OperatorCache,
) -> None:
    """The script and the fake build the odds. Python checks each choice, and TypeScript
    repeats it.
    """
    decided: list[tuple[str, int, str | None]] = []
    for seed in count(1_000):
        scenario = _Scenario(seed, cache)
        for _ in range(20):
            scenario.edit()
            for _ in range(30):
                scenario.draw()
        decided += scenario.decided
        cache.flushall()
        if len(decided) >= DECIDED_MIN:
            break

    node = subprocess.run(
        [NODE, "--input-type=module", "-e", CHOOSE_AGAIN, places.ROOT / "web/src/verify/draws.ts"],
        input="\n".join(json.dumps(each) for each in decided),
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(node.stdout) == {"count": len(decided), "wrong": []}
    assert len({odds for odds, _, _ in decided}) > DECIDED_MIN // 100
    assert {bool(prize) for _, _, prize in decided} == {True, False}
