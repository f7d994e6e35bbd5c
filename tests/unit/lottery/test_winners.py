"""Won goods: delivered once, or forfeited and drawn again exactly once."""

from typing import Any
from unittest.mock import Mock, patch

import pytest

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.lottery.model.lottery import UNITS_MAX, PrizeKind
from redpacket.lottery.model.winners import Winner, WinnerStatus
from redpacket.lottery.use_cases.list_winners import _from
from redpacket.operations.model.operators import ActionKind, Change
from redpacket.platform.errors import Contended, InvalidRequest, VersionConflict
from testing.builders import a_campaign, a_prize
from testing.in_memory_system import InMemorySystem, an_operator

ANN = an_operator("ann")
HANDED_OVER, FORFEITED = WinnerStatus.HANDED_OVER, WinnerStatus.FORFEITED


@pytest.fixture
def system() -> InMemorySystem:
    """Return a lottery of three units of two prizes, all of them won; four users have drawn."""
    system = InMemorySystem()
    now_ms = system.clock.now_ms()
    campaign = a_campaign(
        campaign_id="gala", starts_at_ms=now_ms - 1, ends_at_ms=now_ms + 3_600_000
    )
    assert system.campaigns.create(campaign)
    system.put_prize(a_prize("gala", "cup", total=2))
    system.put_prize(a_prize("gala", "pen", total=1))
    for number in range(4):
        _draw(system, f"user-{number}")
    return system


def _draw(system: InMemorySystem, user_id: str) -> str | None:
    system.load_campaign("gala")
    prize = system.draw("gala", user_id, f"key-{user_id}").draw.prize
    return prize.prize_id if prize else None


def _list(system: InMemorySystem, **changes: Any) -> list[Winner]:
    winners: list[Winner] = []
    after = None
    filters = {"prize_id": None, "status": None, "limit": 2, **changes}
    while True:
        page, after = system.process().list_winners("gala", after=after, **filters)
        winners += [winner for winner, _ in page]
        assert len(page) <= filters["limit"]
        if after is None:
            return winners


def _decide(system: InMemorySystem, winner: Winner, status: WinnerStatus, note: str = "") -> Winner:
    decided: Winner = system.process().decide_winner(
        "gala", winner.prize_id, winner.unit_no, status, note, ANN
    )
    return decided


def test_no_winner_is_listed_twice_if_a_page_has_few_of_a_status(
    system: InMemorySystem,
) -> None:
    winner = _list(system)[1]
    _decide(system, winner, WinnerStatus.HANDED_OVER)

    page, _ = system.process().list_winners("gala", None, WinnerStatus.HANDED_OVER, None, 1)

    assert [each.unit for each, _ in page] == [winner.unit]
    winners = system.process().winners
    walked = list(_from("gala", ["cup", "pen"], ("", 0), 1, winners))
    assert [winner.unit for winner in walked] == ["cup.1", "cup.2", "pen.1"]


def test_winners_are_listed_by_prize_and_unit_with_the_time_of_their_draw(
    system: InMemorySystem,
) -> None:
    page, place = system.process().list_winners("gala", None, None, None, 10)

    assert [winner.unit for winner, _ in page] == ["cup.1", "cup.2", "pen.1"]
    assert {at_ms for _, at_ms in page} == {system.clock.now_ms()}
    assert {winner.user_id for winner, _ in page} < {f"user-{number}" for number in range(4)}
    assert place is None
    assert [winner.unit for winner in _list(system)] == ["cup.1", "cup.2", "pen.1"]
    assert [winner.unit for winner in _list(system, limit=1)] == ["cup.1", "cup.2", "pen.1"]
    assert [winner.unit for winner in _list(system, prize_id="pen")] == ["pen.1"]
    assert _list(system, prize_id="none") == []
    with pytest.raises(CampaignNotFound):
        system.process().list_winners("nowhere", None, None, None, 10)


def test_winners_are_listed_by_their_status(system: InMemorySystem) -> None:
    cup, _, pen = _list(system)
    _decide(system, cup, HANDED_OVER)
    _decide(system, pen, FORFEITED)

    by_status = {status: [w.unit for w in _list(system, status=status)] for status in WinnerStatus}

    assert by_status == {"won": ["cup.2"], "handed_over": ["cup.1"], "forfeited": ["pen.1"]}


def test_the_first_decision_about_a_unit_is_the_last(system: InMemorySystem) -> None:
    cup, other, _ = _list(system)
    first = _decide(system, cup, HANDED_OVER, "by courier")
    _decide(system, other, FORFEITED)
    system.clock.sleep_ms(5)

    assert _decide(system, cup, HANDED_OVER, "again") == first
    with pytest.raises(VersionConflict):
        _decide(system, cup, FORFEITED)
    with pytest.raises(VersionConflict):
        _decide(system, other, HANDED_OVER)

    assert _list(system)[0].decision == first.decision
    (prize,) = [p for p in system.prizes.list_prizes("gala") if p.prize_id == "cup"]
    assert (prize.total, prize.version) == (3, 2)
    assert system.differences() == []


def test_a_forfeited_unit_is_drawn_again_exactly_once(system: InMemorySystem) -> None:
    *_, pen = _list(system)
    assert _draw(system, "late") is None

    for _ in range(3):
        _decide(system, pen, FORFEITED, "never came")

    assert _draw(system, "next") == "pen"
    assert _draw(system, "after") is None
    assert [w.user_id for w in _list(system, prize_id="pen")] == [pen.user_id, "next"]
    assert system.differences() == []


def test_two_concurrent_decisions_of_operators_count_once(system: InMemorySystem) -> None:
    *_, pen = _list(system)

    system.before_first_transaction(lambda _: _decide(system, pen, HANDED_OVER))
    with pytest.raises(VersionConflict):
        _decide(system, pen, FORFEITED)

    (prize,) = [p for p in system.prizes.list_prizes("gala") if p.prize_id == "pen"]
    assert prize.total == 1
    with (
        patch.object(system.prizes, "put_prize", return_value=None),
        pytest.raises(Contended),
    ):
        _decide(system, _list(system)[0], FORFEITED)
    assert _list(system, prize_id="pen")[0].status is HANDED_OVER


def test_two_concurrent_forfeits_return_one_unit(system: InMemorySystem) -> None:
    *_, pen = _list(system)

    system.before_first_transaction(lambda _: _decide(system, pen, FORFEITED))
    assert _decide(system, pen, FORFEITED).status is FORFEITED

    (prize,) = [p for p in system.prizes.list_prizes("gala") if p.prize_id == "pen"]
    assert prize.total == 2
    actions, _ = system.actions.list_actions("campaign:gala", None, 100)
    decided = [n.action for n in actions if n.action.kind is ActionKind.WINNER_DECIDED]
    assert len(decided) == 1
    assert Change("total", "1", "2") in decided[0].changes
    assert Change("winner", "won", "forfeited") in decided[0].changes


def test_unwon_units_and_cash_are_not_decided(system: InMemorySystem) -> None:
    cup = _list(system)[0]
    system.deposit("operator", 100)
    system.put_prize(
        a_prize("gala", "cash", kind=PrizeKind.PACKET, amount_fen=10, total=1, weight=10**6)
    )
    assert _draw(system, "rich") == "cash"
    decide = system.process().decide_winner

    for campaign_id, prize_id, unit_no in (
        ("gala", "cup", 3),
        ("gala", "none", 1),
        ("other", "cup", 1),
    ):
        with pytest.raises(CampaignNotFound):
            decide(campaign_id, prize_id, unit_no, HANDED_OVER, "", ANN)
    with pytest.raises(InvalidRequest):
        decide("gala", "cash", 1, FORFEITED, "", ANN)
    assert _list(system)[0] == cup
    assert "cash" not in {winner.prize_id for winner in _list(system)}


def test_a_prize_with_the_maximum_of_units_forfeits_none(system: InMemorySystem) -> None:
    (cup,) = [p for p in system.prizes.list_prizes("gala") if p.prize_id == "cup"]
    system.change_stock(cup, UNITS_MAX - 2)

    with pytest.raises(InvalidRequest):
        _decide(system, _list(system)[0], FORFEITED)

    assert _list(system)[0].decision is None


def test_a_decision_loads_the_cache_if_it_returns_a_unit(
    system: InMemorySystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    cup, _, pen = _list(system)
    load = Mock()
    monkeypatch.setattr("redpacket.lottery.use_cases.decide_winner.load_edited", load)

    _decide(system, cup, HANDED_OVER)
    assert load.call_count == 0
    _decide(system, pen, FORFEITED)
    assert load.call_count == 1
