from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from redpacket.domain.campaign import Campaign, CampaignStatus, DrawRules
from redpacket.domain.errors import (
    AttemptsExhausted,
    CampaignEnded,
    CampaignNotFound,
    CampaignNotStarted,
    CampaignPaused,
    InvariantViolated,
    Unavailable,
)
from redpacket.domain.lottery import (
    DrawAsk,
    DrawOutcome,
    DrawStatus,
    Player,
    Prize,
    PrizeKind,
    choose,
    draw_day,
    draw_id_of,
    draw_point,
    unit_share,
)
from tests.builders import NOW_MS, a_campaign, a_prize
from tests.fakes import FakeDrawBoard
from tests.town import Town

DAY_MS = 24 * 3_600_000


def a_lottery(town: Town, *prizes: Prize, **changes: Any) -> Campaign:
    """Put a campaign with its prizes into the ledger; the cache knows nothing of it."""
    plan = {"campaign_id": "gala", "ends_at_ms": NOW_MS + 3 * DAY_MS, **changes}
    campaign = a_campaign(**plan)
    assert town.campaigns.create(campaign)
    for prize in prizes or (a_prize("gala"),):
        assert town.draws.put_prize(prize, None)
    return campaign


def edit(town: Town, campaign: Campaign, **changes: Any) -> Campaign:
    after = replace(campaign, version=campaign.version + 1, **changes)
    assert town.campaigns.edit(after, campaign)
    return after


def an_ask(town: Town, user_id: str, key: str) -> DrawAsk:
    table = town.tables().recall("gala")
    day = draw_day(table.campaign, town.clock.now_ms())
    draw_id = draw_id_of("gala", user_id, key)
    seed = town.tables().seed("gala", day.name)
    return DrawAsk("gala", user_id, draw_id, day, draw_point(seed, draw_id))


def player(town: Town, user_id: str) -> Player:
    return town.draws.find_player("gala", user_id, an_ask(town, user_id, "").day.name)


class Meddled:
    """A draw board that somebody has a hand in, before each draw."""

    def __init__(self, board: FakeDrawBoard, before: Callable[[], None]) -> None:
        self._board = board
        self._before = before

    def draw(self, ask: DrawAsk) -> DrawOutcome:
        self._before()
        return self._board.draw(ask)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._board, name)


def test_a_win_is_durable_before_the_user_hears_of_it(town: Town) -> None:
    a_lottery(town, a_prize("gala", "cup", title="金杯"))

    drawn = town.draw("gala", "ann", "key")

    assert drawn.draw.prize is not None
    assert (drawn.draw.prize.title, drawn.draw.unit_no) == ("金杯", 1)
    assert town.draws.find_draw("gala", "ann", drawn.draw.draw_id) == drawn.draw
    assert town.draws.list_draws("gala", "ann") == [drawn.draw]
    assert drawn.attempts_left is None


def test_a_miss_is_recorded_like_a_win(town: Town) -> None:
    a_lottery(town, a_prize("gala", weight=0), miss_weight=1)

    drawn = town.draw("gala", "ann", "key")

    assert (drawn.draw.prize, drawn.draw.odds) == (None, "|1")
    assert town.draws.list_draws("gala", "ann") == [drawn.draw]


def test_anybody_who_has_the_seed_can_compute_what_was_drawn(town: Town) -> None:
    a_lottery(town, a_prize("gala", "cup", weight=3), a_prize("gala", "pen"), miss_weight=20)

    draws = [town.draw("gala", f"user-{number}", "key").draw for number in range(40)]

    seed = town.tables().seed("gala", draws[0].day)
    for draw in draws:
        assert draw.point == draw_point(seed, draw.draw_id)
        assert choose(draw.odds, draw.point) == (draw.prize and draw.prize.prize_id)
    assert len({draw.prize and draw.prize.prize_id for draw in draws}) == 3


def test_the_same_key_hears_the_same_for_ever(town: Town) -> None:
    a_lottery(town, rules=DrawRules(attempts_per_user_per_day=2))
    first = town.draw("gala", "ann", "key")

    again = town.draw("gala", "ann", "key")
    town.lots.forget()
    cold = town.draw("gala", "ann", "key")

    assert again == cold == first
    assert first.attempts_left == 1
    assert player(town, "ann") == Player(1, 1, 0)


def test_two_users_with_one_key_have_a_draw_each(town: Town) -> None:
    a_lottery(town)

    ann, bob = (town.draw("gala", user, "key").draw for user in ("ann", "bob"))

    assert ann.draw_id != bob.draw_id
    assert {ann.unit_no, bob.unit_no} == {1, 2}


def test_no_more_is_won_than_there_is(town: Town) -> None:
    a_lottery(town, a_prize("gala", total=3))

    draws = [town.draw("gala", f"user-{number}", "key").draw for number in range(10)]

    assert sorted(draw.unit_no for draw in draws if draw.prize) == [1, 2, 3]


def test_no_more_is_won_on_one_day_than_its_stock(town: Town) -> None:
    a_lottery(town, a_prize("gala", per_day=2))

    won = Counter[str]()
    for number in range(8):
        draw = town.draw("gala", f"user-{number}", "key").draw
        won[draw.day] += draw.prize is not None
        if number == 3:
            town.pass_time(DAY_MS)

    assert list(won.values()) == [2, 2]


def test_attempts_are_refused_beyond_the_rules_until_the_next_day(town: Town) -> None:
    a_lottery(town, rules=DrawRules(attempts_per_user_per_day=2))
    assert town.draw("gala", "ann", "one").attempts_left == 1
    assert town.draw("gala", "ann", "two").attempts_left == 0

    with pytest.raises(AttemptsExhausted):
        town.draw("gala", "ann", "three")

    assert player(town, "ann").attempt_count == 2
    town.pass_time(DAY_MS)
    assert town.draw("gala", "ann", "three").attempts_left == 1


def test_who_has_won_enough_can_only_miss(town: Town) -> None:
    a_lottery(town, rules=DrawRules(wins_per_user_per_day=1))

    first, second = (town.draw("gala", "ann", key).draw for key in ("one", "two"))

    assert first.prize
    assert (second.prize, second.odds) == (None, "|0")


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"starts_at_ms": NOW_MS + 1}, CampaignNotStarted),
        ({"ends_at_ms": NOW_MS}, CampaignEnded),
        ({"status": CampaignStatus.OFF}, CampaignPaused),
    ],
)
def test_a_campaign_that_does_not_give_refuses_and_uses_up_nothing(
    town: Town, changes: dict[str, Any], refusal: type[Exception]
) -> None:
    a_lottery(town, **changes)

    with pytest.raises(refusal):
        town.draw("gala", "ann", "key")

    assert player(town, "ann") == Player()


def test_there_is_no_draw_of_no_campaign(town: Town) -> None:
    with pytest.raises(CampaignNotFound):
        town.draw("gala", "ann", "key")


@pytest.mark.parametrize("changes", [{"ends_at_ms": NOW_MS + 1000}, {"status": CampaignStatus.OFF}])
def test_who_has_drawn_is_told_so_after_the_end_though_the_cache_forgot(
    town: Town, changes: dict[str, Any]
) -> None:
    campaign = a_lottery(town)
    first = town.draw("gala", "ann", "key")
    town.lots.forget()
    edit(town, campaign, **changes)
    town.pass_time(1000)

    assert town.draw("gala", "ann", "key") == first


def test_who_has_drawn_is_told_so_though_they_have_no_attempts_left(town: Town) -> None:
    a_lottery(town, rules=DrawRules(attempts_per_user_per_day=1))
    first = town.draw("gala", "ann", "key")
    town.lots.forget()
    town.load_campaign("gala")
    with pytest.raises(AttemptsExhausted):
        town.draw("gala", "ann", "other")

    assert town.draw("gala", "ann", "key") == first


# ---------------------------------------------------------------- cash


def some_cash(**changes: Any) -> Prize:
    return a_prize("gala", "cash", kind=PrizeKind.PACKET, amount_fen=66, **changes)


def a_cash_lottery(town: Town, total: int = 3, **changes: Any) -> None:
    a_lottery(town, a_prize("gala", weight=0), **changes)
    town.deposit("operator", 1000)
    town.put_prize(some_cash(total=total))


def test_cash_is_queued_for_payout_at_once_and_paid_once(town: Town) -> None:
    a_cash_lottery(town)

    drawn = town.draw("gala", "ann", "key").draw
    assert town.draw("gala", "ann", "key").draw == drawn

    assert drawn.prize
    assert town.queue.refs == [unit_share(drawn.prize, 1)]
    town.settle([*town.queue.refs, *town.queue.refs])
    assert town.balance_fen("ann") == 66
    assert town.differences() == []


def test_one_user_may_win_cash_several_times(town: Town) -> None:
    a_cash_lottery(town)

    for key in ("one", "two"):
        assert town.draw("gala", "ann", key).draw.prize

    town.settle()
    assert town.balance_fen("ann") == 132
    assert town.differences() == []


def test_cash_that_could_not_be_queued_is_queued_by_the_sweep(town: Town) -> None:
    a_cash_lottery(town)

    class Away:
        def put(self, refs: object, *, delay_s: int = 0) -> None:
            raise Unavailable(str(refs))

    town.payouts = Away()
    assert town.draw("gala", "ann", "key").draw.prize
    town.payouts = town.queue
    town.pass_time(120_000)

    assert town.repair() == (1, 0)
    town.settle()
    assert town.balance_fen("ann") == 66


def test_cash_that_nobody_won_goes_back_at_the_end_and_is_won_no_more(town: Town) -> None:
    a_cash_lottery(town, ends_at_ms=NOW_MS + 1000)
    town.draw("gala", "ann", "key")
    late = an_ask(town, "bob", "key")
    town.draw_board.draw(late)
    town.pass_time(1000)
    for _ in range(2):
        town.expire()
        town.settle()
        town.pass_time(10_000)

    assert town.balance_fen("operator") == 1000 - 66
    # As if the cache had said so before the end, and the Lambda had slept since.
    town.clock.at_ms = NOW_MS
    town.before_first_transaction(lambda _: town.pass_time(20_000))
    with pytest.raises(CampaignEnded):
        town.draw("gala", "bob", "key")
    assert town.differences() == []


def test_cash_of_an_earlier_end_is_not_won_and_nobody_is_told_that_the_campaign_ended(
    town: Town,
) -> None:
    a_cash_lottery(town, total=2, ends_at_ms=NOW_MS + 1000)
    town.load_campaign("gala")
    town.pass_time(1000)
    for _ in range(2):
        town.expire()
        town.pass_time(10_000)
    campaign = town.campaigns.find_campaign("gala")
    assert campaign
    edit(town, campaign, ends_at_ms=NOW_MS + DAY_MS)

    # The cache hears of the new end, and of the refunded units from the ledger only.
    table = town.tables().recall("gala")
    town.draw_board.load(table, draw_day(table.campaign, town.clock.now_ms()), [])

    assert [town.draw("gala", user, "key").draw.prize for user in ("ann", "bob")] == [None, None]
    assert town.balance_fen("operator") == 1000
    assert town.differences() == []


def test_units_that_were_added_are_in_a_packet_of_their_own(town: Town) -> None:
    a_cash_lottery(town, total=1)
    first = town.draw("gala", "ann", "key").draw
    town.change_stock(town.draws.list_prizes("gala")[0], 2)
    town.pass_time(5000)

    second = town.draw("gala", "bob", "key").draw

    assert first.prize
    assert second.prize
    refs = [unit_share(second.prize, no) for no in (1, 2, 3)]
    assert [ref.share_no for ref in refs] == [1, 1, 2]
    assert town.queue.refs == refs[:2]
    with pytest.raises(InvariantViolated):
        unit_share(second.prize, 4)


# ---------------------------------------------------------------- the cache is behind or gone


def test_a_cold_cache_is_loaded_by_one_and_the_others_wait(town: Town) -> None:
    a_lottery(town)
    assert town.draw_board.begin_load("gala", 1000)

    with pytest.raises(Unavailable):
        town.draw("gala", "ann", "key")

    town.pass_time(1000)
    assert town.draw("gala", "ann", "key").draw.prize
    assert town.journal.events == ["campaign_loaded"]


def test_a_flushed_cache_gives_nothing_twice(town: Town) -> None:
    a_lottery(town, a_prize("gala", total=4))
    draws = [town.draw("gala", f"user-{number}", "key").draw for number in range(2)]
    town.pass_time(5000)
    town.lots.forget()

    draws += [town.draw("gala", f"late-{number}", "key").draw for number in range(5)]

    assert sorted(draw.unit_no for draw in draws if draw.prize) == [1, 2, 3, 4]
    assert town.differences() == []


def test_a_cache_that_lost_its_tail_is_corrected(town: Town) -> None:
    a_lottery(town, a_prize("gala", total=4))
    town.load_campaign("gala")
    replica = town.lots.snapshot()
    draws = [town.draw("gala", f"user-{number}", "key").draw for number in range(3)]
    town.lots.fail_over(replica)

    draws += [town.draw("gala", f"late-{number}", "key").draw for number in range(5)]

    assert sorted(draw.unit_no for draw in draws if draw.prize) == [1, 2, 3, 4]
    assert town.journal.events == ["draw_corrected"]


def test_a_cache_that_lost_its_tail_gives_no_second_attempt(town: Town) -> None:
    rules = DrawRules(attempts_per_user_per_day=1)
    a_lottery(town, a_prize("gala", total=3), rules=rules)
    town.load_campaign("gala")
    replica = town.lots.snapshot()
    assert town.draw("gala", "ann", "one").draw.unit_no == 1
    town.lots.fail_over(replica)
    assert town.draw("gala", "bob", "key").draw.unit_no == 2

    with pytest.raises(AttemptsExhausted):
        town.draw("gala", "ann", "two")

    # The unit that she did not get is for others.
    assert town.draw("gala", "cat", "key").draw.unit_no == 3


def test_a_cache_that_lost_its_tail_gives_no_second_win(town: Town) -> None:
    a_lottery(town, a_prize("gala", total=2), rules=DrawRules(wins_per_user_per_day=1))
    town.load_campaign("gala")
    replica = town.lots.snapshot()
    town.draw("gala", "ann", "one")
    town.lots.fail_over(replica)

    second = town.draw("gala", "ann", "two").draw

    assert second.prize is None
    assert town.draw("gala", "bob", "key").draw.unit_no == 2


def test_nobody_wins_twice_what_is_won_once(town: Town) -> None:
    a_lottery(town, a_prize("gala", once_per_user=True), miss_weight=0)
    town.load_campaign("gala")
    replica = town.lots.snapshot()
    first = town.draw("gala", "ann", "one").draw

    second = town.draw("gala", "ann", "two").draw
    town.lots.fail_over(replica)
    third = town.draw("gala", "ann", "three").draw

    assert first.prize
    assert (second.prize, third.prize) == (None, None)


def test_a_miss_too_many_is_made_good_though_the_cache_lost_count(town: Town) -> None:
    campaign = a_lottery(town, a_prize("gala", status=CampaignStatus.OFF), miss_weight=1)
    for key in ("one", "two"):
        assert town.draw("gala", "ann", key).draw.prize is None
    rules = DrawRules(guaranteed_after_misses=2)
    edit(town, campaign, rules=rules, miss_weight=10**9)
    prize, *_ = town.draws.list_prizes("gala")
    town.draws.put_prize(replace(prize, status=CampaignStatus.ON, version=2), prize)
    town.pass_time(5000)
    town.lots.forget()

    draw = town.draw("gala", "ann", "three").draw

    assert draw.prize
    assert draw.odds == "cup:10|0"


def test_a_promised_prize_that_is_gone_is_a_miss(town: Town) -> None:
    rules = DrawRules(guaranteed_after_misses=1)
    a_lottery(town, a_prize("gala", total=0), miss_weight=1, rules=rules)

    assert [town.draw("gala", "ann", key).draw.prize for key in ("one", "two")] == [None, None]


def test_an_attempt_that_died_half_way_is_taken_up_by_its_repeat(town: Town) -> None:
    a_lottery(town)
    town.load_campaign("gala")
    decided = town.draw_board.draw(an_ask(town, "ann", "key"))

    draw = town.draw("gala", "ann", "key").draw

    assert draw.unit_no == decided.unit_no == 1
    assert player(town, "ann").attempt_count == 1


def test_an_attempt_that_died_half_way_uses_up_nothing(town: Town) -> None:
    a_lottery(town, rules=DrawRules(attempts_per_user_per_day=1))
    town.load_campaign("gala")
    town.draw_board.draw(an_ask(town, "ann", "died"))

    assert town.draw("gala", "ann", "other").attempts_left == 0
    with pytest.raises(AttemptsExhausted):
        town.draw("gala", "ann", "third")


def test_an_answer_that_was_lost_is_heard_by_the_repeat(town: Town) -> None:
    a_lottery(town)
    calls = []

    def die_after(operations: list[Any]) -> None:
        calls.append(operations)
        town.dynamo.transact_write_items(TransactItems=operations)
        raise Unavailable("the answer was lost")

    town.before_first_transaction(die_after)
    with pytest.raises(Unavailable):
        town.draw("gala", "ann", "key")

    assert town.draw("gala", "ann", "key").draw.unit_no == 1
    assert player(town, "ann").attempt_count == 1
    assert len(calls) == 1


def test_a_repeat_on_another_day_hears_the_same_and_uses_up_nothing(town: Town) -> None:
    a_lottery(town, a_prize("gala", total=2), rules=DrawRules(attempts_per_user_per_day=1))
    first = town.draw("gala", "ann", "key")
    town.pass_time(DAY_MS)

    for _ in range(3):
        again = town.draw("gala", "ann", "key")
        assert again.draw == first.draw
        assert again.attempts_left == 1

    assert town.draw("gala", "bob", "key").draw.unit_no == 2


def _die_before_midnight(town: Town, user_id: str) -> None:
    """Let the cache decide an attempt right before midnight, and nothing more; then it strikes."""
    table = town.tables().recall("gala")
    day = draw_day(table.campaign, town.clock.now_ms())
    town.clock.at_ms = day.ends_at_ms - 1_000
    town.draw_board.draw(an_ask(town, user_id, "key"))
    town.pass_time(61_000)


def test_a_unit_whose_draw_died_before_midnight_is_offered_again(town: Town) -> None:
    a_lottery(town, a_prize("gala", total=2))
    town.load_campaign("gala")
    _die_before_midnight(town, "ann")

    # Her repeat is an attempt of the new day.
    draws = [town.draw("gala", user_id, "key").draw for user_id in ("ann", "bob", "cat")]

    assert sorted(draw.unit_no for draw in draws) == [0, 1, 2]
    assert player(town, "ann") == Player(1, 1, 0)
    assert town.differences() == []


def test_a_draw_that_was_durable_before_midnight_keeps_its_unit(town: Town) -> None:
    campaign = a_lottery(town, a_prize("gala", total=2))
    town.load_campaign("gala")
    town.clock.at_ms = draw_day(campaign, town.clock.now_ms()).ends_at_ms - 1_000
    first = town.draw("gala", "ann", "key").draw
    town.pass_time(61_000)

    assert town.draw("gala", "ann", "key").draw == first

    assert [town.draw("gala", user, "key").draw.unit_no for user in ("bob", "cat")] == [2, 0]
    assert town.journal.events == []


def test_a_cache_that_is_away_after_a_draw_of_a_new_day_does_not_hide_it(town: Town) -> None:
    a_lottery(town, a_prize("gala", total=2))
    town.load_campaign("gala")
    _die_before_midnight(town, "ann")

    class Forgetful(Meddled):
        def undo(self, ask: DrawAsk, *, is_unit_free: bool) -> None:
            raise Unavailable(f"{ask.draw_id} {is_unit_free}")

    town.draw_board = Forgetful(town.lots, lambda: None)

    assert town.draw("gala", "ann", "key").draw.prize
    assert [name for name, _ in town.journal.errors] == ["draw_not_forgotten"]


def test_midnight_between_the_clock_and_the_cache_is_asked_again(town: Town) -> None:
    campaign = a_lottery(town)
    town.load_campaign("gala")
    day = draw_day(campaign, town.clock.now_ms())
    town.clock.at_ms = day.ends_at_ms - 1
    waiting = [1]

    def midnight_strikes() -> None:
        town.pass_time(waiting.pop() if waiting else 0)

    town.draw_board = Meddled(town.lots, midnight_strikes)

    draw = town.draw("gala", "ann", "key").draw

    assert draw.day == draw_day(campaign, day.ends_at_ms).name


def test_a_clock_that_is_wrong_for_long_leaves_the_outcome_unknown(town: Town) -> None:
    campaign = a_lottery(town)
    town.load_campaign("gala")
    day = draw_day(campaign, town.clock.now_ms())
    tables = town.tables()
    ahead = Town()
    ahead.clock.at_ms = day.ends_at_ms
    ahead.draws, ahead.draw_board = town.draws, town.lots

    with pytest.raises(Unavailable):
        ahead.draw("gala", "ann", "key", tables)


# ---------------------------------------------------------------- edits while it runs


def test_a_draw_by_a_newer_table_reads_it_whatever_is_remembered(town: Town) -> None:
    a_lottery(town)
    tables = town.tables()
    town.draw("gala", "ann", "key", tables)
    town.draws.put_prize(a_prize("gala", "pen", title="钢笔", total=1000, weight=10**9), None)
    town.load_campaign("gala")

    draw = town.draw("gala", "bob", "key", tables).draw

    assert draw.prize
    assert draw.prize.title == "钢笔"
    assert draw.table_version == town.tables().recall("gala").version


def test_a_cache_that_missed_an_edit_is_brought_up_and_decides_anew(town: Town) -> None:
    a_lottery(town)
    town.draw("gala", "ann", "key")
    (prize,) = town.draws.list_prizes("gala")
    town.draws.put_prize(replace(prize, status=CampaignStatus.OFF, version=2), prize)
    town.pass_time(5000)

    draw = town.draw("gala", "bob", "key").draw

    assert (draw.prize, draw.odds) == (None, "|0")
    assert draw.table_version == town.tables().recall("gala").version
    assert player(town, "bob") == Player(1, 0, 1)


def test_stock_that_was_taken_back_is_not_won_by_an_older_table(town: Town) -> None:
    a_lottery(town, a_prize("gala", total=2))
    town.draw("gala", "ann", "key")
    (prize,) = town.draws.list_prizes("gala")
    town.change_stock(prize, -1)
    town.pass_time(5000)

    assert town.draw("gala", "bob", "key").draw.prize is None
    assert town.differences() == []


def test_while_somebody_brings_up_the_cache_the_others_wait(town: Town) -> None:
    a_lottery(town)
    town.load_campaign("gala")
    town.draws.put_prize(a_prize("gala", "pen"), None)
    assert town.draw_board.begin_load("gala", 1000)

    with pytest.raises(Unavailable):
        town.draw("gala", "ann", "key")

    assert player(town, "ann") == Player()
    town.load_campaign("gala")
    assert town.draw("gala", "ann", "key").draw.unit_no


EDITS = {
    "turned on again": ({"status": CampaignStatus.OFF}, {"status": CampaignStatus.ON}),
    "end moved": ({"ends_at_ms": NOW_MS + 500}, {"ends_at_ms": NOW_MS + DAY_MS}),
    "start moved": ({"starts_at_ms": NOW_MS + DAY_MS}, {"starts_at_ms": NOW_MS}),
    "attempts raised": ({"rules": DrawRules(1)}, {"rules": DrawRules(2)}),
}


def _use_up_attempts(town: Town, rules: DrawRules) -> None:
    for number in range(rules.attempts_per_user_per_day):
        town.draw("gala", "ann", f"attempt {number}")


@pytest.mark.parametrize(("before", "after"), EDITS.values(), ids=EDITS)
def test_a_cache_that_missed_an_edit_does_not_refuse_everybody_for_ever(
    town: Town, before: dict[str, Any], after: dict[str, Any]
) -> None:
    campaign = a_lottery(town, **before)
    town.load_campaign("gala")
    _use_up_attempts(town, campaign.rules)
    town.pass_time(1_000)

    # The load after the edit failed.
    edit(town, campaign, **after)

    assert town.draw("gala", "ann", "key").draw.prize
    assert town.draw("gala", "bob", "key").draw.prize
    assert town.journal.events.count("campaign_loaded") == 1


@pytest.mark.parametrize(("before", "after"), EDITS.values(), ids=EDITS)
def test_a_failover_that_loses_an_edit_does_not_refuse_everybody_for_ever(
    town: Town, before: dict[str, Any], after: dict[str, Any]
) -> None:
    campaign = a_lottery(town, **before)
    town.load_campaign("gala")
    _use_up_attempts(town, campaign.rules)
    replica = town.lots.snapshot()
    edit(town, campaign, **after)
    town.load_campaign("gala")
    town.pass_time(1_000)
    town.lots.fail_over(replica)

    assert town.draw("gala", "ann", "key").draw.prize
    assert town.draw("gala", "bob", "key").draw.prize


def test_a_refusal_by_a_newer_table_reads_it_whatever_is_remembered(town: Town) -> None:
    campaign = a_lottery(town, a_prize("gala", total=9), rules=DrawRules(9))
    tables = town.tables()
    town.draw("gala", "ann", "one", tables)
    edit(town, campaign, rules=DrawRules(1))
    town.load_campaign("gala")

    with pytest.raises(AttemptsExhausted):
        town.draw("gala", "ann", "two", tables)

    assert player(town, "ann").attempt_count == 1


def test_a_table_that_refuses_too_late_gives_no_unit_back(town: Town) -> None:
    campaign = a_lottery(town, a_prize("gala", total=2))
    first = town.draw("gala", "ann", "key")
    off = edit(town, campaign, status=CampaignStatus.OFF)
    town.load_campaign("gala")
    edit(town, off, status=CampaignStatus.ON)
    town.pass_time(3_000)

    # The cache has her draw, and refuses before it looks.
    assert town.draw("gala", "ann", "key") == first
    assert town.draw("gala", "bob", "key").draw.unit_no == 2
    assert town.journal.events.count("draw_corrected") == 0


def test_what_the_cache_says_against_its_own_odds_is_believed_by_nobody(town: Town) -> None:
    a_lottery(town)

    class Lying:
        def draw(self, ask: DrawAsk) -> DrawOutcome:
            assert ask.draw_id
            return DrawOutcome(DrawStatus.WON, "cup", 1, 0, 2, "pen:1|0")

    town.draw_board = Lying()  # type: ignore[assignment]

    with pytest.raises(InvariantViolated):
        town.draw("gala", "ann", "key")
    assert town.draws.list_draws("gala", "ann") == []
