"""DynamoDB's wire forms, its transactions and their conflicts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from secrets import token_hex
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

from redpacket.adapters.aws.errors import PASSING, translated
from redpacket.domain.errors import InvariantViolated, Unavailable

Value: TypeAlias = str | int | bool | bytes
Row: TypeAlias = Mapping[str, Value]
"""An item without DynamoDB's type letters; absent attributes are simply not there."""

WireItem: TypeAlias = dict[str, Any]
Operation: TypeAlias = dict[str, Any]
"""One element of TransactItems: {"Put": {...}} and the like."""

KEYS_PER_READ = 100
"""BatchGetItem's own limit."""

TRIES = 6
_WAIT_S = 0.02
"""First wait of a doubling series with full jitter: 1.2 seconds at the most, half on average."""

_DECIDED = {"None", "ConditionalCheckFailed"}
"""Reasons of a canceled transaction that will be the same at the next try."""


class TransactionCanceled(Exception):
    """A condition did not hold: *found[i]* is what stood where operation *i* had a condition.

    None where the operation's own condition held, {} where nothing stood there.
    """

    def __init__(self, found: Sequence[dict[str, Value] | None]) -> None:
        super().__init__("a condition of the transaction did not hold")
        self.found = found


class ConflictPersists(Unavailable):
    """Other transactions held the rows of the operations at *positions* through all tries."""

    def __init__(self, positions: set[int]) -> None:
        super().__init__("other transactions hold the same rows")
        self.positions = positions


Refusal = TypeVar("Refusal")


@dataclass(frozen=True, slots=True)
class Guarded(Generic[Refusal]):
    """One write of a transaction, and what it means where its condition does not hold.

    *refusal* is given the row that stood there, {} if no row stood there.
    """

    operation: Operation
    refusal: Callable[[dict[str, Value]], Refusal]


def never_refused(_found: Row) -> NoReturn:
    """Refuse a write that has no condition, which can't happen."""
    raise InvariantViolated("a write without a condition was refused")


def refusals(
    writes: Sequence[Guarded[Refusal]], canceled: TransactionCanceled
) -> Iterator[Refusal]:
    """Yield what each refused write means, in the order of *writes*."""
    for write, found in zip(writes, canceled.found, strict=True):
        if found is not None:
            yield write.refusal(found)


def to_wire(row: Row) -> WireItem:
    """Add type letters; a bool is not an int here."""
    return {name: _wire_value(value) for name, value in row.items()}


def from_wire(item: WireItem) -> dict[str, Value]:
    """Strip type letters."""
    return {name: _plain_value(value) for name, value in item.items()}


def values(**named: Value) -> WireItem:
    """Return ExpressionAttributeValues: `values(now=1)` binds `:now`."""
    return {f":{name}": _wire_value(value) for name, value in named.items()}


def put(
    table: str, row: Row, *, condition: str = "attribute_not_exists(pk)", **named: Value
) -> Operation:
    """Write a row if it is absent, or if *condition* holds; *named* bind its values."""
    operation: dict[str, Any] = {
        "TableName": table,
        "Item": to_wire(row),
        "ConditionExpression": condition,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if named:
        operation["ExpressionAttributeValues"] = values(**named)
    return {"Put": operation}


def update(
    table: str, key: Row, expression: str, *, condition: str | None = None, **named: Value
) -> Operation:
    """Change a row by *expression*; *named* bind its and the condition's values."""
    operation: dict[str, Any] = {
        "TableName": table,
        "Key": to_wire(key),
        "UpdateExpression": expression,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if condition:
        operation["ConditionExpression"] = condition
    if named:
        operation["ExpressionAttributeValues"] = values(**named)
    return {"Update": operation}


def create(table: str, row: Row) -> Operation:
    """Write a row if it is absent, by an update, for roles that may not replace rows."""
    return _set(table, row, "attribute_not_exists(pk)")


def merge(table: str, row: Row, *, condition: str | None = None, **named: Value) -> Operation:
    """Write attributes of a row, and leave those that it has besides, unread."""
    operation = _set(table, row, condition, **named)
    del operation["Update"]["ReturnValuesOnConditionCheckFailure"]
    return operation


def _set(table: str, row: Row, condition: str | None, **named: Value) -> Operation:
    key = {name: row[name] for name in ("pk", "sk") if name in row}
    rest = {name: value for name, value in row.items() if name not in key}
    expression = ", ".join(f"#{name} = :{name}" for name in rest)
    operation = update(table, key, f"SET {expression}", condition=condition, **rest, **named)
    operation["Update"]["ExpressionAttributeNames"] = {f"#{name}": name for name in rest}
    return operation


def check(table: str, key: Row, condition: str, **named: Value) -> Operation:
    """Demand that *condition* holds for a row, without changing it."""
    operation: dict[str, Any] = {
        "TableName": table,
        "Key": to_wire(key),
        "ConditionExpression": condition,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if named:
        operation["ExpressionAttributeValues"] = values(**named)
    return {"ConditionCheck": operation}


class Dynamo:
    """A DynamoDB client that connects at its first use: losers of a grab never need it."""

    def __init__(
        self, connect: Callable[[], Any], pause_s: Callable[[float], None] = time.sleep
    ) -> None:
        self._connect = connect
        self._pause_s = pause_s
        self._client: Any = None

    def transact(self, operations: Sequence[Operation]) -> None:
        """Write all or nothing. Raises TransactionCanceled, ConflictPersists, Unavailable."""
        conflicts: set[int] = set()
        token = token_hex(16)
        for attempt in range(TRIES):
            client = self._open()
            with translated("the ledger"):
                try:
                    client.transact_write_items(
                        TransactItems=list(operations), ClientRequestToken=token
                    )
                except client.exceptions.TransactionCanceledException as error:
                    reasons: list[dict[str, Any]] = error.response["CancellationReasons"]
                    token = token_hex(16)
                except client.exceptions.TransactionInProgressException:
                    # An earlier call of this very transaction: its token tells
                    # the next call whether it was carried out.
                    reasons = [{"Code": "TransactionConflict"}] * len(operations)
                else:
                    return
            codes = [reason.get("Code", "None") for reason in reasons]
            if not set(codes) <= PASSING | _DECIDED:
                raise InvariantViolated(f"transaction canceled: {', '.join(sorted(set(codes)))}")
            conflicts = {position for position, code in enumerate(codes) if code in PASSING}
            # A failed condition beside a conflict is half an answer: who holds the other row may
            # be about to make the condition of the row in front of it fail, too.
            if not conflicts:
                raise TransactionCanceled([_found(reason) for reason in reasons])
            self._wait(attempt)
        raise ConflictPersists(conflicts)

    def attempt(self, writes: Sequence[Guarded[Refusal]]) -> Refusal | None:
        """Write all or nothing; None, or the refusal of the first of *writes* that was refused.

        Raises ConflictPersists, Unavailable.
        """
        try:
            self.transact([write.operation for write in writes])
        except TransactionCanceled as canceled:
            return next(refusals(writes, canceled))
        return None

    def try_transact(self, operations: Sequence[Operation]) -> bool:
        """Write all or nothing; False where a condition did not hold. Raises as `attempt`."""
        try:
            self.transact(operations)
        except TransactionCanceled:
            return False
        return True

    def get(self, table: str, key: Row) -> dict[str, Value] | None:
        """Read one row strongly."""
        with translated("the ledger"):
            answer = self._open().get_item(TableName=table, Key=to_wire(key), ConsistentRead=True)
        return from_wire(answer["Item"]) if "Item" in answer else None

    def get_seen(self, table: str, key: Row) -> dict[str, Value] | None:
        """Read one row for half the price, perhaps as it was a moment ago."""
        with translated("the ledger"):
            answer = self._open().get_item(TableName=table, Key=to_wire(key), ConsistentRead=False)
        return from_wire(answer["Item"]) if "Item" in answer else None

    def get_many(
        self, table: str, row_keys: Sequence[Row], *, is_strong: bool, only: str = ""
    ) -> list[dict[str, Value]]:
        """Read at most 100 rows, those that exist, in no order; *only* lists attributes to read."""
        return self.get_across({table: row_keys}, is_strong=is_strong, only=only)

    def get_across(
        self, row_keys: Mapping[str, Sequence[Row]], *, is_strong: bool, only: str = ""
    ) -> list[dict[str, Value]]:
        """Read at most 100 rows of some tables in one call, those that exist, in no order."""
        projection = {"ProjectionExpression": only} if only else {}
        wanted: dict[str, Any] = {
            table: {
                "Keys": [to_wire(key) for key in of_table],
                "ConsistentRead": is_strong,
                **projection,
            }
            for table, of_table in row_keys.items()
        }
        rows: list[dict[str, Value]] = []
        for attempt in range(TRIES):
            with translated("the ledger"):
                answer = self._open().batch_get_item(RequestItems=wanted)
            for found in answer["Responses"].values():
                rows += [from_wire(item) for item in found]
            wanted = answer.get("UnprocessedKeys", {})
            if not wanted:
                return rows
            self._wait(attempt)
        raise Unavailable("the ledger leaves rows unread")

    def query(self, table: str, **query: Any) -> Iterator[dict[str, Value]]:  # noqa: ANN401
        """Yield all rows of a query, page by page; *query* is in boto3's words."""
        while True:
            with translated("the ledger"):
                page = self._open().query(TableName=table, **query)
            yield from (from_wire(item) for item in page["Items"])
            if "LastEvaluatedKey" not in page:
                return
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def scan_page(
        self, table: str, begin: WireItem | None
    ) -> tuple[list[dict[str, Value]], WireItem | None]:
        """Return a page of a table, and where the next one begins; None after the last.

        Rows of one partition follow each other.
        """
        position = {"ExclusiveStartKey": begin} if begin else {}
        with translated("the ledger"):
            page = self._open().scan(TableName=table, ConsistentRead=True, **position)
        return [from_wire(item) for item in page["Items"]], page.get("LastEvaluatedKey")

    def query_some(self, table: str, limit: int, **query: Any) -> list[dict[str, Value]]:  # noqa: ANN401
        """Return the first *limit* rows of a query."""
        return list(islice(self.query(table, Limit=limit, **query), limit))

    def write(self, operation: Operation) -> bool:
        """Carry out one put or update by itself; False if its condition did not hold.

        Raises ConflictPersists where transactions hold the row through all tries: AWS' clients
        don't try again after a conflict.
        """
        ((verb, arguments),) = operation.items()
        client = self._open()
        call = client.put_item if verb == "Put" else client.update_item
        for attempt in range(TRIES):
            with translated("the ledger"):
                try:
                    call(**arguments)
                except client.exceptions.ConditionalCheckFailedException:
                    return False
                except client.exceptions.TransactionConflictException:
                    pass
                else:
                    return True
            self._wait(attempt)
        raise ConflictPersists({0})

    def change(self, operation: Operation) -> dict[str, Value] | None:
        """Carry out one update by itself, and return the whole row; None as `write` is False."""
        client = self._open()
        with translated("the ledger"):
            try:
                answer = client.update_item(**operation["Update"], ReturnValues="ALL_NEW")
            except client.exceptions.ConditionalCheckFailedException:
                return None
        return from_wire(answer["Attributes"])

    def _wait(self, attempt: int) -> None:
        self._pause_s(random.uniform(0, _WAIT_S * 2**attempt))  # noqa: S311 - jitter

    def _open(self) -> Any:  # noqa: ANN401 - boto3's clients have no type at run time
        if self._client is None:
            self._client = self._connect()
        return self._client


def _found(reason: dict[str, Any]) -> dict[str, Value] | None:
    if reason.get("Code") != "ConditionalCheckFailed":
        return None
    return from_wire(reason.get("Item", {}))


def _wire_value(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    return {"B": value} if isinstance(value, bytes) else {"S": value}


def _plain_value(wire: dict[str, Any]) -> Value:
    ((letter, value),) = wire.items()
    return _plain_number(value) if letter == "N" else value


def _plain_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        # No function of ours writes one. It equals no amount, and keeps no other row from us.
        return float(text)  # type: ignore[return-value]
