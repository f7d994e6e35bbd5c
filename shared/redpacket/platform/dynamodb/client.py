"""DynamoDB client: wire format, transactions, and retries after conflicts."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from secrets import token_hex
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

from redpacket.platform.aws.errors import PASSING, translated
from redpacket.platform.errors import Contended, InvariantViolated, Unavailable
from redpacket.platform.settings import Tables

Value: TypeAlias = str | int | bool | bytes
Row: TypeAlias = Mapping[str, Value]
"""Item without DynamoDB's type descriptors."""

WireItem: TypeAlias = dict[str, Any]
Operation: TypeAlias = dict[str, Any]
"""Element of TransactItems, such as {"Put": {...}}."""

KEYS_PER_READ = 100

TRIES = 6
_WAIT_S = 0.02
"""Maximum first wait in seconds. The maximum doubles per attempt; all waits take at most 1.3 s."""

_DECIDED = {"None", "ConditionalCheckFailed"}
"""Cancellation reasons that a retry does not change."""


class TransactionCanceled(Exception):
    """A condition of a transaction failed.

    *rows[i]* is None if the condition of operation *i* held. Otherwise, it is the existing row, or
    {} if there is none.
    """

    def __init__(self, rows: Sequence[dict[str, Value] | None]) -> None:
        super().__init__("a condition of the transaction did not hold")
        self.rows = rows


class ConflictPersists(Contended):
    """Every attempt met a conflict, the last one in the operations at *positions*."""

    def __init__(self, positions: set[int]) -> None:
        super().__init__("other transactions hold the same rows")
        self.positions = positions


Refusal = TypeVar("Refusal")


@dataclass(frozen=True, slots=True)
class Guarded(Generic[Refusal]):
    """Write, and *refusal*, which maps the existing row to a refusal if the condition fails."""

    operation: Operation
    refusal: Callable[[dict[str, Value]], Refusal]


def never_refused(_row: Row) -> NoReturn:
    """Raise InvariantViolated, because a write without a condition cannot be refused."""
    raise InvariantViolated("a write without a condition was refused")


def refusals(
    writes: Sequence[Guarded[Refusal]], canceled: TransactionCanceled
) -> Iterator[Refusal]:
    """Yield the refusals of the rejected writes, in the order of *writes*."""
    for write, row in zip(writes, canceled.rows, strict=True):
        if row is not None:
            yield write.refusal(row)


def to_wire(row: Row) -> WireItem:
    """Return *row* with DynamoDB's type descriptors."""
    return {name: _wire_value(value) for name, value in row.items()}


def from_wire(item: WireItem) -> dict[str, Value]:
    """Return *item* without DynamoDB's type descriptors."""
    return {name: _plain_value(value) for name, value in item.items()}


def values(**named: Value) -> WireItem:
    """Return ExpressionAttributeValues: `values(now=1)` binds `:now`."""
    return {f":{name}": _wire_value(value) for name, value in named.items()}


def put(
    table: str, row: Row, *, condition: str = "attribute_not_exists(pk)", **named: Value
) -> Operation:
    """Return a Put with *condition* (default: no such row exists) and its *named* values."""
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
    """Return an Update with its *named* values; `#name` stands for the attribute `name`."""
    operation: dict[str, Any] = {
        "TableName": table,
        "Key": to_wire(key),
        "UpdateExpression": expression,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if condition:
        operation["ConditionExpression"] = condition
    if names := re.findall(r"#(\w+)", f"{expression} {condition}"):
        operation["ExpressionAttributeNames"] = {f"#{name}": name for name in names}
    if named:
        operation["ExpressionAttributeValues"] = values(**named)
    return {"Update": operation}


def create(table: str, row: Row) -> Operation:
    """Return an update that creates an absent row, for roles that may not replace rows."""
    return _set(table, row, "attribute_not_exists(pk)")


def merge(table: str, row: Row, *, condition: str | None = None, **named: Value) -> Operation:
    """Return an update that sets the attributes in *row* and leaves all others unchanged."""
    operation = _set(table, row, condition, **named)
    del operation["Update"]["ReturnValuesOnConditionCheckFailure"]
    return operation


def _set(table: str, row: Row, condition: str | None, **named: Value) -> Operation:
    key = {name: row[name] for name in ("pk", "sk") if name in row}
    rest = {name: value for name, value in row.items() if name not in key}
    expression = ", ".join(f"#{name} = :{name}" for name in rest)
    return update(table, key, f"SET {expression}", condition=condition, **rest, **named)


def check(table: str, key: Row, condition: str, **named: Value) -> Operation:
    """Return a condition check for a row that the transaction does not change."""
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
    """DynamoDB client that connects at first use, because most losing grabs don't need it.

    *tables* has the physical table names for repositories.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        tables: Tables,
        pause_s: Callable[[float], None] = time.sleep,
    ) -> None:
        self._connect = connect
        self.tables = tables
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
                    # An earlier attempt at this transaction is still running; the token makes the
                    # retry idempotent.
                    reasons = [{"Code": "TransactionConflict"}] * len(operations)
                else:
                    return
            codes = [reason.get("Code", "None") for reason in reasons]
            if not set(codes) <= PASSING | _DECIDED:
                raise InvariantViolated(f"transaction canceled: {', '.join(sorted(set(codes)))}")
            conflicts = {position for position, code in enumerate(codes) if code in PASSING}
            # A failed condition next to a conflict is not final: the conflicting transaction may be
            # about to make an earlier condition fail.
            if not conflicts:
                raise TransactionCanceled([_row_of(reason) for reason in reasons])
            self._wait(attempt)
        raise ConflictPersists(conflicts)

    def attempt(self, writes: Sequence[Guarded[Refusal]]) -> Refusal | None:
        """Write all or nothing; return the first refusal, or None. Raises like `transact`."""
        try:
            self.transact([write.operation for write in writes])
        except TransactionCanceled as canceled:
            return next(refusals(writes, canceled))
        return None

    def try_transact(self, operations: Sequence[Operation]) -> bool:
        """Write all or nothing; return False if a condition failed. Raises like `attempt`."""
        try:
            self.transact(operations)
        except TransactionCanceled:
            return False
        return True

    def get(self, table: str, key: Row, *, is_strong: bool = True) -> dict[str, Value] | None:
        """Read one row; an eventually consistent read costs half as much."""
        client = self._open()
        with translated("the ledger"):
            answer = client.get_item(TableName=table, Key=to_wire(key), ConsistentRead=is_strong)
        return from_wire(answer["Item"]) if "Item" in answer else None

    def get_many(
        self, table: str, row_keys: Sequence[Row], *, is_strong: bool, only: str = ""
    ) -> list[dict[str, Value]]:
        """Return existing rows, in any order; *only* lists attributes to read."""
        return [
            row
            for start in range(0, len(row_keys), KEYS_PER_READ)
            for row in self.get_across(
                {table: row_keys[start : start + KEYS_PER_READ]}, is_strong=is_strong, only=only
            )
        ]

    def get_across(
        self, row_keys: Mapping[str, Sequence[Row]], *, is_strong: bool, only: str = ""
    ) -> list[dict[str, Value]]:
        """Return the existing rows for at most 100 keys in several tables, in any order."""
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
            for items in answer["Responses"].values():
                rows += [from_wire(item) for item in items]
            wanted = answer.get("UnprocessedKeys", {})
            if not wanted:
                return rows
            self._wait(attempt)
        raise Unavailable("the ledger leaves rows unread")

    def query(self, table: str, **query: Any) -> Iterator[dict[str, Value]]:  # noqa: ANN401
        """Yield all rows of a query, page by page; *query* has boto3's arguments."""
        while True:
            with translated("the ledger"):
                page = self._open().query(TableName=table, **query)
            yield from (from_wire(item) for item in page["Items"])
            if "LastEvaluatedKey" not in page:
                return
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def query_some(self, table: str, limit: int, **query: Any) -> list[dict[str, Value]]:  # noqa: ANN401
        return list(islice(self.query(table, Limit=limit, **query), limit))

    def write(self, operation: Operation) -> bool:
        """Execute one write; return False if its condition failed. Raises ConflictPersists."""
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

    def update(
        self,
        table: str,
        key: Row,
        expression: str,
        *,
        condition: str | None = None,
        **named: Value,
    ) -> bool:
        """Build an update with the module's `update`, and execute it like `write`."""
        return self.write(update(table, key, expression, condition=condition, **named))

    def change(self, operation: Operation) -> dict[str, Value] | None:
        """Execute one update and return the new row, or None if its condition failed."""
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


def _row_of(reason: dict[str, Any]) -> dict[str, Value] | None:
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
        # No function writes a fraction. Return it, so that other rows stay readable.
        return float(text)  # type: ignore[return-value]
