"""A DynamoDB in memory that counts the units of what it is asked, as DynamoDB charges them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.fakes import FakeDynamo

WRITE_UNIT_BYTES = 1_024
READ_UNIT_BYTES = 4_096
TRANSACTIONAL = 2
"""A write in a transaction is charged twice: DynamoDB prepares it, then makes it."""

Indexes: TypeAlias = Mapping[str, Mapping[str, Sequence[str]]]
"""The key attributes of each index, by table."""

Item: TypeAlias = dict[str, Any]


@dataclass
class Metered:
    """A client of DynamoDB; *written* and *read* are units by table, *of_rows* those of the rows.

    *of_rows* has no units of indexes, and is by what the partition key begins with.
    """

    dynamo: FakeDynamo
    indexes: Indexes
    written: Counter[str] = field(default_factory=Counter)
    of_rows: Counter[str] = field(default_factory=Counter)
    read: Counter[str] = field(default_factory=Counter)
    exceptions = FakeDynamo.exceptions

    def reset(self) -> None:
        """Count from 0."""
        for counter in (self.written, self.of_rows, self.read):
            counter.clear()

    def get_item(self, **arguments: Any) -> Item:  # noqa: ANN401 - boto3's
        """Count a read of one row."""
        answer = self.dynamo.get_item(**arguments)
        found = [answer["Item"]] if "Item" in answer else []
        self._count_read(arguments["TableName"], found, is_strong=arguments["ConsistentRead"])
        return answer

    def batch_get_item(self, **arguments: Any) -> Item:  # noqa: ANN401 - boto3's
        """Count a read for each key, whether there is a row or not."""
        answer = self.dynamo.batch_get_item(**arguments)
        ((table, asked),) = arguments["RequestItems"].items()
        found = answer["Responses"][table]
        for row in [*found, *({} for _ in range(len(asked["Keys"]) - len(found)))]:
            self._count_read(table, [row], is_strong=asked["ConsistentRead"])
        return answer

    def query(self, **arguments: Any) -> Item:  # noqa: ANN401 - boto3's
        """Count a read of all rows of the page together."""
        answer = self.dynamo.query(**arguments)
        is_strong = arguments.get("ConsistentRead", False)
        self._count_read(arguments["TableName"], answer["Items"], is_strong=is_strong)
        return answer

    def put_item(self, **arguments: Any) -> None:  # noqa: ANN401 - boto3's
        """Count a write."""
        self._writing("put_item", [{"Put": arguments}], 1, **arguments)

    def update_item(self, **arguments: Any) -> Item:  # noqa: ANN401 - boto3's
        """Count a write."""
        answer: Item = self._writing("update_item", [{"Update": arguments}], 1, **arguments)
        return answer

    def transact_write_items(self, **arguments: Any) -> None:  # noqa: ANN401 - boto3's
        """Count each write twice."""
        operations = arguments["TransactItems"]
        self._writing("transact_write_items", operations, TRANSACTIONAL, **arguments)

    def _writing(self, call: str, operations: Sequence[Item], times: int, **arguments: Any) -> Any:  # noqa: ANN401
        places = [_place(operation) for operation in operations]
        before = [dict(self._row(*place)) for place in places]
        answer = getattr(self.dynamo, call)(**arguments)
        for (table, key), old in zip(places, before, strict=True):
            row = self._row(table, key)
            size = max(_row_bytes(old), _row_bytes(row))
            units = times * max(1, -(-size // WRITE_UNIT_BYTES))
            self.of_rows[key[0].partition("#")[0].partition(":")[0]] += units
            self.written[table] += units
            for names in self.indexes.get(table, {}).values():
                self.written[table] += _index_units(names, old, row)
        return answer

    def _row(self, table: str, key: tuple[str, str]) -> Item:
        rows = self.dynamo.tables.get(table)
        row: Item = rows.get(key, {}) if rows else {}
        return row

    def _count_read(self, table: str, rows: Sequence[Item], *, is_strong: bool) -> None:
        units = max(1, -(-sum(map(_row_bytes, rows)) // READ_UNIT_BYTES))
        self.read[table] += units if is_strong else units / 2  # type: ignore[assignment]


def _place(operation: Item) -> tuple[str, tuple[str, str]]:
    ((verb, arguments),) = operation.items()
    key = arguments["Item" if verb == "Put" else "Key"]
    return arguments["TableName"], (key["pk"]["S"], key.get("sk", {"S": ""})["S"])


def _index_units(names: Sequence[str], old: Item, row: Item) -> int:
    """Return 1 for a row that enters or leaves an index, 2 for one that moves within it."""
    places = [
        tuple(str(each[name]) for name in names) if all(name in each for name in names) else None
        for each in (old, row)
    ]
    return 0 if places[0] == places[1] else sum(place is not None for place in places)


def _row_bytes(row: Item) -> int:
    return sum(len(name) + _value_bytes(value) for name, value in row.items())


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((letter, content),) = value.items()
    # A number takes about a byte for two digits, and never more than its text.
    return 1 if letter == "BOOL" else len(str(content).encode())
