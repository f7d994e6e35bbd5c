"""One suite for the draw claim cache in memory and the draw claim cache on a real server."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace
from itertools import count, product
from typing import Any

import pytest

from redpacket.campaigns.model import Campaign, CampaignStatus, DrawRules, WhenSoldOut
from redpacket.lottery.model.lottery import (
    CampaignSnapshot,
    DrawDay,
    DrawOutcome,
    DrawRequest,
    DrawStatus,
    Player,
    Prize,
    PrizeKind,
    PrizeStock,
    choose,
)
from redpacket.lottery.ports import DrawCache
from redpacket.lottery.redis.draws import RedisDraws
from testing.builders import a_campaign
from testing.fakes import FakeClock, FakeDrawCache
from testing.servers import OperatorCache

HOUR_MS = 3_600_000
LUCK = 2**51
"""A point in the middle: what has more than half of the weight wins."""


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
    """A claim cache under test, and what is asked of it in a few words."""

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
        """Draw some times; 0 is a miss."""
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


def test_a_winner_is_told_the_prize_its_unit_and_the_odds(lottery: Lottery) -> None:
    lottery.campaign = replace(lottery.campaign, miss_weight=20)
    lottery.load(a_prize("cup", weight=70, per_day=2), a_prize("pen", weight=30), version=7)

    outcome = lottery.draw()

    odds = "cup:70,pen:30|20"
    assert outcome == DrawOutcome(DrawStatus.WON, "cup", 1, 1, 7, odds)
    assert lottery.draw(point=2**52 * 99 // 120) == DrawOutcome(
        DrawStatus.WON, "pen", 1, 0, 7, odds
    )
    assert lottery.draw(point=2**52 - 1) == DrawOutcome(DrawStatus.MISSED, None, 0, 0, 7, odds)


def test_a_repeated_attempt_gets_the_same_answer(lottery: Lottery) -> None:
    lottery.campaign = replace(lottery.campaign, miss_weight=1)
    lottery.load(a_prize(total=1, per_day=1))
    won = lottery.draw(point=0, draw_id="one")
    missed = lottery.draw(point=2**52 - 1, draw_id="two")

    lottery.load(a_prize("pen"), version=2)

    assert lottery.draw(point=0, draw_id="one") == replace(won, is_repeat=True)
    assert lottery.draw(point=0, draw_id="two") == replace(missed, is_repeat=True)
    assert (won.status, missed.status) == (DrawStatus.WON, DrawStatus.MISSED)


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
def test_a_lottery_that_gives_nothing_now_says_why(
    lottery: Lottery, changes: dict[str, Any], status: DrawStatus
) -> None:
    lottery.campaign = a_lottery(**changes)
    lottery.load(a_prize(), version=7)

    # By the version the caller sees whether an edit is missing.
    assert lottery.draw() == DrawOutcome(status, table_version=7)


@pytest.mark.parametrize("shift_ms", [-3 * HOUR_MS, 3 * HOUR_MS], ids=["yesterday", "tomorrow"])
def test_a_day_that_is_not_todays_is_refused(lottery: Lottery, shift_ms: int) -> None:
    lottery.load(a_prize())
    day = lottery.day
    lottery.day = DrawDay("20270130", day.starts_at_ms + shift_ms, day.ends_at_ms + shift_ms)

    assert lottery.draw() == DrawOutcome(DrawStatus.WRONG_DAY)


def test_attempts_are_limited_per_user_and_day(lottery: Lottery) -> None:
    lottery.rule(attempts_per_user_per_day=2)
    lottery.load(a_prize(total=10), version=7)

    assert lottery.units(2) == [1, 2]
    assert lottery.draw() == DrawOutcome(DrawStatus.ATTEMPTS_EXHAUSTED, table_version=7)
    assert lottery.draw("bob").unit_no == 3
    lottery.day = a_day("20270130")
    assert lottery.draw().unit_no == 4


@pytest.mark.parametrize(
    ("when_sold_out", "odds"), [(WhenSoldOut.REDISTRIBUTE, "|5"), (WhenSoldOut.MISS, "|15")]
)
def test_who_has_won_enough_can_only_miss(
    lottery: Lottery, when_sold_out: WhenSoldOut, odds: str
) -> None:
    lottery.campaign = replace(lottery.campaign, miss_weight=5, when_sold_out=when_sold_out)
    lottery.rule(wins_per_user_per_day=1, guaranteed_after_misses=1)
    lottery.load(a_prize(weight=10))

    assert lottery.draw(point=0).prize_id == "cup"
    for _ in range(3):
        assert lottery.draw(point=0) == DrawOutcome(DrawStatus.MISSED, None, 0, 0, 1, odds)
    assert lottery.draw("bob", point=0).unit_no == 2


def test_a_prize_that_is_sold_out_leaves_the_odds_to_the_others(lottery: Lottery) -> None:
    lottery.campaign = replace(lottery.campaign, miss_weight=5)
    lottery.load(a_prize("cup", weight=10, total=1), a_prize("pen", weight=20))

    odds = [lottery.draw(point=0).odds for _ in range(5)]

    assert odds == ["cup:10,pen:20|5", "pen:20|5", "pen:20|5", "pen:20|5", "|5"]


def test_a_prize_that_is_sold_out_leaves_its_weight_to_the_miss(lottery: Lottery) -> None:
    campaign = replace(lottery.campaign, miss_weight=5, when_sold_out=WhenSoldOut.MISS)
    lottery.campaign = campaign
    lottery.load(a_prize("cup", weight=10, total=1), a_prize("pen", weight=20))

    odds = [lottery.draw(point=0).odds for _ in range(5)]

    assert odds == ["cup:10,pen:20|5", "pen:20|15", "pen:20|15", "pen:20|15", "|35"]


def test_daily_stock_is_of_one_day(lottery: Lottery) -> None:
    lottery.load(a_prize(total=5, per_day=2))

    today = [lottery.draw() for _ in range(3)]
    lottery.day = a_day("20270130")
    tomorrow = [lottery.draw() for _ in range(3)]
    lottery.day = a_day("20270131")
    last = [lottery.draw() for _ in range(2)]

    assert [(one.unit_no, one.day_no) for one in today] == [(1, 1), (2, 2), (0, 0)]
    assert [(one.unit_no, one.day_no) for one in tomorrow] == [(3, 1), (4, 2), (0, 0)]
    assert [(one.unit_no, one.day_no) for one in last] == [(5, 1), (0, 0)]


@pytest.mark.parametrize(("started_ago_ms", "released"), [(HOUR_MS // 2, 2), (HOUR_MS * 3 // 2, 4)])
def test_each_hour_releases_units(lottery: Lottery, started_ago_ms: int, released: int) -> None:
    lottery.campaign = replace(lottery.campaign, starts_at_ms=_now_ms() - started_ago_ms)
    lottery.load(a_prize(total=10, per_hour=2))

    won = lottery.units(6)

    assert [number for number in won if number] == list(range(1, released + 1))


def test_the_next_hour_releases_more(lottery: Lottery) -> None:
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


def test_a_prize_may_be_won_once_by_a_user(lottery: Lottery) -> None:
    lottery.load(
        a_prize("cup", weight=8, once_per_user=True),
        a_prize("cup-2", weight=4, once_per_user=True),
        a_prize("pen", weight=1, total=9),
    )

    won = [lottery.draw(point=0).prize_id for _ in range(3)]
    lottery.day = a_day("20270130")

    assert won == ["cup", "cup-2", "pen"]
    assert lottery.draw(point=0).odds == "pen:1|0"
    assert lottery.draw("bob", point=0).odds == "cup:8,cup-2:4,pen:1|0"


def test_after_some_misses_in_a_row_a_draw_wins(lottery: Lottery) -> None:
    lottery.campaign = replace(lottery.campaign, miss_weight=1_000_000)
    lottery.rule(guaranteed_after_misses=2)
    lottery.load(a_prize(total=2))

    outcomes = [lottery.draw() for _ in range(8)]

    # The last ones miss: nothing is left to win.
    assert [outcome.unit_no for outcome in outcomes] == [0, 0, 1, 0, 0, 2, 0, 0]
    assert [outcome.odds for outcome in outcomes[:3]] == ["cup:1|1000000"] * 2 + ["cup:1|0"]
    assert outcomes[-1].odds == "|1000000"


def test_an_edit_takes_effect_whole_and_keeps_what_is_issued(lottery: Lottery) -> None:
    lottery.load(a_prize("cup", total=2), a_prize("pen"))
    lottery.draw(point=0)

    lottery.load(a_prize("cup", weight=5, total=3), a_prize("tea"), version=2)

    outcome = lottery.draw(point=0)
    assert (outcome.odds, outcome.unit_no, outcome.table_version) == ("cup:5,tea:1|0", 2, 2)


def test_a_lost_lottery_comes_back_with_its_stock_and_its_gaps(lottery: Lottery) -> None:
    prize = a_prize(total=5, per_day=3)
    lottery.load(prize, stock=(PrizeStock("cup", 4, (1, 3), 2, (1,)),))

    outcomes = [lottery.draw() for _ in range(3)]

    assert [(one.unit_no, one.day_no) for one in outcomes] == [(5, 3), (1, 1), (0, 0)]


def test_an_undone_attempt_can_be_decided_again(lottery: Lottery) -> None:
    lottery.rule(attempts_per_user_per_day=1, wins_per_user_per_day=1)
    prize = a_prize(total=3, per_day=3, once_per_user=True)
    lottery.load(prize)
    ask = lottery.ask()
    lottery.claim_cache.draw(ask)

    for _ in range(2):
        lottery.claim_cache.undo(ask, is_unit_free=False)

    outcome = lottery.claim_cache.draw(ask)
    # Somebody else has unit 1.
    assert (outcome.unit_no, outcome.day_no, outcome.is_repeat) == (2, 2, False)
    assert lottery.draw().status is DrawStatus.ATTEMPTS_EXHAUSTED


def test_a_free_unit_is_offered_again(lottery: Lottery) -> None:
    lottery.load(a_prize(total=2, per_day=2))
    asks = [lottery.ask() for _ in range(2)]
    for ask in asks:
        lottery.claim_cache.draw(ask)
    assert lottery.draw("bob").odds == "|0"

    for _ in range(2):
        lottery.claim_cache.undo(asks[0], is_unit_free=True)

    outcomes = [lottery.draw("bob") for _ in range(2)]
    assert [(one.unit_no, one.day_no) for one in outcomes] == [(1, 1), (0, 0)]


def test_a_players_counts_are_the_ledgers(lottery: Lottery) -> None:
    lottery.campaign = replace(lottery.campaign, miss_weight=1_000_000)
    lottery.rule(attempts_per_user_per_day=2, wins_per_user_per_day=2, guaranteed_after_misses=3)
    lottery.load(a_prize())
    lottery.draw()

    lottery.claim_cache.set_player(lottery.ask(), Player(-1, 0, 3))
    outcomes = [lottery.draw() for _ in range(4)]
    assert [outcome.unit_no for outcome in outcomes] == [1, 0, 0, 0]
    assert outcomes[-1].status is DrawStatus.ATTEMPTS_EXHAUSTED

    lottery.claim_cache.set_player(lottery.ask(), Player(0, 2, 9))
    assert lottery.draw().odds == "|1000000"


def test_units_are_counted_where_the_lottery_is_loaded(lottery: Lottery) -> None:
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


def test_one_of_many_loads(lottery: Lottery) -> None:
    answers = [lottery.claim_cache.begin_load("spring", 300) for _ in range(3)]

    assert answers == [True, False, False]
    assert lottery.claim_cache.begin_load("autumn", 300)
    if isinstance(lottery.claim_cache, FakeDrawCache):
        lottery.claim_cache._clock.sleep_ms(301)
    else:
        time.sleep(0.31)
    assert lottery.claim_cache.begin_load("spring", 300)


class _Story:
    """Random moves, the same on the fake and on the server."""

    def __init__(self, seed: int, cache: OperatorCache) -> None:
        self._random = random.Random(seed)
        self._cache = cache
        self._fake = FakeDrawCache(FakeClock(_now_ms()))
        self._caches: list[DrawCache] = [self._fake, RedisDraws(cache)]
        self._days = [a_day("20270129"), a_day("20270130")]
        self._asks: list[DrawRequest] = []
        self._version = 0

    def edit(self) -> None:
        pick = self._random
        self._version += pick.choice([-1, 0, 1, 1, 1]) if self._version else 1
        campaign = a_lottery(
            miss_weight=pick.choice([0, 1, 10, 10**9]),
            when_sold_out=pick.choice(list(WhenSoldOut)),
            rules=DrawRules(*(pick.choice([0, 0, limit]) for limit in (6, 3, 2))),
            # Far from the change of an hour, or the two clocks might not agree.
            starts_at_ms=_now_ms() - HOUR_MS * pick.choice([1, 3]) // 2,
        )
        prizes = [
            a_prize(
                f"p{number}",
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
        table, day = (
            CampaignSnapshot(campaign, tuple(prizes), self._version),
            pick.choice(self._days),
        )
        for claim_cache in self._caches:
            claim_cache.load(table, day, stock)

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
        if real.odds:
            assert real.prize_id == choose(real.odds, ask.point)

    def undo(self) -> None:
        if self._asks:
            ask, is_unit_free = self._random.choice(self._asks), self._random.random() < 0.5
            for claim_cache in self._caches:
                claim_cache.undo(ask, is_unit_free=is_unit_free)

    def drop(self) -> None:
        if self._asks:
            ask = self._random.choice(self._asks)
            # All days: a story loads more often than once in a millisecond, so that revisions run
            # ahead of the clock, and a new lottery could have the revision of a day's odds.
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
            prize_id = f"p{self._random.randint(0, 12)}"
            for claim_cache in self._caches:
                claim_cache.set_player(ask, player)
                claim_cache.mark_winner(ask, prize_id)


@pytest.mark.parametrize("seed", range(30))
def test_the_scripts_and_the_fake_tell_one_story(cache: OperatorCache, seed: int) -> None:
    story = _Story(seed, cache)
    moves = random.Random(seed)
    story.edit()

    for _ in range(150):
        (move,) = moves.choices(
            [story.draw, story.undo, story.edit, story.correct, story.drop, story.forget],
            [40, 6, 4, 2, 1, 1],
        )
        move()


def test_the_version_of_the_loaded_table_is_found(lottery: Lottery) -> None:
    claim_cache, campaign_id = lottery.claim_cache, lottery.campaign.campaign_id
    assert claim_cache.find_version(campaign_id) is None

    for version in (3, 7, 5):
        lottery.load(version=version)

    assert claim_cache.find_version(campaign_id) == 7
