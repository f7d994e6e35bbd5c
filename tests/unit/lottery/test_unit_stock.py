"""Count of a prize's won units, even after hundreds of thousands of wins."""

from dataclasses import replace
from typing import Any

import pytest

from redpacket.lottery.dynamodb import keys as draw_keys
from redpacket.lottery.dynamodb import unit_stock
from redpacket.lottery.dynamodb.prizes import DynamoPrizes
from redpacket.lottery.model.lottery import Prize, PrizeKind, PrizeStock
from redpacket.packets.model.packet import partition_count
from redpacket.platform.dynamodb.client import Dynamo, Row, to_wire
from redpacket.platform.errors import Unavailable
from testing.builders import a_packet_id, a_prize
from testing.fakes import FakeDynamo
from testing.platform.fake_tables import TABLE_NAMES

ROWS_PER_CALL, ROWS_PER_PAGE = 10_000, 600
"""One tenth of the real values, because the tests have one tenth of the units."""


class _Won:
    """DynamoDB client for partitions whose units are all won except *free*."""

    def __init__(self, units: int, free: set[int], partitions: int = 1) -> None:
        self.read_count = 0
        self.free = free
        self._units = units
        self._partitions = partitions
        self._place: dict[str, Any] = {}

    def get_item(self, **_asked: Any) -> dict[str, Any]:
        return {"Item": self._place} if self._place else {}

    def update_item(self, **update: Any) -> None:
        bound = update["ExpressionAttributeValues"]
        assert int(bound[":until_no"]["N"]) > int(self._place.get("until_no", {"N": "0"})["N"])
        self._place = {name.removeprefix(":"): value for name, value in bound.items()}

    def batch_get_item(self, *, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        ((table, request),) = RequestItems.items()
        won = [key for key in request["Keys"] if int(key["sk"]["S"][-7:]) not in self.free]
        return {"Responses": {table: won}}

    def query(self, *, Limit: int, **query: Any) -> dict[str, Any]:  # noqa: N803
        bound = query["ExpressionAttributeValues"]
        partition = int(bound[":pk"]["S"].rpartition("#")[2]) if self._partitions > 1 else 0
        prefix, first = bound[":first"]["S"][:-7], int(bound[":first"]["S"][-7:])
        numbers = [
            number
            for number in range(first, self._units + 1)
            if (number - 1) % self._partitions == partition and number not in self.free
        ][:Limit]
        self.read_count += len(numbers)
        return {"Items": [to_wire({"sk": f"{prefix}{number:07d}"}) for number in numbers]}


GOODS = a_prize("gala", total=1_000_000)
PACKET_ID = a_packet_id(20)
CASH = replace(GOODS, kind=PrizeKind.PACKET, packets=((PACKET_ID, 1_000_000),))


@pytest.mark.parametrize(("prize", "partitions"), [(GOODS, 1), (CASH, partition_count(PACKET_ID))])
def test_many_won_units_are_counted_with_a_bounded_number_of_calls(
    prize: Prize, partitions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit_stock, "ROWS_PER_CALL", ROWS_PER_CALL)
    monkeypatch.setattr(unit_stock, "ROWS_PER_RUN", 20)
    client = _Won(40_000, {7, 39_900}, partitions)
    prizes = DynamoPrizes(Dynamo(lambda: client, TABLE_NAMES))
    counted: list[PrizeStock] = []
    refused_count = 0

    while not counted:
        before = client.read_count
        try:
            counted = prizes.list_stock([prize], "")
        except Unavailable:
            refused_count += 1
        assert client.read_count - before <= ROWS_PER_CALL + ROWS_PER_PAGE

    assert counted == [PrizeStock(prize.prize_id, 40_000, (7, 39_900))]
    assert refused_count in {3, 4}
    client.free = {7}
    read_before = client.read_count
    assert prizes.list_stock([prize], "") == [PrizeStock(prize.prize_id, 40_000, (7,))]
    assert client.read_count == read_before


def _noted_no(dynamo: FakeDynamo) -> int:
    row = dynamo.get_item(
        TableName="draws", Key=to_wire(draw_keys.stock("gala", "cup", "")), ConsistentRead=True
    )
    return int(row["Item"]["until_no"]["N"])


def _win(dynamo: FakeDynamo, prize_id: str, units: int) -> None:
    for number in range(1, units + 1):
        dynamo.put_item(TableName="draws", Item=to_wire(draw_keys.unit("gala", prize_id, number)))


def test_a_slow_reader_does_not_overwrite_a_later_position(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unit_stock, "NOTED_MIN", 2)
    dynamo = FakeDynamo()
    prizes = DynamoPrizes(Dynamo(lambda: dynamo, TABLE_NAMES))
    _win(dynamo, "cup", 12)
    prizes.list_stock([GOODS], "")
    # A slower reader read the position before it was stored, and reads fewer rows.
    monkeypatch.setattr(unit_stock, "ROWS_PER_CALL", 5)
    monkeypatch.setattr(unit_stock, "ROWS_PER_RUN", 5)
    monkeypatch.setattr(unit_stock.UnitStock, "_find", lambda *_: unit_stock._Place())

    with pytest.raises(Unavailable):
        prizes.list_stock([GOODS], "")

    assert _noted_no(dynamo) == 12


@pytest.mark.parametrize("until_no", [1, 50, 2_000_000])
def test_a_position_that_claims_units_without_a_row_is_counted_again(
    until_no: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit_stock, "NOTED_MIN", 1)
    dynamo = FakeDynamo()
    prizes = DynamoPrizes(Dynamo(lambda: dynamo, TABLE_NAMES))
    forged: Row = {"until_no": until_no, "free_nos": "", "refunded_count": 0}
    row = {**draw_keys.stock("gala", "cup", ""), **forged}
    dynamo.put_item(TableName="draws", Item=to_wire(row))

    assert prizes.list_stock([GOODS], "") == [PrizeStock("cup", 0, ())]

    _win(dynamo, "cup", 3)
    assert prizes.list_stock([GOODS], "") == [PrizeStock("cup", 3, ())]
    assert _noted_no(dynamo) == 3


def test_one_call_reads_as_much_for_many_prizes_as_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unit_stock, "ROWS_PER_CALL", 4)
    monkeypatch.setattr(unit_stock, "ROWS_PER_RUN", 3)
    dynamo = FakeDynamo()
    prizes = DynamoPrizes(Dynamo(lambda: dynamo, TABLE_NAMES))
    goods = [replace(GOODS, prize_id=f"prize-{number}") for number in range(3)]
    for prize in goods:
        _win(dynamo, prize.prize_id, 2)

    assert len(prizes.list_stock(goods[:2], "")) == 2
    with pytest.raises(Unavailable):
        prizes.list_stock(goods, "")


def test_free_units_below_a_position_are_not_won() -> None:
    stock = PrizeStock("cup", 5, (2,), 3, (1, 2))

    assert (stock.won_count, stock.won_today_count) == (4, 1)


def test_units_of_cash_are_numbered_across_its_packets() -> None:
    packets = tuple((a_packet_id(), count) for count in (2, 3, 4))
    stock = unit_stock.UnitStock(Dynamo(FakeDynamo, TABLE_NAMES))

    assert [run.before for run in stock._cash(replace(CASH, packets=packets))] == [0, 2, 5]
