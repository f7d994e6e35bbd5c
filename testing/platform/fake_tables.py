"""Tables of the in-memory DynamoDB, and the evaluation of its expressions."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, MutableMapping
from decimal import Decimal
from functools import cache
from typing import Any, TypeAlias

from redpacket.platform.settings import Tables

TABLE_NAMES = Tables(*Tables._fields)
"""Short table names that tests use."""

Item: TypeAlias = dict[str, Any]

Key: TypeAlias = tuple[str, str]
"""Partition key and sort key, which is "" in a table without sort keys."""

Position: TypeAlias = tuple[str, Key]
"""Table and a key in it."""


INDEXES = {"by_work": ("work_pk", "work_at_ms"), "by_list": ("list_pk", "list_sk")}
"""Partition and sort attributes of each index."""

_LISTS = tuple(partition for partition, _ in INDEXES.values())


class FakeTable(MutableMapping[Key, Item]):
    """Rows of a table, indexed by key, by partition, and by index partition; *watch* sees every
    write.
    """

    def __init__(self, watch: Callable[[Key, Item | None], None] = lambda *_: None) -> None:
        self._rows: dict[Key, Item] = {}
        self._partitions: defaultdict[str, dict[str, Item]] = defaultdict(dict)
        self._listed: defaultdict[str, dict[Key, Item]] = defaultdict(dict)
        self._watch = watch

    def partition(self, pk: str) -> list[Item]:
        """Return a partition's rows in the order of their sort keys."""
        rows = self._partitions.get(pk)
        return [rows[sk] for sk in sorted(rows)] if rows else []

    def listed(self, index: str, pk: str) -> list[Item]:
        """Return the rows of an index partition in the index's order."""
        if not (listed := self._listed.get(pk)):
            return []
        partition, order = INDEXES[index]
        rows = [
            (comparable(row[order]), key, row)
            for key, row in listed.items()
            if row.get(partition) == {"S": pk}
        ]
        return [row for _, _, row in sorted(rows, key=lambda entry: entry[:2])]

    def __getitem__(self, key: Key) -> Item:
        return self._rows[key]

    def __setitem__(self, key: Key, row: Item) -> None:
        self._unlist(key)
        self._rows[key] = self._partitions[key[0]][key[1]] = row
        for name in _LISTS:
            if name in row:
                self._listed[row[name]["S"]][key] = row
        self._watch(key, row)

    def __delitem__(self, key: Key) -> None:
        self._unlist(key)
        del self._rows[key], self._partitions[key[0]][key[1]]
        self._watch(key, None)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: Key, default: Any = None) -> Any:
        return self._rows.get(key, default)

    def _unlist(self, key: Key) -> None:
        row = self._rows.get(key, {})
        for name in _LISTS:
            if name in row:
                self._listed[row[name]["S"]].pop(key, None)


class FakeStream:
    """Stream of all tables: every write but deletions, with the previous row, as Lambda gets it."""

    def __init__(self) -> None:
        self._rows: dict[Position, Item] = {}
        self._records: list[Item] = []

    def note(self, table: str, key: Key, row: Item | None) -> None:
        before = self._rows.pop((table, key), None)
        if row is None:
            return
        self._rows[table, key] = row
        names = [name for name in ("pk", "sk") if name in row]
        images: Item = {"Keys": {name: row[name] for name in names}, "NewImage": row}
        images["SequenceNumber"] = f"{len(self._rows):021d}"
        if before:
            images["OldImage"] = before
        kind = "MODIFY" if before else "INSERT"
        self._records.append({"eventID": table, "eventName": kind, "dynamodb": images})

    def take(self) -> list[Item]:
        """Return the records since the last call."""
        taken, self._records = self._records, []
        return taken


class LateCopy:
    """Delayed copy of tables, as an index or a weak read may show them."""

    def __init__(self, now_ms: Callable[[], int], lag_ms: int) -> None:
        self._now_ms = now_ms
        self._lag_ms = lag_ms
        self._tables: defaultdict[str, FakeTable] = defaultdict(FakeTable)
        self._coming: deque[tuple[int, str, Key, Item | None]] = deque()

    def note(self, table: str, key: Key, row: Item | None) -> None:
        """Receive a write, which the copy shows later."""
        self._coming.append((self._now_ms() + self._lag_ms, table, key, row))

    def table(self, name: str) -> FakeTable:
        """Return the copy of a table at the current time."""
        while self._coming and self._coming[0][0] <= self._now_ms():
            _, table, key, row = self._coming.popleft()
            if row is None:
                self._tables[table].pop(key, None)
            else:
                self._tables[table][key] = row
        return self._tables[name]


def locate(operation: Item) -> Position:
    """Return the table and key that a transaction's operation targets."""
    ((verb, arguments),) = operation.items()
    return arguments["TableName"], key_of(arguments["Item" if verb == "Put" else "Key"])


_TERM = re.compile(
    r"(?P<check>attribute_(?:not_)?exists)\((?P<checked>\w+)\)"
    r"|begins_with\((?P<prefixed>\w+), (?P<prefix>:\w+)\)"
    r"|(?P<ranged>\w+) BETWEEN (?P<first>:\w+) AND (?P<last>:\w+)"
    r"|(?P<left>#?\w+) (?P<operator>=|<>|<=|>=|<) (?P<right>:\w+)"
)


@cache
def terms_of(condition: str) -> list[dict[str, str | None]]:
    terms = list(_TERM.finditer(condition))
    assert " AND ".join(term[0] for term in terms) == condition, f"can't read {condition}"
    return [term.groupdict() for term in terms]


def holds(condition: str, row: Item, bound: Item, names: Item) -> bool:
    return any(
        all(_term_holds(term, row, bound, names) for term in terms_of(alternative))
        for alternative in condition.split(" OR ")
    )


def _term_holds(term: dict[str, Any], row: Item, bound: Item, names: Item) -> bool:
    if term["check"]:
        return bool((term["checked"] in row) == (term["check"] == "attribute_exists"))
    if term["prefix"]:
        value = row.get(term["prefixed"], {"S": ""})["S"]
        return bool(value.startswith(bound[term["prefix"]]["S"]))
    if term["ranged"]:
        if term["ranged"] not in row:
            return False
        low, high = comparable(bound[term["first"]]), comparable(bound[term["last"]])
        return bool(low <= comparable(row[term["ranged"]]) <= high)
    name = names.get(term["left"], term["left"])
    if name not in row:
        return bool(term["operator"] == "<>")  # A missing attribute equals nothing.
    left, right = comparable(row[name]), comparable(bound[term["right"]])
    compare: dict[str, Callable[[Any, Any], bool]] = {
        "=": lambda left, other: left == other,
        "<>": lambda left, other: left != other,
        "<": lambda left, other: left < other,
        "<=": lambda left, other: left <= other,
        ">=": lambda left, other: left >= other,
    }
    return bool(compare[term["operator"]](left, right))


def placed(term: dict[str, Any], rows: list[Item], bound: Item) -> list[Item]:
    """Return the rows of a partition that match a condition on the sort key."""
    if not term["ranged"]:
        return [row for row in rows if _term_holds(term, row, bound, {})]
    order = term["ranged"]
    begin = bisect_left(rows, bound[term["first"]]["S"], key=lambda row: row[order]["S"])
    end = bisect_right(rows, bound[term["last"]]["S"], key=lambda row: row[order]["S"])
    return rows[begin:end]


def update_row(row: Item, expression: str, bound: Item, names: Item) -> None:
    tokens = re.split(r"\b(SET|ADD|REMOVE)\b", expression)[1:]
    for verb, clauses in zip(tokens[::2], tokens[1::2], strict=True):
        # if_not_exists is the only function with two arguments; protect its comma.
        plain = re.sub(r"(if_not_exists\(\w+),", r"\1;", clauses)
        for clause in plain.split(","):
            _update_clause(row, verb, clause.strip(), bound, names)


def _update_clause(row: Item, verb: str, clause: str, bound: Item, names: Item) -> None:
    if verb == "REMOVE":
        row.pop(clause, None)
    elif verb == "ADD":
        name, value = clause.split()
        total = int(row.get(name, {"N": "0"})["N"]) + int(bound[value]["N"])
        row[name] = {"N": str(total)}
    else:
        name, expression = (side.strip() for side in clause.split(" = "))
        name = names.get(name, name)
        kept = re.fullmatch(r"if_not_exists\((\w+); (:\w+)\)", expression)
        if kept:
            row[name] = row.get(kept[1]) or dict(bound[kept[2]])
            return
        added = re.fullmatch(r"(\w+) \+ (:\w+)", expression)
        if added:
            total = int(row[added[1]]["N"]) + int(bound[added[2]]["N"])
            row[name] = {"N": str(total)}
        else:
            row[name] = dict(bound.get(expression) or row[expression])


def key_of(item: Item) -> Key:
    return item["pk"]["S"], item.get("sk", {"S": ""})["S"]


def place_of(row: Item, index: str) -> tuple[Any, ...]:
    """Return the position of a row in its table, or in an index."""
    key = key_of(row)
    return (comparable(row[INDEXES[index][1]]), *key) if index else key


def comparable(value: Item) -> Any:
    return Decimal(value["N"]) if "N" in value else next(iter(value.values()))
