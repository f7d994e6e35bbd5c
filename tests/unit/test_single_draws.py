"""Draws that take a round of the beacon of their own: nothing is left to choose after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redpacket.adapters.dynamo import draw_keys
from redpacket.adapters.dynamo.client import to_wire
from redpacket.adapters.dynamo.draw_items import begun_row, draw_row
from redpacket.domain.beacon import PENDING_MS, WAIT_MS, BeaconChain, BeaconRound
from redpacket.domain.campaign import Campaign, CampaignStatus, DrawBeacon, DrawRules
from redpacket.domain.checks.lottery import check_outcomes
from redpacket.domain.errors import (
    AttemptsExhausted,
    BeaconPending,
    CampaignEnded,
    CampaignPaused,
    InvariantViolated,
    Unavailable,
)
from redpacket.domain.lottery import (
    BegunDraw,
    Draw,
    DrawAsk,
    DrawOutcome,
    choose,
    day_at,
    draw_id_of,
    draw_point,
)
from testing.builders import NOW_MS, a_campaign, a_prize
from testing.in_memory_system import InMemorySystem, a_person
from tests.unit.test_beacon import (
    CHAIN,
    DAY_MS,
    SIGNER,
    Endpoint,
    count_calls,
    count_reads,
    fetch,
    new_rounds,
    told,
)

NO_LIMITS = DrawRules(attempts_per_user_per_day=0)


def a_lottery(
    system: InMemorySystem, prize: dict[str, Any] | None = None, **changes: Any
) -> Campaign:
    """Put a lottery whose draws have rounds of their own, with nothing but its prize."""
    beacon = replace(new_rounds(system).of_campaign("Asia/Shanghai"), is_per_draw=True)
    plan = {
        "campaign_id": "gala",
        "ends_at_ms": NOW_MS + 3 * DAY_MS,
        "miss_weight": 0,
        "rules": NO_LIMITS,
        **changes,
    }
    campaign = a_campaign(**plan, beacon=beacon)
    assert system.campaigns.create(campaign)
    cup = a_prize("gala", "cup", **{"weight": 1, "total": 1000, **(prize or {})})
    assert system.draws.put_prize(cup, None)
    system.load_campaign("gala")
    return campaign


def begin(system: InMemorySystem, user: str, key: str = "key") -> BegunDraw:
    """Ask for a draw that has to wait, and return what is fixed of it."""
    with pytest.raises(BeaconPending) as pending:
        system.draw("gala", user, key)
    day = day_at("Asia/Shanghai", system.clock.now_ms()).name
    begun = system.draws.find_attempt("gala", user, "none", day, asks_begun=True).begun
    assert begun
    # The user can keep it before anybody knows its round.
    assert pending.value.begun == begun
    return begun


def complete(system: InMemorySystem, user: str, key: str = "key") -> Draw:
    fetch(system, Endpoint(system), 15_000)
    return system.draw("gala", user, key).draw


def point_of(system: InMemorySystem, draw: Draw) -> int:
    assert draw.beacon_round
    seed = system.draws.day_seed("gala", draw.day)
    randomness = BeaconRound(draw.beacon_round, SIGNER.signature(draw.beacon_round)).randomness
    return draw_point(seed, "gala", draw.user_id, draw.draw_no, randomness)


# ---------------------------------------------------------------- what is fixed first


def test_a_draw_is_fixed_before_its_round_and_decided_by_it(system: InMemorySystem) -> None:
    campaign = a_lottery(system)

    begun = begin(system, "ann")
    drawn = complete(system, "ann")

    assert campaign.draw_beacon is DrawBeacon.DRAW
    assert begun.attempted_at_ms == NOW_MS
    assert begun.odds == "cup:1|0"
    assert CHAIN.time_ms(begun.beacon_round) - NOW_MS in range(WAIT_MS, WAIT_MS + 3_000)
    assert drawn.beacon_round == begun.beacon_round
    assert drawn.signature == SIGNER.signature(begun.beacon_round)
    assert (drawn.attempted_at_ms, drawn.odds) == (begun.attempted_at_ms, begun.odds)
    assert drawn.point == point_of(system, drawn)
    assert drawn.prize
    assert drawn.prize.prize_id == "cup"
    assert system.draws.list_draws("gala", "ann") == [drawn]
    assert system.draw("gala", "ann", "key").draw == drawn
    assert system.differences() == []


def test_who_waits_is_told_until_when_and_costs_a_read_of_the_ledger(
    system: InMemorySystem,
) -> None:
    a_lottery(system)
    begun = begin(system, "ann")
    process = system.process()
    with pytest.raises(BeaconPending):
        process.draw_prize("gala", a_person("ann"), "key")
    reads = count_reads(system)

    with pytest.raises(BeaconPending) as refusal:
        process.draw_prize("gala", a_person("ann"), "key")

    there_at_ms = CHAIN.time_ms(begun.beacon_round) + PENDING_MS
    assert refusal.value.retry_after_s == -(-(there_at_ms - system.clock.now_ms()) // 1000)
    assert reads == ["batch", "draws"]


def test_a_draw_is_begun_once_whatever_keys_ask(system: InMemorySystem) -> None:
    a_lottery(system)
    first = begin(system, "ann", "one")
    system.pass_time(3_000)

    second = begin(system, "ann", "two")
    drawn = complete(system, "ann", "three")

    assert second == first
    assert drawn.beacon_round == first.beacon_round
    # A key that never got a draw asks for the next one.
    assert begin(system, "ann", "one").draw_no == 2


def test_of_two_requests_at_once_the_first_one_names_the_round(system: InMemorySystem) -> None:
    a_lottery(system)
    other: list[BegunDraw] = []

    def be_faster(_operations: list[Any]) -> None:
        system.stand_on(system.dynamo)
        other.append(begin(system, "ann", "other"))
        system.pass_time(3_000)

    system.before_first_transaction(be_faster)
    with pytest.raises(BeaconPending) as refusal:
        system.draw("gala", "ann", "key")

    day = day_at("Asia/Shanghai", NOW_MS).name
    found = system.draws.find_attempt("gala", "ann", "none", day, asks_begun=True).begun
    assert [found] == other
    assert (refusal.value.retry_after_s or 99) < 8
    assert complete(system, "ann").beacon_round == other[0].beacon_round


def test_a_round_is_asked_for_before_a_draw_counts_on_it(system: InMemorySystem) -> None:
    a_lottery(system)
    wanted: list[str] = count_calls(system, "update_item")
    before: list[list[str]] = []
    system.before_first_transaction(lambda _: before.append(list(wanted)))

    begin(system, "ann")

    assert before == [["transparency"]]


def test_a_round_is_one_that_no_one_knows_also_where_the_clock_is_behind(
    system: InMemorySystem,
) -> None:
    a_lottery(system)
    known = CHAIN.first_round(NOW_MS + 60_000)
    system.rounds.keep(CHAIN.chain_hash, BeaconRound(known, SIGNER.signature(known)))

    begun = begin(system, "ann")

    assert begun.beacon_round > known
    assert begun.attempted_at_ms == CHAIN.time_ms(known)


def test_a_draw_that_was_not_written_in_time_is_not_begun(system: InMemorySystem) -> None:
    # Its round may be known by then.
    a_lottery(system)
    real = system.rounds.want

    def slow(chain: BeaconChain, round_no: int) -> None:
        real(chain, round_no)
        system.pass_time(WAIT_MS)

    system.rounds.want = slow  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        system.draw("gala", "ann", "key")
    system.rounds.want = real  # type: ignore[method-assign]

    assert begin(system, "ann").attempted_at_ms >= NOW_MS + WAIT_MS


# ---------------------------------------------------------------- nothing is left to choose


def test_neither_edits_nor_other_draws_change_what_a_point_means(system: InMemorySystem) -> None:
    campaign = a_lottery(system)
    begun = begin(system, "ann")
    # An operator who knows the round adds a miss that is all but certain, and better prizes.
    fetch(system, Endpoint(system), 15_000)
    edited = replace(campaign.plan, miss_weight=10**9)
    system.edit_campaign(edited)
    system.draws.put_prize(a_prize("gala", "aaa", weight=10**9, total=9), None)
    system.load_campaign("gala")

    drawn = system.draw("gala", "ann", "key").draw

    assert drawn.odds == begun.odds == "cup:1|0"
    assert drawn.prize
    assert drawn.prize.prize_id == "cup"
    assert drawn.table_version == begun.table_version
    assert system.differences() == []


ODDS = 50
"""One of so many wins."""


def test_a_holder_of_all_seeds_and_rows_wins_as_often_as_anybody(system: InMemorySystem) -> None:
    # As a review did with a known round: accounts are tried offline until one has the point.
    a_lottery(system, miss_weight=ODDS - 1)
    fetch(system, Endpoint(system), 15_000)
    seed = system.draws.day_seed("gala", day_at("Asia/Shanghai", NOW_MS).name)
    newest = system.rounds.find_newest_no(CHAIN.chain_hash) or CHAIN.first_round(NOW_MS)
    known = BeaconRound(newest, SIGNER.signature(newest)).randomness
    names = (f"account-{number}" for number in range(100_000))
    ground = [
        name
        for name in names
        if choose(f"cup:1|{ODDS - 1}", draw_point(seed, "gala", name, 1, known)) == "cup"
    ][:100]

    for user in ground:
        begin(system, user)
    fetch(system, Endpoint(system), 15_000)
    drawn = [system.draw("gala", user, "key").draw for user in ground]

    won = sum(draw.prize is not None for draw in drawn)
    assert won <= 10
    assert all(draw.point == point_of(system, draw) for draw in drawn)


def test_who_knows_that_they_lose_can_wait_for_no_better_odds(system: InMemorySystem) -> None:
    campaign = a_lottery(system, miss_weight=10**9)
    begun = begin(system, "ann")
    fetch(system, Endpoint(system), 15_000)

    # By then the miss is gone, and each key asks for the same draw.
    system.edit_campaign(replace(campaign.plan, miss_weight=0))
    system.load_campaign("gala")
    drawn = system.draw("gala", "ann", "another").draw

    assert drawn.prize is None
    assert drawn.odds == begun.odds
    assert drawn.gone_prize_id is None


def test_a_cache_is_not_believed_by_other_odds_than_were_fixed(system: InMemorySystem) -> None:
    a_lottery(system)
    begin(system, "ann")
    fetch(system, Endpoint(system), 15_000)
    real = system.lots.draw

    def other(ask: DrawAsk) -> DrawOutcome:
        return replace(real(ask), odds="cup:2|0")

    system.lots.draw = other  # type: ignore[method-assign]
    with pytest.raises(InvariantViolated):
        system.draw("gala", "ann", "key")

    assert system.draws.list_draws("gala", "ann") == []


# ---------------------------------------------------------------- prizes that are gone


@pytest.mark.parametrize("limit", [{"total": 1}, {"per_day": 1}, {"per_hour": 1}])
def test_the_last_unit_goes_to_who_completes_first_and_the_other_one_misses(
    limit: dict[str, int], system: InMemorySystem
) -> None:
    a_lottery(system, prize=limit)
    begun = [begin(system, user) for user in ("ann", "bob")]

    won, gone = complete(system, "ann"), complete(system, "bob")

    assert [one.odds for one in begun] == ["cup:1|0"] * 2
    assert won.prize
    assert (gone.prize, gone.gone_prize_id, gone.odds) == (None, "cup", "cup:1|0")
    assert system.draw("gala", "bob", "key").draw == gone
    assert begin(system, "cat").odds == "|0"
    assert system.differences() == []


@pytest.mark.parametrize("change", [{"status": CampaignStatus.OFF}, {"weight": 0}])
def test_a_prize_that_can_not_be_won_any_more_is_a_miss_that_says_so(
    change: dict[str, Any], system: InMemorySystem
) -> None:
    a_lottery(system)
    begin(system, "ann")
    (prize,) = system.draws.list_prizes("gala")
    system.put_prize(replace(prize, **change))
    system.load_campaign("gala")

    drawn = complete(system, "ann")

    assert (drawn.prize, drawn.gone_prize_id) == (None, "cup")
    assert system.differences() == []


def test_only_a_draw_that_had_to_wait_may_say_that_its_prize_was_gone() -> None:
    missed = Draw("gala", "ann", "d" * 32, "20261118", 1, NOW_MS, 7, "cup:1|0", 1)
    waited = replace(missed, attempted_at_ms=NOW_MS)

    assert (missed.gone_prize_id, waited.gone_prize_id) == (None, "cup")
    assert [found.rule for found in check_outcomes([missed, waited])] == ["I5"]


def test_who_has_won_enough_by_then_misses(system: InMemorySystem) -> None:
    campaign = a_lottery(system)
    begin(system, "ann")
    complete(system, "ann")
    begin(system, "ann", "next")
    rules = replace(NO_LIMITS, wins_per_user_per_day=1)
    system.edit_campaign(replace(campaign.plan, rules=rules))
    system.load_campaign("gala")

    drawn = complete(system, "ann", "next")

    assert drawn.gone_prize_id == "cup"


def test_a_lost_cache_gives_a_unit_of_its_own(system: InMemorySystem) -> None:
    a_lottery(system)
    snapshot = system.lots.snapshot()
    for user in ("ann", "bob"):
        begin(system, user)
    first = complete(system, "ann")
    system.lots.fail_over(snapshot)

    second = complete(system, "bob")

    assert (first.unit_no, second.unit_no) == (1, 2)
    assert system.differences() == []


def test_an_older_table_of_the_cache_does_not_lose_a_prize(system: InMemorySystem) -> None:
    campaign = a_lottery(system)
    snapshot = system.lots.snapshot()
    system.edit_campaign(replace(campaign.plan, miss_weight=0))
    (cup,) = system.draws.list_prizes("gala")
    system.put_prize(replace(cup, weight=0))
    system.put_prize(a_prize("gala", "tea", weight=1, total=0))
    system.change_stock(system.draws.list_prizes("gala")[1], 5)
    system.load_campaign("gala")
    assert begin(system, "ann").odds == "tea:1|0"
    system.lots.fail_over(snapshot)

    drawn = complete(system, "ann")

    assert drawn.prize
    assert drawn.prize.prize_id == "tea"


# ---------------------------------------------------------------- limits, days and ends


def test_what_is_begun_uses_up_nothing_and_limits_hold(system: InMemorySystem) -> None:
    a_lottery(system, rules=DrawRules(attempts_per_user_per_day=1))
    for key in ("one", "two", "three"):
        begin(system, "ann", key)
    complete(system, "ann", "four")

    with pytest.raises(AttemptsExhausted):
        system.draw("gala", "ann", "five")


def test_the_odds_are_by_the_ledgers_counts_of_a_user(system: InMemorySystem) -> None:
    a_lottery(system, miss_weight=3, rules=replace(NO_LIMITS, guaranteed_after_misses=1))
    system.edit_campaign(replace(_campaign(system).plan, miss_weight=10**9))
    system.load_campaign("gala")
    begin(system, "ann")
    assert complete(system, "ann").prize is None
    # The cache has lost the day, and with it the miss.
    system.lots.forget()
    system.load_campaign("gala")

    begun = begin(system, "ann", "next")

    assert begun.odds == "cup:1|0"
    assert complete(system, "ann", "next").prize


def test_a_draw_that_is_not_completed_is_void_after_its_day(system: InMemorySystem) -> None:
    a_lottery(system, rules=DrawRules(attempts_per_user_per_day=1))
    old = begin(system, "ann")
    system.clock.at_ms = day_at("Asia/Shanghai", NOW_MS).ends_at_ms + 1_000

    new = begin(system, "ann")
    drawn = complete(system, "ann")

    assert (old.draw_no, new.draw_no) == (1, 1)
    assert old.day < new.day
    assert drawn.draw_id == draw_id_of("gala", "ann", new.day, 1)
    assert [one.day for one in system.draws.list_draws("gala", "ann")] == [new.day]


def test_no_draw_begins_whose_round_comes_after_its_day_or_its_campaign(
    system: InMemorySystem,
) -> None:
    midnight_ms = day_at("Asia/Shanghai", NOW_MS).ends_at_ms
    a_lottery(system, ends_at_ms=midnight_ms + 60_000)
    system.clock.at_ms = midnight_ms - WAIT_MS

    with pytest.raises(BeaconPending) as refusal:
        system.draw("gala", "ann", "key")
    assert refusal.value.retry_after_s == WAIT_MS // 1000
    day = day_at("Asia/Shanghai", system.clock.now_ms()).name
    assert not system.draws.find_attempt("gala", "ann", "none", day, asks_begun=True).begun

    system.clock.at_ms = midnight_ms + 60_000 - WAIT_MS
    with pytest.raises(CampaignEnded):
        system.draw("gala", "ann", "key")


def test_a_round_that_never_comes_is_never_replaced(system: InMemorySystem) -> None:
    a_lottery(system)
    begun = begin(system, "ann")
    silent = Endpoint(system, late_ms=None)

    for _ in range(3):
        fetch(system, silent, 20_000)
        assert begin(system, "ann", "another") == begun

    assert set(silent.asked) == {begun.beacon_round}
    assert "beacon_round_missing" in told(system)


def test_a_campaign_that_does_not_give_says_so_and_begins_nothing(system: InMemorySystem) -> None:
    campaign = a_lottery(system)
    begin(system, "ann")
    system.edit_campaign(replace(campaign.plan, status=CampaignStatus.OFF))

    for user in ("ann", "bob"):
        with pytest.raises(CampaignPaused):
            system.draw("gala", user, "key")
    system.clock.at_ms = campaign.ends_at_ms
    for user in ("ann", "bob"):
        with pytest.raises(CampaignEnded):
            system.draw("gala", user, "key")


def _campaign(system: InMemorySystem) -> Campaign:
    found = system.campaigns.find_campaign("gala")
    assert found
    return found


# ---------------------------------------------------------------- reconciliation


def _differences(system: InMemorySystem) -> list[tuple[str, str, str]]:
    system.pass_time(3_600_000)
    while not (result := system.reconcile()).is_over:
        pass
    return [(found.rule, found.subject, found.what) for found in result.differences]


def _put(system: InMemorySystem, draw: Draw) -> None:
    rows = system.dynamo.tables["draws"]
    key = draw_keys.draw(draw.campaign_id, draw.user_id, draw.draw_id)
    rows[key["pk"], key["sk"]] = to_wire(draw_row(draw))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"beacon_round": 7}, "what was fixed of it"),
        ({"attempted_at_ms": NOW_MS - 6_000}, "what was fixed of it"),
        ({"odds": "cup:9|0"}, "what was fixed of it"),
        ({"attempted_at_ms": None, "signature": None}, "what was fixed of it"),
        ({"point": 7}, "its point"),
        ({"signature": SIGNER.signature(7)}, "its round"),
    ],
)
def test_a_draw_that_is_not_what_was_fixed_of_it_is_found(
    change: dict[str, Any], what: str, system: InMemorySystem
) -> None:
    a_lottery(system, miss_weight=0)
    begin(system, "ann")
    drawn = complete(system, "ann")
    assert _differences(system) == []

    _put(system, replace(drawn, **change))

    assert _differences(system) == [("I5", drawn.draw_id, what)]
    _put(system, drawn)


def test_a_draw_of_which_nothing_was_fixed_is_found(system: InMemorySystem) -> None:
    a_lottery(system)
    begun = begin(system, "ann")
    drawn = complete(system, "ann")
    key = draw_keys.begun_draw("gala", "ann", begun.day, 1)

    del system.dynamo.tables["draws"][key["pk"], key["sk"]]

    assert _differences(system) == [("I5", drawn.draw_id, "what was fixed of it")]


def test_a_row_of_a_draw_that_can_not_be_read_keeps_none_from_being_compared(
    system: InMemorySystem,
) -> None:
    a_lottery(system, miss_weight=0)
    begun = begin(system, "ann")
    drawn = complete(system, "ann")
    key = draw_keys.begun_draw("gala", "ann", begun.day, 1)
    row = system.dynamo.tables["draws"][key["pk"], key["sk"]]
    odds = row.pop("odds")

    assert _differences(system) == [("I5", drawn.draw_id, "what was fixed of it")]
    row["odds"] = odds


def test_a_draw_of_a_day_that_no_calendar_has_is_told(system: InMemorySystem) -> None:
    a_lottery(system, miss_weight=0)
    begun = begin(system, "ann")
    drawn = complete(system, "ann")
    day = "20991399"
    rows, key = system.dynamo.tables["draws"], draw_keys.begun_draw("gala", "ann", day, 1)
    rows[key["pk"], key["sk"]] = to_wire(begun_row(replace(begun, day=day)))

    _put(system, replace(drawn, day=day))

    assert ("I5", drawn.draw_id, "the seed of its day") in _differences(system)
    _put(system, drawn)


def test_what_was_fixed_names_the_round_by_the_rule(system: InMemorySystem) -> None:
    a_lottery(system)
    begun = begin(system, "ann")
    # As who may write rows would begin it: with a round that is known.
    early = replace(begun, beacon_round=CHAIN.first_round(NOW_MS - 60_000))
    key = draw_keys.begun_draw("gala", "ann", begun.day, 1)
    system.dynamo.tables["draws"][key["pk"], key["sk"]] = to_wire(begun_row(early))
    known = BeaconRound(early.beacon_round, SIGNER.signature(early.beacon_round))
    system.rounds.keep(CHAIN.chain_hash, known)

    drawn = system.draw("gala", "ann", "key").draw

    what = "the round that its beginning names"
    assert _differences(system) == [("I5", drawn.draw_id, what)]
