"""Counter of the units that DynamoDB bills: a client that measures reads and writes.

Fakes and emulators report no consumed capacity, so it is computed from item sizes. A unit is 4 KB
of a strong read, 8 KB of an eventually consistent one, or 1 KB of a write. A query costs the sum of
its rows, and a missing item as much as the smallest one.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from testing.fakes import locate

READ_UNIT_BYTES = 4096
WRITE_UNIT_BYTES = 1024
TRANSACTIONAL = 2
"""Factor for a write in a transaction, because DynamoDB first prepares it and then commits it."""

Indexes: TypeAlias = Mapping[str, Mapping[str, Sequence[str]]]
"""Key attributes of each index, keyed by table."""

Item: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """A read: one request, or one item of a request for several items."""

    table: str
    is_strong: bool
    units: float


class MeteredDynamo:
    """Client of a FakeDynamo that records every read, and the units of every write. *projected* has
    the attributes of each partial index, because a fake returns whole rows. *written* has the units
    of each table, including those of *indexes*; *of_rows* excludes indexes, and is keyed by the
    prefix of the partition key.
    """

    def __init__(
        self,
        client: Any,
        projected: Mapping[str, Collection[str]] | None = None,
        *,
        indexes: Indexes | None = None,
    ) -> None:
        self._client = client
        self._projected = projected or {}
        self._indexes = indexes or {}
        self.reads: list[Read] = []
        self.written: Counter[str] = Counter()
        self.of_rows: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @property
    def units(self) -> float:
        return sum(read.units for read in self.reads)

    @property
    def strong_count(self) -> int:
        return sum(read.is_strong for read in self.reads)

    def forget(self) -> None:
        """Reset the counts."""
        self.reads.clear()
        self.written.clear()
        self.of_rows.clear()

    def get_item(self, **request: Any) -> Any:
        answer = self._client.get_item(**request)
        items = [answer["Item"]] if "Item" in answer else []
        self._note(request["TableName"], items, is_strong=request.get("ConsistentRead", False))
        return answer

    def batch_get_item(self, **request: Any) -> Any:
        answer = self._client.batch_get_item(**request)
        for table, wanted in request["RequestItems"].items():
            is_strong = wanted.get("ConsistentRead", False)
            rows = answer["Responses"].get(table, [])
            unread = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            missing_count = len(wanted["Keys"]) - len(rows) - len(unread)
            for items in [*([item] for item in rows), *([] for _ in range(missing_count))]:
                self._note(table, items, is_strong=is_strong)
        return answer

    def query(self, **request: Any) -> Any:
        answer = self._client.query(**request)
        shown = self._projected.get(request.get("IndexName", ""))
        items = [
            {name: value for name, value in item.items() if shown is None or name in shown}
            for item in answer["Items"]
        ]
        self._note(request["TableName"], items, is_strong=request.get("ConsistentRead", False))
        return answer

    def scan(self, **request: Any) -> Any:
        answer = self._client.scan(**request)
        is_strong = request.get("ConsistentRead", False)
        self._note(request["TableName"], answer["Items"], is_strong=is_strong)
        return answer

    def put_item(self, **request: Any) -> Any:
        return self._writing("put_item", [{"Put": request}], 1, **request)

    def update_item(self, **request: Any) -> Any:
        return self._writing("update_item", [{"Update": request}], 1, **request)

    def transact_write_items(self, **request: Any) -> Any:
        operations = request["TransactItems"]
        return self._writing("transact_write_items", operations, TRANSACTIONAL, **request)

    def _writing(self, call: str, operations: Sequence[Item], times: int, **request: Any) -> Any:
        places = [locate(operation) for operation in operations]
        before = [self._row(*place) for place in places]
        answer = getattr(self._client, call)(**request)
        for (table, key), old in zip(places, before, strict=True):
            row = self._row(table, key)
            size = max(item_bytes(old), item_bytes(row))
            units = times * max(1, -(-size // WRITE_UNIT_BYTES))
            self.of_rows[key[0].partition("#")[0].partition(":")[0]] += units
            self.written[table] += units
            for names in self._indexes.get(table, {}).values():
                self.written[table] += _index_units(names, old, row)
        return answer

    def _row(self, table: str, key: tuple[str, str]) -> Item:
        return dict(self._client.tables.get(table, {}).get(key, {}))

    def _note(self, table: str, items: Iterable[Mapping[str, Any]], *, is_strong: bool) -> None:
        read_bytes = sum(map(item_bytes, items))
        blocks = max(1, -(-read_bytes // READ_UNIT_BYTES))
        self.reads.append(Read(table, is_strong, blocks * (1 if is_strong else 0.5)))


def _index_units(names: Sequence[str], old: Item, row: Item) -> int:
    """Return 1 for a row that enters or leaves an index, 2 for a row that moves within the index,
    and 0 for any other row.
    """
    places = [
        tuple(str(each[name]) for name in names) if all(name in each for name in names) else None
        for each in (old, row)
    ]
    return 0 if places[0] == places[1] else sum(place is not None for place in places)


def item_bytes(item: Mapping[str, Any]) -> int:
    """Return DynamoDB's size of an item: names and values, in its wire form."""
    return sum(len(name.encode()) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((letter, held),) = value.items()
    sizes: dict[str, Callable[[Any], int]] = {
        "S": lambda text: len(text.encode()),
        "B": len,
        "N": _number_bytes,
        "BOOL": lambda _: 1,
        "NULL": lambda _: 1,
        "L": lambda held: 3 + sum(1 + _value_bytes(value) for value in held),
        "M": lambda held: 3 + len(held) + item_bytes(held),
    }
    return sizes[letter](held)


def _number_bytes(text: str) -> int:
    # A number takes one byte per two digits, an additional byte, and another for a minus sign.
    digits = text.lstrip("-").replace(".", "").strip("0") or "0"
    return (len(digits) + 1) // 2 + 1 + text.startswith("-")
