"""`redpacket ledger restore`."""

from typing import Any

import pytest

from redpacket.platform.restored import RESTORED
from redpacket_cli.restore import asked_first
from tests.unit.cli.test_command import Caller, Journal, Stack, stack

__all__ = ["stack"]

SAME, LOST, CHANGED, NEW = (
    {"pk": {"S": name}, "sk": {"S": "row"}, "fen": {"N": "1"}}
    for name in ("same", "lost", "changed", "new")
)

WAITING, ASKED = (
    {
        "pk": {"S": "waiting"},
        "sk": {"S": "withdrawal"},
        "work_pk": {"S": f"{kind}-wechat#3"},
        "work_at_ms": {"N": "1"},
    }
    for kind in ("transfer", "look")
)


class Tables(Journal):
    """DynamoDB with the tables `before` and `shares`; each batch read answers one key."""

    def __init__(self) -> None:
        super().__init__()
        self.before = [SAME, LOST, CHANGED]
        self.live = [SAME, {**CHANGED, "fen": {"N": "2"}}, NEW]

    def describe_table(self, *, TableName: str) -> Any:  # noqa: N803
        assert TableName == "shares"
        return {"Table": {"KeySchema": [{"AttributeName": "pk"}, {"AttributeName": "sk"}]}}

    def get_paginator(self, name: str) -> "Tables":
        assert name == "scan"
        return self

    def paginate(self, *, TableName: str, Segment: int, TotalSegments: int) -> Any:  # noqa: N803
        assert TableName == "before"
        return [{"Items": self.before[Segment::TotalSegments]}]

    def batch_get_item(self, *, RequestItems: Any) -> Any:  # noqa: N803
        shares = RequestItems["shares"]
        assert shares["ConsistentRead"] is True
        first, *rest = shares["Keys"]
        rows = [row for row in self.live if row["pk"] == first["pk"]]
        more = {"shares": {**shares, "Keys": rest}} if rest else {}
        return {"Responses": {"shares": rows}, "UnprocessedKeys": more}

    def put_item(self, *, TableName: str, Item: Any, ConditionExpression: str) -> None:  # noqa: N803
        assert (TableName, ConditionExpression) == ("shares", "attribute_not_exists(pk)")
        self.live.append(Item)

    def has_restored(self, row: Any) -> bool:
        """Return whether the live table has *row* with the mark of a restored row."""
        return any(
            RESTORED in live and {**row, RESTORED: live[RESTORED]} == live for live in self.live
        )


@pytest.fixture
def tables(stack: Stack) -> Tables:
    tables = Tables()
    stack.clients |= {"dynamodb": tables, "sts": Caller()}
    return tables


def test_missing_and_different_rows_are_listed_and_none_is_written(
    stack: Stack, tables: Tables
) -> None:
    answer = stack.ask_json("ledger", "restore", "before", "SharesTable", code=1)["items"]

    assert answer == [
        {"state": "missing", "key": "lost row"},
        {"state": "differs", "key": "changed row"},
    ]
    assert LOST not in tables.live


def test_missing_rows_are_restored_and_others_stay_unchanged(stack: Stack, tables: Tables) -> None:
    words = ("ledger", "restore", "before", "SharesTable", "--put-back")

    first = stack.ask_json(*words, code=1)["items"]
    tables.before.remove(CHANGED)
    again = stack.run(*words)

    assert [item["state"] for item in first] == ["put back", "differs"]
    assert tables.commands() == ["ledger restore --put-back before SharesTable"] * 2
    assert tables.has_restored(LOST)
    assert CHANGED not in tables.live
    assert (again.exit_code, again.stdout) == (0, "No row differs.\n")


def test_a_restored_withdrawal_is_queried_before_it_is_called(stack: Stack, tables: Tables) -> None:
    words = ("ledger", "restore", "before", "SharesTable", "--put-back")
    tables.before = [WAITING]

    first = stack.ask_json(*words)["items"]
    again = stack.run(*words)
    assert tables.has_restored(ASKED)
    # The live table never lost this row, so nothing is put back.
    tables.live[-1] = WAITING
    untouched = stack.run(*words)

    assert first == [{"state": "put back", "key": "waiting withdrawal"}]
    assert [again.stdout, untouched.stdout] == ["No row differs.\n"] * 2
    assert not tables.has_restored(ASKED)
    assert [asked_first(row) for row in (ASKED, LOST)] == [ASKED, LOST]
