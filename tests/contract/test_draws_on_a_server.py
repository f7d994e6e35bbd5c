"""Behavior of the lottery's scripts that only a real server shows."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from redis.crc import key_slot

from redpacket.campaigns.model import DrawRules, WhenSoldOut
from redpacket.fairness.model import days
from redpacket.lottery.model import lottery
from redpacket.lottery.model.odds import POINT_BITS, choose, draw_point
from redpacket.lottery.redis import keys
from redpacket.lottery.redis.draws import RedisDraws
from redpacket.platform.errors import CacheAway, Unavailable
from redpacket.platform.redis.connect import read_script
from testing.builders import a_campaign
from testing.platform.servers import OperatorCache

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
SEED = b"a seed of 16 b.."


def _now_ms() -> int:
    return int(time.time() * 1000)


def _day() -> days.DrawDay:
    return days.DrawDay("20270129", _now_ms() - HOUR_MS, _now_ms() + HOUR_MS)


def _snapshot(*prizes: lottery.Prize, **changes: object) -> lottery.CampaignSnapshot:
    now_ms = _now_ms()
    window = {"starts_at_ms": now_ms - HOUR_MS // 2, "ends_at_ms": now_ms + 2 * HOUR_MS}
    return lottery.CampaignSnapshot(
        a_campaign(campaign_id="spring", **{**window, **changes}), prizes, 1
    )


def _prize(
    prize_id: str = "cup", weight: int = 1, total: int = 10, **changes: object
) -> lottery.Prize:
    prize = lottery.Prize("spring", prize_id, "杯子", lottery.PrizeKind.GOODS, weight, total)
    return replace(prize, **changes)  # type: ignore[arg-type]


def _ask(day: days.DrawDay, user_id: str, draw_id: str, point: int = 0) -> lottery.DrawRequest:
    return lottery.DrawRequest("spring", user_id, draw_id, day, point)


def _keys(cache: OperatorCache) -> list[str]:
    return [str(key) for key in cache.scan_iter()]


def test_a_hundred_threads_win_each_of_ten_units_once(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    claim_cache.load(_snapshot(_prize(per_day=10)), day, [])

    with ThreadPoolExecutor(max_workers=100) as pool:
        asks = [_ask(day, f"user-{number}", f"draw-{number}") for number in range(100)]
        outcomes = list(pool.map(claim_cache.draw, asks))

    won = [outcome for outcome in outcomes if outcome.status is lottery.DrawStatus.WON]
    assert sorted(outcome.unit_no for outcome in won) == list(range(1, 11))
    assert sorted(outcome.day_no for outcome in won) == list(range(1, 11))
    assert Counter(outcome.status.value for outcome in outcomes) == {"won": 10, "missed": 90}


def test_one_user_in_a_hundred_threads_makes_only_the_allowed_draws(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    rules = DrawRules(attempts_per_user_per_day=7, wins_per_user_per_day=3)
    claim_cache.load(_snapshot(_prize(total=100), rules=rules), day, [])

    with ThreadPoolExecutor(max_workers=100) as pool:
        asks = [_ask(day, "ann", f"draw-{number}") for number in range(100)]
        outcomes = list(pool.map(claim_cache.draw, asks))

    counted = Counter(outcome.status.value for outcome in outcomes)
    assert counted == {"won": 3, "missed": 4, "attempts_exhausted": 93}


def test_one_attempt_in_a_hundred_threads_is_decided_once(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    claim_cache.load(_snapshot(_prize()), day, [])

    with ThreadPoolExecutor(max_workers=100) as pool:
        outcomes = list(pool.map(lambda _: claim_cache.draw(_ask(day, "ann", "draw")), range(100)))

    assert {(outcome.prize_id, outcome.unit_no) for outcome in outcomes} == {("cup", 1)}
    assert Counter(outcome.is_repeat for outcome in outcomes) == {True: 99, False: 1}


# Critical values of chi-square for p = 0.01, by degrees of freedom.
CRITICAL = {1: 6.635, 3: 11.345, 10: 23.209}
DRAWS = 25_000


def _drawn(cache: OperatorCache, day: days.DrawDay) -> Iterator[str]:
    """Make one draw for each of many users, and yield the script's answers. Each call runs the
    script a thousand times, because separate calls would spend most of the time in the client.
    """
    shebang, _, script = read_script("draw_prize").partition("\n")
    many = f"""{shebang}
    local keys, args, answers = KEYS, ARGV, {{}}
    local function draw(KEYS, ARGV) {script} end
    for i = 3, #args do
      -- Each has 52 random bits: no two draws belong to the same user.
      answers[#answers + 1] = draw(keys, {{args[i], args[i], args[i], args[1], args[2]}})
    end
    return answers"""
    names = [keys.draw_cache("spring"), keys.draw_day("spring", day.name)]
    names += [keys.draw_winners("spring")]
    for start in range(0, DRAWS, 1_000):
        points = [draw_point(SEED, "spring", "ann", start + number) for number in range(1_000)]
        yield from cache.eval(many, 3, *names, day.starts_at_ms, day.ends_at_ms, *points)


@pytest.mark.parametrize(
    ("weights", "miss_weight"),
    [((1, 10, 100), 889), ((7, 3), 0), (tuple(range(1, 11)), 45)],
    ids=["rare prizes", "no miss", "ten prizes"],
)
def test_prizes_are_drawn_by_their_weights(
    cache: OperatorCache, weights: tuple[int, ...], miss_weight: int
) -> None:
    prizes = [_prize(f"p{no:02d}", weight, DRAWS) for no, weight in enumerate(weights)]
    # A sold-out prize must not change the other prizes' odds.
    prizes.append(_prize("out", 1_000, 0))
    day = _day()
    RedisDraws(cache).load(_snapshot(*prizes, miss_weight=miss_weight), day, [])

    counted: Counter[str | None] = Counter()
    for answer in _drawn(cache, day):
        _, prize_id, _ = answer.split(" ", 2)
        counted[prize_id] += 1

    total = sum(weights) + miss_weight
    expected: dict[str | None, float] = {
        prize.prize_id: DRAWS * prize.weight / total for prize in prizes[:-1]
    }
    if miss_weight:
        expected["-"] = DRAWS * miss_weight / total
    square = sum((counted[name] - wanted) ** 2 / wanted for name, wanted in expected.items())
    print(f"chi-square {square:.2f} of {len(expected) - 1} degrees of freedom")  # noqa: T201
    assert set(counted) == set(expected)
    assert square < CRITICAL[len(expected) - 1]


@pytest.mark.parametrize("seed", range(40))
def test_the_script_chooses_exactly_as_python_does(cache: OperatorCache, seed: int) -> None:
    claim_cache, day, pick = RedisDraws(cache), _day(), random.Random(seed)
    largest = pick.choice([3, 1_000, 10**9, 10**14])
    prizes = [_prize(f"p{no:02d}", pick.randint(1, largest), 10**6) for no in range(12)]
    claim_cache.load(_snapshot(*prizes, miss_weight=pick.randint(0, largest)), day, [])
    odds = claim_cache.draw(_ask(day, "ann", "first")).odds
    weights = [int(entry.rpartition(":")[2]) for entry in odds.partition("|")[0].split(",")]
    total = sum(weights) + int(odds.partition("|")[2])

    # Try the points around every border between two prizes.
    borders = [sum(weights[:no]) * 2**POINT_BITS // total for no in range(len(weights) + 1)]
    near = {border + shift for border in borders for shift in (-2, -1, 0, 1, 2)}
    points = sorted(point for point in near if 0 <= point < 2**POINT_BITS)

    chosen = [claim_cache.draw(_ask(day, "ann", f"draw-{at}", at)).prize_id for at in points]
    assert chosen == [choose(odds, point) for point in points]
    assert set(filter(None, chosen)) == {prize.prize_id for prize in prizes}


def test_every_key_expires_and_shares_its_slot_with_the_others(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    snapshot = _snapshot(_prize(once_per_user=True))

    claim_cache.load(snapshot, day, [])
    claim_cache.draw(_ask(day, "ann", "draw"))
    claim_cache.begin_load("spring", 2_000)

    ends = {key: cache.pexpiretime(key) for key in _keys(cache)}
    assert 0 < ends.pop(keys.draw_loading("spring")) <= _now_ms() + 2_000
    assert ends == {
        keys.draw_cache("spring"): snapshot.campaign.ends_at_ms + DAY_MS,
        keys.draw_winners("spring"): snapshot.campaign.ends_at_ms + DAY_MS,
        keys.draw_day("spring", "20270129"): day.ends_at_ms + DAY_MS,
    }
    assert len({key_slot(key.encode()) for key in _keys(cache)}) == 1


@pytest.mark.parametrize("first", ["load", "set_player", "mark_winner", "undo"])
def test_a_key_expires_whichever_script_creates_it(cache: OperatorCache, first: str) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    ask = _ask(day, "ann", "draw")
    snapshot = _snapshot(_prize(per_day=3))
    moves: dict[str, Callable[[], None]] = {
        "load": lambda: claim_cache.load(snapshot, day, [lottery.PrizeStock("cup", 1, (), 1)]),
        "set_player": lambda: claim_cache.set_player(ask, lottery.Player(1)),
        "mark_winner": lambda: claim_cache.mark_winner(ask, "cup"),
        "undo": lambda: claim_cache.undo(ask, is_unit_free=True),
    }

    for move in (moves.pop(first), *moves.values()):
        move()
        assert all(cache.pttl(key) > 0 for key in _keys(cache))
    assert len(_keys(cache)) > 1


def test_a_later_end_extends_all_keys(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    snapshot = _snapshot(_prize(once_per_user=True))
    claim_cache.load(snapshot, day, [])
    claim_cache.draw(_ask(day, "ann", "draw"))

    ends_at_ms = snapshot.campaign.ends_at_ms + DAY_MS
    claim_cache.load(
        replace(snapshot, campaign=replace(snapshot.campaign, ends_at_ms=ends_at_ms)), day, []
    )

    for key in (keys.draw_cache("spring"), keys.draw_winners("spring")):
        assert cache.pexpiretime(key) == ends_at_ms + DAY_MS


def test_a_lottery_that_ended_long_ago_is_loaded_for_a_while(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()

    claim_cache.load(_snapshot(_prize(), starts_at_ms=1, ends_at_ms=2), day, [])

    assert claim_cache.draw(_ask(day, "ann", "draw")).status is lottery.DrawStatus.CAMPAIGN_ENDED
    assert 0 < cache.pttl(keys.draw_cache("spring")) <= 600_000


def test_a_lost_day_starts_again(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    claim_cache.load(_snapshot(_prize(total=3)), day, [])
    claim_cache.draw(_ask(day, "ann", "one"))

    cache.delete(keys.draw_day("spring", day.name))

    outcome = claim_cache.draw(_ask(day, "ann", "two"))
    assert outcome.unit_no == 2
    assert claim_cache.draw(_ask(day, "ann", "two")) == replace(outcome, is_repeat=True)
    assert cache.pttl(keys.draw_day("spring", day.name)) > 0


def test_a_lottery_that_lost_its_hash_uses_the_new_snapshot(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    claim_cache.load(_snapshot(_prize("cup")), day, [])
    assert claim_cache.draw(_ask(day, "ann", "one")).odds == "cup:1|0"

    cache.delete(keys.draw_cache("spring"))
    time.sleep(0.002)
    claim_cache.load(_snapshot(_prize("pen")), day, [])

    assert claim_cache.draw(_ask(day, "ann", "two")).odds == "pen:1|0"


def test_a_unit_that_a_lost_hash_will_issue_is_not_offered_twice(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    snapshot = _snapshot(_prize(total=2))
    claim_cache.load(snapshot, day, [])
    ask = _ask(day, "ann", "one")
    claim_cache.draw(ask)

    cache.delete(keys.draw_cache("spring"))
    claim_cache.load(snapshot, day, [])
    claim_cache.undo(ask, is_unit_free=True)

    units = [claim_cache.draw(_ask(day, "bob", name)).unit_no for name in ("two", "three", "four")]
    assert units == [1, 2, 0]


def test_a_full_server_refuses_a_draw_without_using_up_anything(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    claim_cache.load(_snapshot(_prize(total=1)), day, [])
    asks = [_ask(day, "ann", name) for name in ("one", "two")]
    claim_cache.draw(asks[0])

    cache.config_set("maxmemory", "1")
    try:
        with pytest.raises(Unavailable) as refused:
            claim_cache.draw(asks[1])
        claim_cache.undo(asks[0], is_unit_free=True)
    finally:
        cache.config_set("maxmemory", "0")

    assert not isinstance(refused.value, CacheAway)
    assert claim_cache.draw(asks[1]).unit_no == 1


def test_draws_work_on_a_snapshot_of_hundreds_of_prizes(cache: OperatorCache) -> None:
    claim_cache, day = RedisDraws(cache), _day()
    prizes = [_prize(f"prize-{number:03d}", 1_000_000, 1_000_000) for number in range(600)]
    snapshot = _snapshot(*prizes, when_sold_out=WhenSoldOut.MISS, miss_weight=10**12)
    claim_cache.load(
        snapshot, day, [lottery.PrizeStock(prize.prize_id, 999_999) for prize in prizes]
    )

    outcome = claim_cache.draw(_ask(day, "ann", "draw", 0))

    assert (outcome.prize_id, outcome.unit_no) == ("prize-000", 1_000_000)
    assert claim_cache.draw(_ask(day, "bob", "next", 0)).prize_id == "prize-001"
    assert claim_cache.draw(_ask(day, "cat", "last", 2**52 - 1)).status is lottery.DrawStatus.MISSED
