"""In-memory DynamoDB in virtual time, with realistic latency, limits, and conflicts.

A transaction takes 15 to 80 ms, depending on the number of its items, and holds them meanwhile. A
partition of a table or an index accepts 1,000 write units and 3,000 read units a second. Further
calls are throttled, and retried as in botocore's standard mode. The units of all writes are
counted.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from botocore.exceptions import ClientError

from bench.virtual import VirtualTime
from testing.fakes import FakeDynamo, Item, Position, locate
from testing.platform.units import READ_UNIT_BYTES, TRANSACTIONAL, WRITE_UNIT_BYTES, item_bytes

Result = TypeVar("Result")

WRITE_UNITS_PER_S = 1_000
READ_UNITS_PER_S = 3_000
BURST_S = 0.1
"""Seconds of unused capacity that a partition keeps; few, so short runs show the steady rate."""

TRANSACTION_MS, ITEM_MS, LONGEST_MS = (15, 25), (0.2, 0.6), 80
"""Milliseconds that a transaction takes: basic range, additional range per item, and maximum."""

REFUSAL_MS = (5, 15)
WRITE_MS, READ_MS = (4, 10), (2, 6)

ROWS_PER_PAGE = 4_000

SDK_TRIES = 2
SDK_WAIT_S_MAX = 20
"""Number of attempts and maximum wait in botocore's standard mode, as in containers/platform.py."""

Partition: TypeAlias = tuple[str, str]
"""Table or index, and a partition key."""


@dataclass(frozen=True, slots=True)
class Index:
    """Sparse index of the items that have all of *key_names*. *name* is `table/index`."""

    name: str
    key_names: tuple[str, ...]
    projected: frozenset[str]
    """Attributes that the index copies, in addition to the keys of index and table."""

    def entry(self, row: Item | None) -> tuple[tuple[Item, ...], Item] | None:
        """Return the keys and copied attributes of *row*, or None if the index does not have it."""
        if not row or not all(name in row for name in self.key_names):
            return None
        copies = {name: value for name, value in row.items() if name in self.projected}
        return tuple(row[name] for name in self.key_names), copies


def indexes_of(template: Mapping[str, Any]) -> dict[str, list[Index]]:
    """Return the indexes of each table, by its name in the template."""
    return {
        name: [
            Index(
                f"{name}/{each['IndexName']}",
                tuple(key["AttributeName"] for key in each["KeySchema"]),
                frozenset(each["Projection"].get("NonKeyAttributes", ())),
            )
            for each in resource["Properties"].get("GlobalSecondaryIndexes", [])
        ]
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::DynamoDB::Table"
    }


@dataclass(slots=True)
class _Bucket:
    """Remaining capacity of a partition, negative after calls that exceeded it."""

    per_s: int
    level: float
    at_s: float

    def fill(self, now_s: float) -> None:
        filled = self.level + (now_s - self.at_s) * self.per_s
        self.level = min(BURST_S * self.per_s, filled)
        self.at_s = now_s


@dataclass
class Units:
    """Write units, and the number of times that a partition was full."""

    written: int = 0
    throttled_count: int = 0


class SlowDynamo(FakeDynamo):
    """DynamoDB client. *is_slow* is False while the bench prepares its ledger."""

    def __init__(self, time: VirtualTime, indexes: Mapping[str, list[Index]], seed: int) -> None:
        super().__init__()
        self.is_slow = False
        self.units = Units()
        self._time = time
        self._indexes = indexes
        self._random = random.Random(seed)  # noqa: S311 - chooses latencies
        self._write_buckets: dict[Partition, _Bucket] = {}
        self._read_buckets: dict[Partition, _Bucket] = {}

    def transact_write_items(self, *, TransactItems: list[Item], **_: Any) -> None:  # noqa: N803
        """Hold the items for the duration of the transaction, then write them."""
        try:
            self._check_throughput(TransactItems)
            touched = [locate(operation) for operation in TransactItems]
            before = [self._row(position) for position in touched]
            commit = self.begin(TransactItems)
        except self.exceptions.TransactionCanceledException as canceled:
            self._charge_preparing(TransactItems, canceled)
            self._pass_ms(self._random.uniform(*REFUSAL_MS))
            raise
        self._pass_ms(self._transaction_ms(len(TransactItems)))
        commit()
        for position, row in zip(touched, before, strict=True):
            self._charge_write(position, row, self._row(position), TRANSACTIONAL)

    def put_item(self, **arguments: Any) -> None:
        """Put an item."""
        self._write({"Put": arguments}, super().put_item)

    def update_item(self, **arguments: Any) -> Item:
        """Update an item."""
        answers: list[Item] = []
        update_item = super().update_item
        self._write({"Update": arguments}, lambda **given: answers.append(update_item(**given)))
        return answers[0]

    def get_item(self, **arguments: Any) -> Item:
        """Read an item."""
        table, pk = arguments["TableName"], arguments["Key"]["pk"]["S"]
        share = 1.0 if arguments["ConsistentRead"] else 0.5
        get = super().get_item
        return self._read((table, pk), lambda: get(**arguments), share)

    def batch_get_item(self, *, RequestItems: Item) -> Item:  # noqa: N803
        """Read items. Those of a throttled partition stay unprocessed."""
        ((table, request),) = RequestItems.items()
        share = 1.0 if request.get("ConsistentRead") else 0.5
        full = []
        for key in request["Keys"]:
            bucket = self._bucket(self._read_buckets, (table, key["pk"]["S"]), READ_UNITS_PER_S)
            if self.is_slow and bucket.level <= 0:
                full.append(key)
            else:
                bucket.level -= share
        self.units.throttled_count += len(full)
        self._pass_ms(self._random.uniform(*READ_MS))
        left = [key for key in request["Keys"] if key not in full] if full else request["Keys"]
        answer = super().batch_get_item(RequestItems={table: {**request, "Keys": left}})
        return {
            **answer,
            **({"UnprocessedKeys": {table: {**request, "Keys": full}}} if full else {}),
        }

    def query(self, **arguments: Any) -> Item:
        """Read a page of at most ROWS_PER_PAGE rows, which are about a megabyte."""
        arguments.setdefault("Limit", ROWS_PER_PAGE)
        bound = arguments["ExpressionAttributeValues"]
        # The first bound value is the partition's key, as in all queries of the adapters.
        pk = next(iter(bound.values()))["S"]
        share = 1.0 if arguments.get("ConsistentRead") else 0.5
        where = f"{arguments['TableName']}/{arguments.get('IndexName', '')}".rstrip("/")
        query = super().query
        return self._read((where, pk), lambda: query(**arguments), share)

    # ---- time and throughput

    def _transaction_ms(self, item_count: int) -> float:
        each_ms = self._random.uniform(*ITEM_MS)
        return min(LONGEST_MS, self._random.uniform(*TRANSACTION_MS) + item_count * each_ms)

    def _pass_ms(self, duration_ms: float) -> None:
        if self.is_slow:
            self._time.sleep_s(duration_ms / 1000)

    def _row(self, position: Position) -> Item | None:
        table, key = position
        row: Item | None = self._table(table).get(key)
        return row

    def _bucket(
        self, buckets: dict[Partition, _Bucket], partition: Partition, per_s: int
    ) -> _Bucket:
        now_s = self._time.now_s
        # While *is_slow* is False, no time passes, so every call gets a full bucket.
        bucket = buckets.get(partition) if self.is_slow else None
        if bucket is None:
            bucket = buckets[partition] = _Bucket(per_s, BURST_S * per_s, now_s)
        bucket.fill(now_s)
        return bucket

    def _is_full(self, operation: Item) -> bool:
        table, key = locate(operation)
        images = [self._row((table, key)), operation.get("Put", {}).get("Item")]
        partitions = {(table, key[0])}
        for index in self._indexes.get(table, ()):
            entries = filter(None, map(index.entry, images))
            partitions |= {(index.name, keys[0]["S"]) for keys, _ in entries}
        return any(
            self._bucket(self._write_buckets, partition, WRITE_UNITS_PER_S).level <= 0
            for partition in partitions
        )

    def _check_throughput(self, operations: list[Item]) -> None:
        if not self.is_slow:
            return
        reasons: list[Item] = [
            {"Code": "ThrottlingError" if self._is_full(operation) else "None"}
            for operation in operations
        ]
        throttled = sum(reason["Code"] != "None" for reason in reasons)
        self.units.throttled_count += throttled
        self._raise_canceled(reasons, "TransactWriteItems")

    def _write(self, operation: Item, do: Callable[..., None]) -> None:
        position = locate(operation)
        ((verb, arguments),) = operation.items()

        def write() -> None:
            self._pass_ms(self._random.uniform(*WRITE_MS))
            if self.is_slow and self._is_full(operation):
                raise self._throttled(f"{verb}Item")
            before = self._row(position)
            do(**arguments)
            self._charge_write(position, before, self._row(position), 1)

        self._retry(write)

    def _read(self, partition: Partition, do: Callable[[], Item], share: float) -> Item:
        def read() -> Item:
            self._pass_ms(self._random.uniform(*READ_MS))
            bucket = self._bucket(self._read_buckets, partition, READ_UNITS_PER_S)
            if self.is_slow and bucket.level <= 0:
                raise self._throttled("a read")
            answer = do()
            rows = answer["Items"] if "Items" in answer else [answer.get("Item", {})]
            size = sum(map(item_bytes, rows))
            bucket.level -= share * max(1, -(-size // READ_UNIT_BYTES))
            return answer

        return self._retry(read)

    def _throttled(self, name: str) -> ClientError:
        self.units.throttled_count += 1
        code = "ProvisionedThroughputExceededException"
        return ClientError({"Error": {"Code": code, "Message": code}}, name)

    def _retry(self, do: Callable[[], Result]) -> Result:
        for attempt in range(SDK_TRIES):
            try:
                return do()
            except ClientError as error:
                is_last = attempt == SDK_TRIES - 1
                if is_last or error.response["Error"]["Code"][:11] != "Provisioned":
                    raise
            self._time.sleep_s(self._random.random() * min(2**attempt, SDK_WAIT_S_MAX))
        raise AssertionError

    # ---- units

    def _charge_write(
        self, position: Position, before: Item | None, after: Item | None, factor: int
    ) -> None:
        table, key = position
        size = max(item_bytes(before or {}), item_bytes(after or {}))
        self._charge((table, key[0]), factor * max(1, -(-size // WRITE_UNIT_BYTES)))
        for index in self._indexes.get(table, ()):
            old, new = index.entry(before), index.entry(after)
            # Moving an entry costs two units: one to delete it, and one to write it again.
            # An entry that keeps its position costs one unit if an attribute changes.
            is_moved = not (old and new) or old[0] != new[0]
            changed = [each for each in ((old, new) if is_moved else (new,)) if each]
            for keys, _ in changed if old != new else ():
                self._charge((index.name, keys[0]["S"]), 1)

    def _charge(self, partition: Partition, units: int) -> None:
        self.units.written += units
        self._bucket(self._write_buckets, partition, WRITE_UNITS_PER_S).level -= units

    def _charge_preparing(self, operations: list[Item], canceled: ClientError) -> None:
        reasons: Any = canceled.response
        codes = [reason["Code"] for reason in reasons["CancellationReasons"]]
        for operation, code in zip(operations, codes, strict=True):
            if code in {"None", "ConditionalCheckFailed"}:
                table, key = locate(operation)
                bucket = self._bucket(self._write_buckets, (table, key[0]), WRITE_UNITS_PER_S)
                bucket.level -= 1
