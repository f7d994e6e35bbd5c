"""Checks of the lottery: each finds a planted fault, and none reports a correct lottery."""

from dataclasses import replace
from typing import Any

from redpacket.lottery.model.lottery import Draw, PrizeKind
from redpacket.packets.model.claim import Share, ShareStatus, claimer_of
from redpacket.packets.model.packet import Rules
from redpacket.platform.difference import Difference
from redpacket.platform.user import User
from redpacket.reconciliation.checks.lottery import check_outcomes
from redpacket.reconciliation.checks.packets import PacketFacts, check_once_per_user, check_takers
from testing.builders import NOW_MS, a_claim, a_packet, a_prize
from testing.reconciliation.checks import (
    LotteryFacts,
    PlayerDay,
    Unit,
    check_claim_counts,
    check_lottery,
    check_told_draws,
)

DAY = "20270129"
CUP = a_prize("fair", "cup", total=3, per_day=2, once_per_user=True)
CASH = a_prize(
    "fair",
    "cash",
    kind=PrizeKind.PACKET,
    amount_fen=88,
    total=3,
    packets=(("packet-1", 2), ("packet-2", 1)),
)
MISSED = Draw("fair", "ann", "draw-1", DAY, 1, NOW_MS, 2**51, "cup:10|90", 4)
WON_CUP = replace(MISSED, draw_id="draw-2", draw_no=2, point=0, prize=CUP, unit_no=2, day_no=1)
WON_CASH = replace(MISSED, user_id="bob", draw_id="draw-3", odds="cash:1|0", prize=CASH, unit_no=3)
FACTS = LotteryFacts(
    campaign_id="fair",
    prizes=[CUP, CASH],
    draws=[MISSED, WON_CUP, WON_CASH],
    units=[Unit("cup", 2, "draw-2"), Unit("cup", 1, "draw-2", DAY)],
    players=[
        PlayerDay("ann", DAY, 1, 1, 1, 1, 1),
        PlayerDay("bob", DAY, 1, 1, 0, 1, 1),
        PlayerDay("cat", DAY, -1, 0, 1, 0, 0),
    ],
    shares=[
        Share("packet-2", 1, ShareStatus.CLAIMED, 88, NOW_MS, User("bob")),
        Share("packet-1", 1, ShareStatus.REFUNDED, 88, NOW_MS),
        Share("packet-of-others", 1, ShareStatus.CLAIMED, 5, NOW_MS, User("bob")),
    ],
)


def _found(facts: LotteryFacts) -> list[Difference]:
    differences = check_lottery(facts)
    assert {difference.rule for difference in differences} <= {"I9"}
    return differences


def _with_win(**changes: Any) -> LotteryFacts:
    """Return the facts with a changed win of the cup and the matching unit rows."""
    won = replace(WON_CUP, **changes)
    assert won.prize
    units = [Unit("cup", won.unit_no, won.draw_id), Unit("cup", won.day_no, won.draw_id, DAY)]
    return replace(FACTS, draws=[MISSED, won, WON_CASH], units=units)


def test_a_correct_lottery_has_no_differences() -> None:
    assert check_lottery(FACTS) == []
    assert check_outcomes(FACTS.draws) == []
    assert check_told_draws(FACTS.draws, FACTS.draws) == []


def test_a_unit_outside_the_stock_is_found() -> None:
    for unit_no in (0, 4):
        (difference,) = _found(_with_win(unit_no=unit_no))
        assert difference.what == "unit within"
    (difference,) = _found(_with_win(day_no=3))
    assert (difference.expected, difference.actual) == (2, 3)
    # Units won before the stock was lowered are not reported.
    assert check_lottery(replace(FACTS, prizes=[replace(CUP, total=1), CASH])) == []


def test_a_unit_that_was_won_twice_is_found() -> None:
    twice = replace(WON_CUP, draw_id="draw-9", draw_no=1, user_id="cat", day_no=2)
    players = [*FACTS.players[:2], PlayerDay("cat", DAY, 1, 1, 0, 1, 1)]
    units = [*FACTS.units, Unit("cup", 2, "draw-9", DAY)]

    (difference,) = _found(
        replace(FACTS, draws=[*FACTS.draws, twice], units=units, players=players)
    )

    assert "unit 2" in difference.what


def test_a_unit_without_its_win_and_a_win_without_its_unit_are_found() -> None:
    stray = Unit("cup", 3, "draw-8")
    assert len(_found(replace(FACTS, units=[*FACTS.units, stray]))) == 1
    assert len(_found(replace(FACTS, units=FACTS.units[:1]))) == 1
    assert len(_found(replace(FACTS, units=FACTS.units[1:]))) == 1


def test_a_second_win_of_a_once_per_user_prize_is_found() -> None:
    again = replace(WON_CUP, draw_id="draw-9", draw_no=3, unit_no=1, day_no=2)
    units = [*FACTS.units, Unit("cup", 1, "draw-9"), Unit("cup", 2, "draw-9", DAY)]
    players = [PlayerDay("ann", DAY, 2, 2, 1, 9, 9), *FACTS.players[1:]]

    (difference,) = _found(
        replace(FACTS, draws=[*FACTS.draws, again], units=units, players=players)
    )

    assert (difference.what, difference.actual) == ("wins of ann", 2)


def test_cash_that_differs_from_the_wins_is_found() -> None:
    share = FACTS.shares[0]
    another = replace(share, share_no=2, packet_id="packet-1")
    changed = replace(share, claimer=User("cat")), replace(share, amount_fen=89), another
    for shares in ([], *([share] for share in changed), [share, another]):
        assert _found(replace(FACTS, shares=shares))


def test_counts_and_numbers_that_differ_from_the_draws_are_found() -> None:
    anns, *others = FACTS.players
    counts: list[dict[str, Any]] = [
        *({"attempt_count": count} for count in (0, 2)),
        *({name: 0} for name in ("help_count", "win_count", "attempts_max", "wins_max")),
    ]
    for changes in counts:
        assert _found(replace(FACTS, players=[replace(anns, **changes), *others])), changes
    assert _found(replace(FACTS, players=others))
    for draw_no in (1, 3):
        assert _found(replace(FACTS, draws=[MISSED, replace(WON_CUP, draw_no=draw_no), WON_CASH]))


def test_an_outcome_that_contradicts_its_point_is_found() -> None:
    (difference,) = check_outcomes([replace(WON_CUP, point=2**51)])
    assert (difference.expected, difference.actual) == ("None", "cup")
    assert len(check_outcomes([replace(MISSED, point=0)])) == 1


def test_a_draw_with_another_answer_is_found() -> None:
    assert len(check_told_draws(FACTS.draws, [replace(WON_CUP, unit_no=1)])) == 1
    assert len(check_told_draws([], [MISSED])) == 1


# ---- packet checks of a prize packet


PACKET = a_packet(264, 3, rules=Rules(campaign_id="fair", prize_id="cash"))
SHARES = [a_claim(PACKET, 1, "ann"), a_claim(PACKET, 2, "ann"), a_claim(PACKET, 3, "bob")]


def test_a_user_can_have_several_shares_only_of_a_prize_packet() -> None:
    facts = PacketFacts(PACKET, SHARES)

    assert check_once_per_user(facts) == []
    assert len(check_once_per_user(replace(facts, packet=replace(PACKET, rules=Rules())))) == 1


def test_each_won_share_has_a_row_of_its_claimer() -> None:
    claimers = [claimer_of(share) for share in SHARES]

    assert check_takers(SHARES, reversed(claimers)) == []
    assert len(check_takers(SHARES, claimers[1:])) == 1
    assert len(check_takers(SHARES, [*claimers, replace(claimers[2], user_id="cat")])) == 1
    assert len(check_takers(SHARES, [replace(claimers[0], amount_fen=1), *claimers[1:]])) == 1


def test_wins_do_not_count_against_a_quota() -> None:
    assert check_claim_counts([PacketFacts(PACKET, SHARES)], {}) == []
    assert len(check_claim_counts([PacketFacts(PACKET, SHARES)], {("fair", "ann"): 2})) == 1
