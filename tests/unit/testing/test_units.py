from typing import Any

import pytest

from redpacket.platform.dynamodb.client import Dynamo, put, to_wire, values
from testing.fakes import FakeDynamo
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.units import MeteredDynamo, item_bytes


@pytest.fixture
def meter() -> MeteredDynamo:
    return MeteredDynamo(FakeDynamo(), {"by_work": {"pk", "sk", "work_pk", "work_at_ms"}})


@pytest.fixture
def dynamo(meter: MeteredDynamo) -> Dynamo:
    dynamo = Dynamo(lambda: meter, TABLE_NAMES)
    for number in range(10):
        key = {"pk": "p", "sk": f"row#{number}", "work_pk": "w", "text": "x" * 1_900}
        dynamo.write(put("t", {**key, "work_at_ms": number}))
    dynamo.write(put("t", {"pk": "large", "sk": "s", "text": "x" * 8_200}))
    return dynamo


def test_the_cost_of_a_row_depends_on_its_size_and_its_kind_of_read(
    meter: MeteredDynamo, dynamo: Dynamo
) -> None:
    large, small, none = (
        {"pk": "large", "sk": "s"},
        {"pk": "p", "sk": "row#1"},
        {"pk": "n", "sk": "s"},
    )
    for key in (small, large, none):
        dynamo.get("t", key)
        dynamo.get("t", key, is_strong=False)

    assert [read.units for read in meter.reads] == [1, 0.5, 3, 1.5, 1, 0.5]
    assert meter.strong_count == 3
    meter.forget()
    assert meter.units == 0


def test_rows_that_are_read_together_are_rounded_separately(
    meter: MeteredDynamo, dynamo: Dynamo
) -> None:
    keys = [{"pk": "p", "sk": f"row#{number}"} for number in (0, 1, 99)]

    dynamo.get_many("t", keys, is_strong=True)
    assert (meter.units, meter.strong_count) == (3, 3)
    dynamo.get_many("t", keys, is_strong=False)
    assert (meter.units, meter.strong_count) == (4.5, 3)


@pytest.mark.parametrize(
    ("options", "units"),
    [({"ConsistentRead": True}, 5), ({}, 2.5), ({"IndexName": "by_work"}, 0.5)],
    ids=str,
)
def test_a_query_costs_the_sum_of_its_rows(
    meter: MeteredDynamo, dynamo: Dynamo, options: dict[str, Any], units: float
) -> None:
    bound = values(pk="w" if "IndexName" in options else "p")
    name = "work_pk" if "IndexName" in options else "pk"

    rows = dynamo.query(
        "t", KeyConditionExpression=f"{name} = :pk", ExpressionAttributeValues=bound, **options
    )

    assert len(list(rows)) == 10
    assert meter.units == units


def test_the_size_of_an_item_is_that_of_its_names_and_values() -> None:
    assert item_bytes(to_wire({"pk": "红包"})) == 2 + 6
    assert item_bytes(to_wire({"a": 7, "b": 1_234, "c": 100_000, "d": -12})) == 4 + 2 + 3 + 2 + 3
    assert item_bytes(to_wire({"a": True, "b": b"123"})) == 2 + 1 + 3
    assert item_bytes({"b": {"L": [{"S": "x"}, {"NULL": True}]}}) == 1 + 3 + 2 + 2
    assert item_bytes({"m": {"M": {"n": {"N": "1"}}}}) == 1 + 3 + 1 + 1 + 2
