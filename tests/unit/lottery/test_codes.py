"""Codes that are a prize's stock: stored before it grows, kept after the end, never drawn twice."""

from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.errors import CampaignNotFound
from redpacket.campaigns.model import Campaign
from redpacket.lottery.model.lottery import CODES_KEPT_MS, Prize, PrizeKind
from redpacket.lottery.model.winners import WinnerStatus
from redpacket.lottery.use_cases.edit_prize import add_codes
from redpacket.operations.model.operators import Duty, Operator
from redpacket.platform.errors import Forbidden, InvalidRequest
from testing.builders import NOW_MS, a_campaign
from testing.in_memory_system import InMemorySystem, a_person, an_operator
from testing.operations.office import IO_MAX, Office

END_MS = NOW_MS + 3_600_000
GALA = a_campaign(campaign_id="gala", ends_at_ms=END_MS)
CODES = [f"TEA-{number}" for number in range(60)]


class Gala(Office):
    """Campaign with one prize of codes."""

    def __init__(self) -> None:
        system = InMemorySystem()
        assert system.campaigns.create(GALA)
        super().__init__(system, GALA)
        self.put(self.tea())

    def tea(self, **changes: Any) -> Prize:
        return self.plan("tea", **{"kind": PrizeKind.CODE, "total": 0, **changes})

    def add(self, *codes: str, prize_id: str = "tea", by: Operator | None = None) -> Prize:
        ports = self.process.prize_ports()
        return add_codes("gala", prize_id, codes, by or an_operator(), ports=ports)

    def end_at(self, ends_at_ms: int) -> Campaign:
        return self.edit(replace(GALA, ends_at_ms=ends_at_ms))[0]

    def win(self, user_id: str) -> str | None:
        self.system.load_campaign("gala")
        draw = self.system.draw("gala", user_id, "key").draw
        return self.system.process().show_codes(user_id, [draw]).get(draw.draw_id)


@pytest.fixture
def gala() -> Gala:
    return Gala()


def test_the_stock_is_the_number_of_codes(gala: Gala) -> None:
    first, same, more = gala.add(*CODES[:2]), gala.add(*CODES[:2]), gala.add(*CODES[1:3])

    assert [prize.total for prize in (first, same, more)] == [2, 2, 3]
    assert [prize.version for prize in (first, same, more)] == [2, 2, 3]
    assert [gala.win(user) for user in ("ann", "bob", "cat", "dan")] == [*CODES[:3], None]
    assert gala.system.differences() == []


@pytest.mark.parametrize("how", ["lost", "in doubt", "killed"])
def test_an_interrupted_upload_promises_no_missing_code(how: str) -> None:
    for at in range(1, IO_MAX):
        gala = Gala()
        if not gala.cut(at, how, lambda gala: gala.add(*CODES)):
            break
        promised = gala.prizes()["tea"].total
        assert promised in {0, len(CODES)}
        assert gala.add(*CODES).total == len(CODES)
        assert [gala.win(user) for user in ("ann", "bob")] == CODES[:2]
    assert 5 < at < IO_MAX - 1


def test_a_win_is_shown_to_its_winner_until_an_erasure(gala: Gala) -> None:
    gala.add(*CODES)
    assert gala.win("ann") == CODES[0]
    draw = gala.system.draw("gala", "ann", "key").draw
    process = gala.system.process()

    def shown_if_erased_at(at_ms: int) -> dict[str, str]:
        gala.system.profiles.erase("ann", at_ms)
        return process.show_codes("ann", [draw])

    assert shown_if_erased_at(draw.drawn_at_ms - 1) == {draw.draw_id: CODES[0]}
    assert shown_if_erased_at(draw.drawn_at_ms) == {}
    assert process.show_codes("ann", [replace(draw, prize=None)]) == {}


def test_an_edit_keeps_codes_and_their_end(gala: Gala) -> None:
    added = gala.add(*CODES)

    edited, is_new = gala.put(replace(gala.tea(total=len(CODES)), title="Tea"), added.version)
    again, _ = gala.put(replace(gala.tea(total=len(CODES)), title="Tea"), added.version)

    assert (edited, is_new) == (replace(added, title="Tea", version=added.version + 1), False)
    assert again == edited
    assert added.codes_until_ms == END_MS + 2 * CODES_KEPT_MS


def test_a_campaign_cannot_outlast_its_codes(gala: Gala) -> None:
    gala.put(gala.plan("cup"))
    gala.end_at(END_MS + 1)
    gala.add(*CODES[:1])
    last_ms = END_MS + 1 + CODES_KEPT_MS

    assert gala.end_at(last_ms).ends_at_ms == last_ms
    # Later codes expire at the same time as the first ones.
    assert gala.add(*CODES).codes_until_ms == last_ms + CODES_KEPT_MS
    with pytest.raises(InvalidRequest, match="ends_at_ms"):
        gala.end_at(last_ms + 1)
    assert gala.end_at(END_MS - 1).ends_at_ms == END_MS - 1


def test_only_code_prizes_have_codes_and_their_stock_changes_in_no_other_way(gala: Gala) -> None:
    cup, _ = gala.put(gala.plan("cup"))
    tea = gala.add(*CODES)

    with pytest.raises(InvalidRequest, match="add"):
        gala.add(*CODES, prize_id="cup")
    with pytest.raises(CampaignNotFound):
        gala.add(*CODES, prize_id="pen")
    with pytest.raises(InvalidRequest, match="total"):
        gala.put(gala.plan("pen", kind=PrizeKind.CODE, total=1))
    for delta in (1, -1):
        with pytest.raises(InvalidRequest, match="delta"):
            gala.stock(tea, delta)
    treasurer = Operator(a_person("treasurer"), frozenset({Duty.TREASURY}))
    with pytest.raises(Forbidden):
        gala.add("TEA-60", by=treasurer)
    assert gala.prizes() == {"cup": cup, "tea": tea}


def test_a_code_is_handed_over_but_never_drawn_again(gala: Gala) -> None:
    gala.add(*CODES[:1])
    gala.win("ann")
    decide = gala.system.process().decide_winner

    with pytest.raises(InvalidRequest):
        decide("gala", "tea", 1, WinnerStatus.FORFEITED, "", an_operator())
    decided = decide("gala", "tea", 1, WinnerStatus.HANDED_OVER, "", an_operator())

    assert decided.status is WinnerStatus.HANDED_OVER
    assert gala.prizes()["tea"].total == 1
