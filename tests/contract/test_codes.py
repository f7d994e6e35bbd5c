"""Suite for prize codes, on the fake and on the AWS emulator."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from redpacket.campaigns.model import DrawRules
from redpacket.lottery.dynamodb import codes as adapter
from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.dynamodb.codes import DynamoCodes
from redpacket.lottery.dynamodb.draws import DynamoDraws
from redpacket.lottery.model.lottery import (
    Draw,
    Prize,
    PrizeKind,
    RecordDrawStatus,
)
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import InvalidRequest
from testing.builders import NOW_MS, a_prize
from testing.platform.fake_tables import TABLE_NAMES
from tests.contract.tables import KINDS, a_client

UNTIL_MS = NOW_MS + 1_000
_numbers = itertools.count(1)


class Office:
    """Adapters that add, assign and show codes."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.dynamo = Dynamo(lambda: client, TABLE_NAMES, pause_s=lambda _: None)
        self.codes = DynamoCodes(self.dynamo)
        self.draws = DynamoDraws(self.dynamo)
        # The emulator's tables outlive a test.
        self.campaign_id = f"codes-{next(_numbers)}-{id(self)}"

    def add(self, *codes: str, prize_id: str = "tea") -> int:
        return self.codes.add(self.campaign_id, prize_id, codes, UNTIL_MS)

    def won(self, unit_no: int, prize_id: str = "tea", user_id: str = "ann") -> Draw:
        prize: Prize = a_prize(self.campaign_id, prize_id, kind=PrizeKind.CODE, total=9)
        draw_no = self.draws.find_player(self.campaign_id, user_id, "20270129").draw_count + 1
        return Draw(
            campaign_id=self.campaign_id,
            user_id=user_id,
            draw_id=f"{prize_id}-{unit_no}-{user_id}-{draw_no}",
            day="20270129",
            draw_no=draw_no,
            drawn_at_ms=NOW_MS,
            point=7,
            odds=f"{prize_id}:1|0",
            snapshot_version=1,
            prize=prize,
            unit_no=unit_no,
        )

    def record(self, draw: Draw) -> RecordDrawStatus:
        return self.draws.record_draw(draw, DrawRules(), draw.draw_id)

    def stored(self, *unit_nos: int, prize_id: str = "tea") -> list[str]:
        draws = [self.won(unit_no, prize_id) for unit_no in unit_nos]
        codes = self.codes.find(draws)
        return [codes.get(draw.draw_id, "") for draw in draws]


@pytest.fixture(params=KINDS)
def office(request: pytest.FixtureRequest) -> Iterator[Office]:
    with a_client(request.param, request) as client:
        yield Office(client)


def test_codes_are_numbered_as_units_in_their_order(office: Office) -> None:
    assert office.add("C", "A") == 2
    assert office.add("B") == 3
    assert office.add("B", prize_id="pen") == 1

    assert office.stored(1, 2, 3, 4) == ["C", "A", "B", ""]
    assert office.stored(1, prize_id="pen") == ["B"]


def test_a_code_that_the_prize_already_has_is_skipped(office: Office) -> None:
    office.add("A", "B")

    assert office.add("B", "C", "A", "D") == 4
    assert office.add("A", "B", "C", "D") == 4

    assert office.stored(1, 2, 3, 4, 5) == ["A", "B", "C", "D", ""]


def test_a_call_of_many_codes_takes_several_transactions(office: Office) -> None:
    codes = [f"code {number}" for number in range(120)]

    assert office.add(*codes[:60]) == 60
    assert office.add(*codes) == 120

    assert office.stored(*range(1, 51)) == codes[:50]
    assert office.stored(*range(51, 121)) == codes[50:]


def test_the_row_of_each_code_expires_and_its_number_remains(office: Office) -> None:
    office.add("A")

    where = office.campaign_id, "tea"
    rows = list(
        office.dynamo.query(
            "codes",
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": draw_keys.code(*where, 1)["pk"]}},
        )
    )
    assert [row["expires_at_s"] for row in rows] == [UNTIL_MS // 1000] * 2
    assert [row.get("code") for row in rows] == ["A", None]
    assert office.dynamo.get("codes", draw_keys.code_count(*where)) == {
        **draw_keys.code_count(*where),
        "code_count": 1,
    }


def test_concurrent_adders_get_different_numbers(office: Office) -> None:
    transact, others = office.dynamo.transact, [("B", "C"), ("A", "D")]

    def meet(operations: Any) -> None:
        if others:
            DynamoCodes.add(office.codes, office.campaign_id, "tea", others.pop(), UNTIL_MS)
        transact(operations)

    office.dynamo.transact = meet  # type: ignore[method-assign]
    assert office.add("A", "E") == 5

    stored = office.stored(1, 2, 3, 4, 5)
    assert sorted(stored) == ["A", "B", "C", "D", "E"]


def test_a_prize_has_no_more_codes_than_units(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "UNITS_MAX", 2)

    assert office.add("A", "B") == 2
    with pytest.raises(InvalidRequest):
        office.add("C")
    assert office.stored(1, 2, 3) == ["A", "B", ""]


def test_a_unit_is_won_with_its_code_or_not_at_all(office: Office) -> None:
    office.add("A")

    assert office.record(office.won(2)) is RecordDrawStatus.UNIT_TAKEN
    assert office.record(office.won(1)) is RecordDrawStatus.RECORDED
    assert office.record(office.won(1, user_id="bob")) is RecordDrawStatus.UNIT_TAKEN
    # Prizes of other kinds have no codes.
    goods = office.won(2)
    assert goods.prize
    goods = replace(goods, prize=replace(goods.prize, kind=PrizeKind.GOODS))
    assert office.record(goods) is RecordDrawStatus.RECORDED
