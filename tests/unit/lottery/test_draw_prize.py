import hashlib
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.errors import (
    CampaignEnded,
    CampaignNotFound,
    CampaignNotStarted,
    CampaignPaused,
)
from redpacket.campaigns.model import Campaign, CampaignStatus, DrawRules, WhenSoldOut
from redpacket.fairness.model import days
from redpacket.lottery.dynamodb.draws import DynamoDraws
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.lottery.errors import AttemptsExhausted
from redpacket.lottery.model import lottery, odds
from redpacket.platform import errors
from testing.builders import NOW_MS, a_prize
from testing.fakes import Away, FakeDrawCache
from testing.in_memory_system import DAY_MS, InMemorySystem
from testing.lottery.prizes import write_prize


def loaded(system: InMemorySystem, *prizes: lottery.Prize, **changes: Any) -> dict[str, Any]:
    """Put a lottery into the cache; return a replica's copy of it."""
    system.lottery(*prizes, **changes)
    system.load_campaign("gala")
    return system.lots.snapshot()


def edit(system: InMemorySystem, campaign: Campaign, **changes: Any) -> Campaign:
    after = replace(campaign, version=campaign.version + 1, **changes)
    assert system.campaigns.edit(after, campaign)
    return after


def an_ask(system: InMemorySystem, user_id: str, key: str) -> lottery.DrawRequest:
    snapshot = system.snapshots().get("gala")
    day = lottery.draw_day(snapshot.campaign, system.clock.now_ms())
    draw_no = system.draws.find_attempt("gala", user_id, key, day.name, asks_audience=False).draw_no
    draw_id = lottery.draw_id_of("gala", user_id, day.name, draw_no)
    seed = system.snapshots().seed("gala", day.name)
    return lottery.DrawRequest(
        "gala", user_id, draw_id, day, odds.draw_point(seed, "gala", user_id, draw_no)
    )


def player(system: InMemorySystem, user_id: str) -> lottery.Player:
    return system.draws.find_player("gala", user_id, an_ask(system, user_id, "").day.name)


class Meddled:
    """Draw cache with a callback before each draw."""

    def __init__(self, claim_cache: FakeDrawCache, before: Callable[[], None]) -> None:
        self._claim_cache = claim_cache
        self._before = before

    def draw(self, ask: lottery.DrawRequest) -> lottery.DrawOutcome:
        self._before()
        return self._claim_cache.draw(ask)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._claim_cache, name)


class Counting:
    """Repository that records each call."""

    def __init__(self, repository: DynamoDraws | DynamoPrizes, calls: list[str]) -> None:
        self._repository = repository
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        self._calls.append(name)
        return getattr(self._repository, name)


ONE_IN = 1_000_000


def test_no_key_wins_for_a_user_who_knows_the_seed(system: InMemorySystem) -> None:
    # A review tried keys offline until one won such a prize, because the point was a hash of the
    # seed and of an id that contained the client's key.
    system.lottery(a_prize("gala", "car", weight=1), miss_weight=ONE_IN - 1)
    root = (40).to_bytes(days.SEED_BYTES, "big")  # With this seed, the review's formula soon wins.
    row = system.dynamo.tables["campaigns"]["seed#gala", "seed"]
    del row["sealed"]
    row["seed"] = {"S": root.hex()}
    seed = days.day_seed(root, an_ask(system, "ann", "").day.name)

    def reviewed_point(key: str) -> int:
        draw_id = hashlib.sha256(f"gala\nann\n{key}".encode()).hexdigest()[:32]
        return int.from_bytes(hashlib.shake_256(seed + draw_id.encode()).digest(8)) >> 12

    ground = next(key for key in map(str, range(20_000)) if reviewed_point(key) < 2**52 // ONE_IN)
    points = {an_ask(system, "ann", key).point for key in (ground, "another", "a third")}
    draw = system.draw("gala", "ann", ground).draw

    assert draw.prize is None
    assert points == {draw.point} == {odds.draw_point(seed, "gala", "ann", 1)}
    assert system.draw("gala", "ann", "next").draw.point == odds.draw_point(seed, "gala", "ann", 2)


@pytest.mark.parametrize(("weight", "odds"), [(10, "cup:10|0"), (0, "|1")])
def test_a_draw_is_durable_before_the_user_gets_the_answer(
    system: InMemorySystem, weight: int, odds: str
) -> None:
    system.lottery(a_prize("gala", title="金杯", weight=weight), miss_weight=int(not weight))

    result = system.draw("gala", "ann", "key")

    prize = result.draw.prize
    assert (prize and prize.title, result.draw.odds) == ("金杯" if weight else None, odds)
    assert result.draw.unit_no == bool(weight)
    assert system.draws.find_draw("gala", "ann", result.draw.draw_id) == result.draw
    assert system.draws.list_draws("gala", "ann") == [result.draw]
    assert result.attempts_left is None


def test_the_seed_is_enough_to_compute_every_draw(system: InMemorySystem) -> None:
    system.lottery(a_prize("gala", "cup", weight=3), a_prize("gala", "pen"), miss_weight=20)

    draws = [system.draw("gala", f"user-{number}", "key").draw for number in range(40)]

    seed = system.snapshots().seed("gala", draws[0].day)
    for draw in draws:
        assert draw.point == odds.draw_point(seed, "gala", draw.user_id, 1)
        assert odds.choose(draw.odds, draw.point) == (draw.prize and draw.prize.prize_id)
    assert len({draw.prize and draw.prize.prize_id for draw in draws}) == 3


def test_the_same_key_always_gets_the_same_answer_and_uses_no_attempt(
    system: InMemorySystem,
) -> None:
    system.lottery(a_prize("gala", total=2), rules=DrawRules(attempts_per_user_per_day=1))
    first = system.draw("gala", "ann", "key")

    again = system.draw("gala", "ann", "key")
    system.lots.forget()
    cold = system.draw("gala", "ann", "key")
    with pytest.raises(AttemptsExhausted):
        system.draw("gala", "ann", "other")

    assert system.draw("gala", "ann", "key") == again == cold == first
    assert first.attempts_left == 0
    assert player(system, "ann") == lottery.Player(1, 1, 0)
    system.pass_time(DAY_MS)
    for _ in range(3):
        on_another_day = system.draw("gala", "ann", "key")
        assert (on_another_day.draw, on_another_day.attempts_left) == (first.draw, 1)
    assert system.draw("gala", "bob", "key").draw.unit_no == 2


def test_a_draw_returns_the_attempts_and_wins_that_remain(system: InMemorySystem) -> None:
    rules = DrawRules(attempts_per_user_per_day=5, wins_per_user_per_day=3)
    system.lottery(a_prize("gala", total=9), rules=rules)

    results = [system.draw("gala", "ann", f"key-{number}") for number in range(3)]

    assert [result.attempts_left for result in results] == [4, 3, 2]
    assert [result.wins_left for result in results] == [2, 1, 0]


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"starts_at_ms": NOW_MS + 1}, CampaignNotStarted),
        ({"ends_at_ms": NOW_MS}, CampaignEnded),
        ({"status": CampaignStatus.OFF}, CampaignPaused),
    ],
)
def test_an_inactive_campaign_refuses_draws_and_uses_up_nothing(
    system: InMemorySystem, changes: dict[str, Any], refusal: type[Exception]
) -> None:
    system.lottery(**changes)

    with pytest.raises(refusal):
        system.draw("gala", "ann", "key")

    assert player(system, "ann") == lottery.Player()


def test_an_unknown_campaign_has_no_draw(system: InMemorySystem) -> None:
    with pytest.raises(CampaignNotFound):
        system.draw("gala", "ann", "key")


@pytest.mark.parametrize("changes", [{"ends_at_ms": NOW_MS + 1000}, {"status": CampaignStatus.OFF}])
def test_a_repeat_after_the_end_gets_the_draw_that_the_cache_lost(
    system: InMemorySystem, changes: dict[str, Any]
) -> None:
    campaign = system.lottery()
    first = system.draw("gala", "ann", "key")
    system.lots.forget()
    edit(system, campaign, **changes)
    system.pass_time(1000)

    assert system.draw("gala", "ann", "key") == first


# ---------------------------------------------------------------- cash


def some_cash(**changes: Any) -> lottery.Prize:
    return a_prize("gala", "cash", kind=lottery.PrizeKind.PACKET, amount_fen=66, **changes)


def a_cash_lottery(system: InMemorySystem, total: int = 3, **changes: Any) -> None:
    system.lottery(a_prize("gala", weight=0), **changes)
    system.deposit("operator", 1000)
    system.put_prize(some_cash(total=total))


def test_cash_is_queued_for_payout_at_once_and_paid_once(system: InMemorySystem) -> None:
    a_cash_lottery(system)

    draw = system.draw("gala", "ann", "key").draw
    assert system.draw("gala", "ann", "key").draw == draw

    assert draw.prize
    assert system.queue.refs == [lottery.unit_share(draw.prize, 1)]
    system.settle([*system.queue.refs, *system.queue.refs])
    assert system.balance_fen("ann") == 66
    assert system.differences() == []


def test_cash_that_could_not_be_queued_is_queued_by_the_sweep(system: InMemorySystem) -> None:
    a_cash_lottery(system)

    system.payouts = Away()
    assert system.draw("gala", "ann", "key").draw.prize
    system.payouts = system.queue
    system.pass_time(120_000)

    assert system.repair() == (1, 0)
    system.settle()
    assert system.balance_fen("ann") == 66


def test_leftover_cash_is_refunded_at_the_end_and_cannot_be_won(system: InMemorySystem) -> None:
    a_cash_lottery(system, ends_at_ms=NOW_MS + 1000)
    system.draw("gala", "ann", "key")
    late = an_ask(system, "bob", "key")
    system.draw_cache.draw(late)
    system.pass_time(1000)
    for _ in range(2):
        system.expire()
        system.settle()
        system.pass_time(10_000)

    assert system.balance_fen("operator") == 1000 - 66
    # The cache decided before the end, and then the Lambda function was suspended.
    system.clock.at_ms = NOW_MS
    system.before_first_transaction(lambda _: system.pass_time(20_000))
    with pytest.raises(CampaignEnded):
        system.draw("gala", "bob", "key")
    assert system.differences() == []


def test_cash_of_an_earlier_end_is_not_won_and_users_see_an_open_campaign(
    system: InMemorySystem,
) -> None:
    a_cash_lottery(system, total=2, ends_at_ms=NOW_MS + 1000)
    system.load_campaign("gala")
    system.pass_time(1000)
    for _ in range(2):
        system.expire()
        system.pass_time(10_000)
    campaign = system.campaigns.find_campaign("gala")
    assert campaign
    edit(system, campaign, ends_at_ms=NOW_MS + DAY_MS)

    # Load the new end into the cache, but no stock: only the ledger knows the refunded units.
    snapshot = system.snapshots().get("gala")
    system.draw_cache.load(snapshot, lottery.draw_day(snapshot.campaign, system.clock.now_ms()), [])

    assert [system.draw("gala", user, "key").draw.prize for user in ("ann", "bob")] == [None, None]
    assert system.balance_fen("operator") == 1000
    assert system.differences() == []


def test_added_units_are_in_their_own_packet(system: InMemorySystem) -> None:
    a_cash_lottery(system, total=1)
    first = system.draw("gala", "ann", "key").draw
    system.change_stock(system.prizes.list_prizes("gala")[0], 2)
    system.pass_time(5000)

    second = system.draw("gala", "bob", "key").draw

    assert first.prize
    assert second.prize
    refs = [lottery.unit_share(second.prize, no) for no in (1, 2, 3)]
    assert [ref.share_no for ref in refs] == [1, 1, 2]
    assert system.queue.refs == refs[:2]
    with pytest.raises(errors.InvariantViolated):
        lottery.unit_share(second.prize, 4)


# ---- the cache is behind or unavailable


def test_a_cold_cache_is_loaded_by_one_caller_while_others_wait(system: InMemorySystem) -> None:
    system.lottery()
    assert system.draw_cache.begin_load("gala", 1000)

    with pytest.raises(errors.Unavailable):
        system.draw("gala", "ann", "key")

    system.pass_time(1000)
    assert system.draw("gala", "ann", "key").draw.prize
    assert system.logger.events == ["campaign_loaded"]


def test_a_draw_waits_for_the_load_of_another_caller(system: InMemorySystem) -> None:
    system.lottery()
    assert system.draw_cache.begin_load("gala", 2_000)
    sleep_ms = system.clock.sleep_ms
    waited: list[int] = []

    def load_meanwhile(ms: int) -> None:
        waited.append(ms)
        sleep_ms(ms)
        if len(waited) == 3:
            system.load_campaign("gala")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(system.clock, "sleep_ms", load_meanwhile)
        assert system.draw("gala", "ann", "key").draw.prize

    assert waited == [5, 10, 20]
    assert system.logger.events == []


@pytest.mark.parametrize("is_flushed", [True, False])
def test_a_cache_that_was_flushed_or_lost_its_last_writes_gives_nothing_twice(
    system: InMemorySystem, *, is_flushed: bool
) -> None:
    replica = loaded(system, a_prize("gala", total=4))
    draws = system.draw_each(3)
    if is_flushed:
        system.pass_time(5000)
        system.lots.forget()
    else:
        system.lots.fail_over(replica)

    draws += system.draw_each(5, "late")

    assert sorted(draw.unit_no for draw in draws if draw.prize) == [1, 2, 3, 4]
    assert system.logger.events == ["campaign_loaded" if is_flushed else "draw_corrected"]
    assert system.differences() == []


def test_a_cache_that_lost_its_last_writes_gives_no_second_attempt(system: InMemorySystem) -> None:
    rules = DrawRules(attempts_per_user_per_day=1)
    replica = loaded(system, a_prize("gala", total=3), rules=rules)
    assert system.draw("gala", "ann", "one").draw.unit_no == 1
    system.lots.fail_over(replica)
    assert system.draw("gala", "bob", "key").draw.unit_no == 2

    with pytest.raises(AttemptsExhausted):
        system.draw("gala", "ann", "two")

    # Other users can win the unit that ann did not get.
    assert system.draw("gala", "cat", "key").draw.unit_no == 3


def test_a_once_per_user_prize_is_not_won_twice(system: InMemorySystem) -> None:
    replica = loaded(system, a_prize("gala", once_per_user=True), miss_weight=0)
    first = system.draw("gala", "ann", "one").draw

    second = system.draw("gala", "ann", "two").draw
    system.lots.fail_over(replica)
    third = system.draw("gala", "ann", "three").draw

    assert first.prize
    assert (second.prize, third.prize) == (None, None)


def test_a_guaranteed_win_is_awarded_even_if_the_cache_lost_the_count(
    system: InMemorySystem,
) -> None:
    campaign = system.lottery(a_prize("gala", status=CampaignStatus.OFF), miss_weight=1)
    for key in ("one", "two"):
        assert system.draw("gala", "ann", key).draw.prize is None
    rules = DrawRules(guaranteed_after_misses=2)
    edit(system, campaign, rules=rules, miss_weight=10**9)
    prize, *_ = system.prizes.list_prizes("gala")
    write_prize(system.prizes, replace(prize, status=CampaignStatus.ON, version=2))
    system.pass_time(5000)
    system.lots.forget()

    draw = system.draw("gala", "ann", "three").draw

    assert draw.prize
    assert draw.odds == "cup:10|0"


def test_a_guaranteed_prize_that_is_sold_out_is_a_miss(system: InMemorySystem) -> None:
    rules = DrawRules(guaranteed_after_misses=1)
    system.lottery(a_prize("gala", total=0), miss_weight=1, rules=rules)

    assert [system.draw("gala", "ann", key).draw.prize for key in ("one", "two")] == [None, None]


def test_a_unit_that_the_cache_promised_for_a_wrong_count_of_misses_is_won_by_another_user(
    system: InMemorySystem,
) -> None:
    rules = DrawRules(guaranteed_after_misses=1)
    loaded(system, a_prize("gala", total=1, weight=1), miss_weight=100_000, rules=rules)
    system.draw_cache.set_player(an_ask(system, "ann", "one"), lottery.Player(0, 0, 1))

    miss = system.draw("gala", "ann", "one").draw
    others = [system.draw("gala", "bob", key).draw for key in ("one", "two")]

    assert miss.prize is None
    assert [draw.unit_no for draw in others] == [0, 1]


def test_an_attempt_left_unfinished_by_one_key_is_completed_by_another(
    system: InMemorySystem,
) -> None:
    loaded(system, rules=DrawRules(attempts_per_user_per_day=2))
    decided = system.draw_cache.draw(an_ask(system, "ann", "died"))

    first = system.draw("gala", "ann", "other")
    second = system.draw("gala", "ann", "died")

    assert (first.draw.draw_no, first.draw.unit_no) == (1, decided.unit_no)
    assert (second.draw.draw_no, second.attempts_left) == (2, 0)
    assert system.draw("gala", "ann", "other").draw == first.draw


def test_two_concurrent_requests_are_two_draws(system: InMemorySystem) -> None:
    replica = loaded(system, a_prize("gala", total=4))
    others: list[int] = []

    def another_device() -> None:
        """Make ann's draw first; then a failover loses that draw, and bob draws instead."""
        if others:
            return
        others.append(0)
        others[:] = [system.draw("gala", "ann", "one").draw.unit_no]
        system.lots.fail_over(replica)
        others.append(system.draw("gala", "bob", "key").draw.unit_no)

    system.draw_cache = Meddled(system.lots, another_device)

    mine = system.draw("gala", "ann", "two").draw

    assert mine.draw_no == 2
    last = system.draw("gala", "cat", "key").draw
    assert sorted([*others, mine.unit_no, last.unit_no]) == [1, 2, 3, 4]
    assert [draw.draw_no for draw in system.draws.list_draws("gala", "ann")] == [2, 1]
    assert system.differences() == []


def test_callers_before_the_start_read_nothing_from_the_ledger(system: InMemorySystem) -> None:
    loaded(system, starts_at_ms=NOW_MS + 6_000)
    snapshots = system.snapshots()
    snapshots.get("gala")
    calls: list[str] = []
    system.draws = Counting(system.draws, calls)  # type: ignore[assignment]
    system.prizes = Counting(system.prizes, calls)  # type: ignore[assignment]

    with pytest.raises(CampaignNotStarted):
        system.draw("gala", "ann", "key", snapshots)

    assert calls == []


def test_a_start_that_is_moved_to_now_opens_in_every_process(system: InMemorySystem) -> None:
    campaign = system.lottery(starts_at_ms=NOW_MS + DAY_MS)
    system.load_campaign("gala")
    snapshots = system.snapshots()
    with pytest.raises(CampaignNotStarted):
        system.draw("gala", "ann", "key", snapshots)

    edit(system, campaign, starts_at_ms=NOW_MS)
    system.load_campaign("gala")

    assert system.draw("gala", "ann", "key", snapshots).draw.prize


def test_a_repeat_gets_a_lost_answer(system: InMemorySystem) -> None:
    system.lottery()
    calls = []

    def die_after(operations: list[Any]) -> None:
        calls.append(operations)
        system.dynamo.transact_write_items(TransactItems=operations)
        raise errors.Unavailable("the answer was lost")

    system.before_first_transaction(die_after)
    with pytest.raises(errors.Unavailable):
        system.draw("gala", "ann", "key")

    assert system.draw("gala", "ann", "key").draw.unit_no == 1
    assert player(system, "ann").attempt_count == 1
    assert len(calls) == 1


def _die_before_midnight(system: InMemorySystem, user_id: str) -> None:
    """Let the cache decide an attempt right before midnight; then pass midnight."""
    snapshot = system.snapshots().get("gala")
    day = lottery.draw_day(snapshot.campaign, system.clock.now_ms())
    system.clock.at_ms = day.ends_at_ms - 1_000
    system.draw_cache.draw(an_ask(system, user_id, "key"))
    system.pass_time(61_000)


def test_a_unit_whose_draw_crashed_before_midnight_is_offered_again(system: InMemorySystem) -> None:
    loaded(system, a_prize("gala", total=2))
    _die_before_midnight(system, "ann")

    # Ann's retry counts as an attempt of the new day.
    draws = [system.draw("gala", user_id, "key").draw for user_id in ("ann", "bob", "cat")]

    assert sorted(draw.unit_no for draw in draws) == [0, 1, 2]
    assert player(system, "ann") == lottery.Player(1, 1, 0)
    assert system.differences() == []


def test_a_draw_that_was_durable_before_midnight_keeps_its_unit(system: InMemorySystem) -> None:
    campaign = system.lottery(a_prize("gala", total=2))
    system.load_campaign("gala")
    system.clock.at_ms = lottery.draw_day(campaign, system.clock.now_ms()).ends_at_ms - 1_000
    first = system.draw("gala", "ann", "key").draw
    system.pass_time(61_000)

    assert system.draw("gala", "ann", "key").draw == first

    assert [system.draw("gala", user, "key").draw.unit_no for user in ("bob", "cat")] == [2, 0]
    assert system.logger.events == []


def test_an_unavailable_cache_after_a_draw_of_a_new_day_does_not_hide_it(
    system: InMemorySystem,
) -> None:
    loaded(system, a_prize("gala", total=2))
    _die_before_midnight(system, "ann")

    system.draw_cache = Away(system.lots, "undo")

    assert system.draw("gala", "ann", "key").draw.prize
    assert [name for name, _ in system.logger.errors] == ["draw_not_forgotten"]


def test_a_draw_across_midnight_is_retried(system: InMemorySystem) -> None:
    campaign = system.lottery()
    system.load_campaign("gala")
    day = lottery.draw_day(campaign, system.clock.now_ms())
    system.clock.at_ms = day.ends_at_ms - 1
    pending = [1]

    def midnight_strikes() -> None:
        system.pass_time(pending.pop() if pending else 0)

    system.draw_cache = Meddled(system.lots, midnight_strikes)

    draw = system.draw("gala", "ann", "key").draw

    assert draw.day == lottery.draw_day(campaign, day.ends_at_ms).name


def test_a_clock_that_is_wrong_for_long_leaves_the_outcome_unknown(system: InMemorySystem) -> None:
    campaign = system.lottery()
    system.load_campaign("gala")
    day = lottery.draw_day(campaign, system.clock.now_ms())
    snapshots = system.snapshots()
    ahead = InMemorySystem()
    ahead.clock.at_ms = day.ends_at_ms
    ahead.draws, ahead.draw_cache = system.draws, system.lots

    with pytest.raises(errors.Unavailable):
        ahead.draw("gala", "ann", "key", snapshots)


# ---- edits during draws


def test_a_draw_by_a_newer_snapshot_reads_it_from_the_ledger(system: InMemorySystem) -> None:
    system.lottery()
    snapshots = system.snapshots()
    system.draw("gala", "ann", "key", snapshots)
    write_prize(system.prizes, a_prize("gala", "pen", title="钢笔", total=1000, weight=10**9))
    system.load_campaign("gala")

    draw = system.draw("gala", "bob", "key", snapshots).draw

    assert draw.prize
    assert draw.prize.title == "钢笔"
    assert draw.snapshot_version == system.snapshots().get("gala").version


def test_a_cache_that_missed_an_edit_is_updated_and_decides_again(system: InMemorySystem) -> None:
    system.lottery()
    system.draw("gala", "ann", "key")
    (prize,) = system.prizes.list_prizes("gala")
    write_prize(system.prizes, replace(prize, status=CampaignStatus.OFF, version=2))
    system.pass_time(5000)

    draw = system.draw("gala", "bob", "key").draw

    assert (draw.prize, draw.odds) == (None, "|0")
    assert draw.snapshot_version == system.snapshots().get("gala").version
    assert player(system, "bob") == lottery.Player(1, 0, 1)


def test_a_unit_given_out_by_an_outdated_cache_is_offered_again(system: InMemorySystem) -> None:
    loaded(system, a_prize("gala", total=1))
    (prize,) = system.prizes.list_prizes("gala")
    write_prize(system.prizes, replace(prize, title="龙井", version=2))
    system.pass_time(5000)

    draw = system.draw("gala", "bob", "key").draw

    assert draw.prize
    assert (draw.prize.title, draw.unit_no) == ("龙井", 1)


def test_stock_that_was_removed_is_not_won_by_an_older_snapshot(system: InMemorySystem) -> None:
    system.lottery(a_prize("gala", total=2))
    system.draw("gala", "ann", "key")
    (prize,) = system.prizes.list_prizes("gala")
    system.change_stock(prize, -1)
    system.pass_time(5000)

    assert system.draw("gala", "bob", "key").draw.prize is None
    assert system.differences() == []


def test_callers_wait_while_one_updates_the_cache(system: InMemorySystem) -> None:
    loaded(system)
    write_prize(system.prizes, a_prize("gala", "pen"))
    assert system.draw_cache.begin_load("gala", 1000)

    with pytest.raises(errors.Unavailable):
        system.draw("gala", "ann", "key")

    assert player(system, "ann") == lottery.Player()
    system.load_campaign("gala")
    assert system.draw("gala", "ann", "key").draw.unit_no


EDITS = {
    "turned on again": ({"status": CampaignStatus.OFF}, {"status": CampaignStatus.ON}),
    "end moved": ({"ends_at_ms": NOW_MS + 500}, {"ends_at_ms": NOW_MS + DAY_MS}),
    "start moved": ({"starts_at_ms": NOW_MS + DAY_MS}, {"starts_at_ms": NOW_MS}),
    "attempts raised": ({"rules": DrawRules(1)}, {"rules": DrawRules(2)}),
}


@pytest.mark.parametrize("is_failover", [False, True], ids=["missed", "lost by a failover"])
@pytest.mark.parametrize(("before", "after"), EDITS.values(), ids=EDITS)
def test_a_cache_without_an_edit_does_not_refuse_everybody_permanently(
    system: InMemorySystem, before: dict[str, Any], after: dict[str, Any], *, is_failover: bool
) -> None:
    campaign = system.lottery(**before)
    system.load_campaign("gala")
    for number in range(campaign.rules.attempts_per_user_per_day):
        system.draw("gala", "ann", f"attempt {number}")
    replica = system.lots.snapshot()
    edit(system, campaign, **after)
    if is_failover:
        system.load_campaign("gala")
    system.pass_time(1_000)
    system.lots.fail_over(replica)

    assert system.draw("gala", "ann", "key").draw.prize
    assert system.draw("gala", "bob", "key").draw.prize
    assert system.logger.events.count("campaign_loaded") == 1


def test_a_refusal_by_a_newer_snapshot_reads_it_from_the_ledger(system: InMemorySystem) -> None:
    campaign = system.lottery(a_prize("gala", total=9), rules=DrawRules(9))
    snapshots = system.snapshots()
    system.draw("gala", "ann", "one", snapshots)
    edit(system, campaign, rules=DrawRules(1))
    system.load_campaign("gala")

    with pytest.raises(AttemptsExhausted):
        system.draw("gala", "ann", "two", snapshots)

    assert player(system, "ann").attempt_count == 1


def test_a_late_refusal_by_a_snapshot_returns_no_unit(system: InMemorySystem) -> None:
    campaign = system.lottery(a_prize("gala", total=2))
    first = system.draw("gala", "ann", "key")
    off = edit(system, campaign, status=CampaignStatus.OFF)
    system.load_campaign("gala")
    edit(system, off, status=CampaignStatus.ON)
    system.pass_time(3_000)

    # The cache has ann's draw, but checks for refusals before it looks for earlier draws.
    assert system.draw("gala", "ann", "key") == first
    assert system.draw("gala", "bob", "key").draw.unit_no == 2
    assert system.logger.events.count("draw_corrected") == 0


LIES: list[dict[str, Any]] = [
    {"odds": "pen:1|0"},
    {"odds": "cup:10|"},
    {"odds": "cup:11|0"},
    {"odds": "cup:10,cup:10|0"},
    {"odds": "pen:5|0", "prize_id": "pen"},
    {"odds": "cup:10|5"},
    {"unit_no": 0},
    {"unit_no": 6},
    {"day_no": 0},
    {"day_no": 4},
    {"snapshot_version": 9},
]
"""Outcomes that the test's snapshot does not allow: it has 5 cups, at most 3 per day."""


@pytest.mark.parametrize("is_stubborn", [False, True])
@pytest.mark.parametrize("lie", LIES)
def test_an_outcome_that_the_snapshot_does_not_allow_is_decided_again(
    system: InMemorySystem, lie: dict[str, Any], *, is_stubborn: bool
) -> None:
    pen = a_prize("gala", "pen", status=CampaignStatus.OFF)
    loaded(system, a_prize("gala", per_day=3), pen)
    lies = itertools.repeat(lie) if is_stubborn else iter([lie])

    class Lying(Meddled):
        def draw(self, ask: lottery.DrawRequest) -> lottery.DrawOutcome:
            return replace(super().draw(ask), **next(lies, {}))

    system.draw_cache = Lying(system.lots, lambda: None)

    if is_stubborn:
        with pytest.raises(errors.Unavailable):
            system.draw("gala", "ann", "key")
        assert system.draws.list_draws("gala", "ann") == []
    else:
        draw = system.draw("gala", "ann", "key").draw
        assert (draw.unit_no, draw.day_no, draw.odds) == (1, 1, "cup:10|0")
    assert system.logger.events[0] == "campaign_altered"


@pytest.mark.parametrize("window", [(0, 6_000), (-10_000, -25_000)])
def test_a_campaign_gives_prizes_only_in_its_window(
    system: InMemorySystem, window: tuple[int, int]
) -> None:
    now_ms = system.clock.now_ms()
    starts_at_ms, ends_at_ms = now_ms + window[0] - 60_000, now_ms + window[1]
    campaign = system.lottery(starts_at_ms=starts_at_ms, ends_at_ms=now_ms + 60_000)
    system.load_campaign("gala")
    cached = dict(system.lots.snapshots)
    edit(system, campaign, ends_at_ms=ends_at_ms)
    version = system.snapshots().get("gala").version
    # The cached lottery gets the new version with the old window.
    system.lots.snapshots["gala"] = replace(cached["gala"], version=version)

    if ends_at_ms > now_ms:
        assert system.draw("gala", "ann", "key").draw.prize
    else:
        with pytest.raises(CampaignEnded):
            system.draw("gala", "ann", "key")
        assert "campaign_altered" in system.logger.events


@pytest.mark.parametrize("when_sold_out", WhenSoldOut)
def test_a_guarantee_of_the_cache_that_the_ledger_lacks_is_undone(
    system: InMemorySystem, when_sold_out: WhenSoldOut
) -> None:
    rules = DrawRules(guaranteed_after_misses=3)
    loaded(system, rules=rules, miss_weight=10**15, when_sold_out=when_sold_out)
    system.lots.set_player(an_ask(system, "ann", "key"), lottery.Player(0, 0, 3))

    assert system.draw("gala", "ann", "key").draw.prize is None
    assert "campaign_altered" not in system.logger.events


def test_the_weight_of_a_sold_out_prize_becomes_a_miss(system: InMemorySystem) -> None:
    pen = a_prize("gala", "pen", weight=5, total=0)
    system.lottery(a_prize("gala"), pen, miss_weight=1, when_sold_out=WhenSoldOut.MISS)
    system.load_campaign("gala")

    assert system.draw("gala", "ann", "key").draw.odds == "cup:10|6"
    assert "campaign_altered" not in system.logger.events


def test_a_campaign_without_a_seed_is_reported(system: InMemorySystem) -> None:
    with pytest.raises(errors.InvariantViolated):
        system.prizes.day_seed("nowhere", "20260101")
