"""In-memory DynamoDB client."""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from botocore.exceptions import ClientError

from local import places
from testing.platform.fake_tables import (
    INDEXES,
    FakeStream,
    FakeTable,
    Item,
    Key,
    LateCopy,
    Position,
    holds,
    key_of,
    locate,
    place_of,
    placed,
    terms_of,
    update_row,
)


def _error(operation: str, code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, operation)


@cache
def _used(expressions: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the values and names in expressions."""
    text = " ".join(expressions)
    return frozenset(re.findall(r":\w+", text)), frozenset(re.findall(r"#\w+", text))


@cache
def _reserved() -> frozenset[str]:
    """Return the emulator's list of reserved words, which an expression must write as `#name`."""
    packages = places.LAMBDA_PYTHON.parents[1].glob("lib/*/site-packages")
    file = next(packages) / "ministack" / "services" / "_dynamodb_keywords.py"
    words = file.read_text("utf-8").partition("AWS_KEYWORDS = frozenset((")[2].partition("))")[0]
    return frozenset(re.findall(r'"([A-Z]+)"', words))


@cache
def _has_reserved(expressions: tuple[str, ...]) -> bool:
    """Return whether an expression names an attribute by a reserved word; operators are
    uppercase.
    """
    names = re.findall(r"(?<![:#\w])[a-z]\w*\b(?!\()", " ".join(expressions))
    return any(name.upper() in _reserved() for name in names)


def _check_bound(operation: str, arguments: Item) -> None:
    """Reject reserved words, and names and values that are unused or undefined."""
    expressions = tuple(text for name, text in arguments.items() if name.endswith("Expression"))
    values, names = _used(expressions)
    if _has_reserved(expressions):
        raise _error(operation, "ValidationException")
    if values != arguments.get("ExpressionAttributeValues", {}).keys() or (
        names != arguments.get("ExpressionAttributeNames", {}).keys()
    ):
        raise _error(operation, "ValidationException")


class FakeDynamo:
    """In-memory DynamoDB client with the calls, conditions and updates that this project uses.

    A transaction holds its items while *during_transaction* runs. Another transaction on them is
    canceled, a single write is rejected, and plain reads return the previous row (docs/adr/0004).
    Attribute values are replaced and never changed, so a shallow copy of a row is a copy.

    A suite can set how AWS may behave: pages of *page_size* rows, with perhaps an empty last page;
    batches that read only *read_of* keys; delayed indexes and weak reads; items of a transaction
    that appear one by one (*in_order*, *between_items*); and reasons to cancel an operation
    (*against*).
    """

    class exceptions:  # noqa: N801 - boto3's name
        class TransactionCanceledException(ClientError):
            pass

        class TransactionInProgressException(ClientError):
            pass

        class TransactionConflictException(ClientError):
            pass

        class ConditionalCheckFailedException(ClientError):
            pass

    def __init__(self, during_transaction: Callable[[], None] = lambda: None) -> None:
        self.tables: dict[str, FakeTable] = {}
        self.during_transaction = during_transaction
        self.page_size = 1000
        self.read_of: Callable[[int], int] = lambda count: count
        self.in_order: Callable[[list[Any]], list[Any]] = lambda written: written
        self.between_items: Callable[[], None] = lambda: None
        self.against: Callable[[Position], str | None] = lambda _: None
        self.indexes: LateCopy | None = None
        self.replicas: LateCopy | None = None
        self.stream: FakeStream | None = None
        self.conflict_count = 0
        self._held: set[Position] = set()
        self._tokens: set[str] = set()

    def get_item(self, *, TableName: str, Key: Item, ConsistentRead: bool) -> Item:  # noqa: N803
        item = self._seen(TableName, is_strong=ConsistentRead).get(key_of(Key))
        return {"Item": dict(item)} if item else {}

    def batch_get_item(self, *, RequestItems: Item) -> Item:  # noqa: N803
        wanted = [
            (table, key) for table, request in RequestItems.items() for key in request["Keys"]
        ]
        named = {(table, key_of(key)) for table, key in wanted}
        if len(named) != len(wanted) or len(wanted) > 100:
            raise _error("BatchGetItem", "ValidationException")
        count = self.read_of(len(wanted))
        answer: Item = {"Responses": {table: [] for table in RequestItems}, "UnprocessedKeys": {}}
        for table, key in wanted[:count]:
            is_strong = RequestItems[table].get("ConsistentRead", False)
            if row := self._seen(table, is_strong=is_strong).get(key_of(key)):
                answer["Responses"][table].append(dict(row))
        for table, key in wanted[count:]:
            left = answer["UnprocessedKeys"].setdefault(table, {**RequestItems[table], "Keys": []})
            left["Keys"].append(key)
        return answer

    def put_item(self, *, TableName: str, Item: Item, **condition: Any) -> None:  # noqa: N803
        self._single({"Put": {"TableName": TableName, "Item": Item, **condition}})

    def delete_item(self, *, TableName: str, Key: Item) -> None:  # noqa: N803
        self._check_free((TableName, key_of(Key)), "DeleteItem")
        self._table(TableName).pop(key_of(Key), None)

    def update_item(self, *, TableName: str, **update: Any) -> Item:  # noqa: N803
        self._single({"Update": {"TableName": TableName, **update}})
        is_asked = update.get("ReturnValues") == "ALL_NEW"
        return (
            {"Attributes": dict(self._table(TableName)[key_of(update["Key"])])} if is_asked else {}
        )

    def transact_write_items(
        self,
        *,
        TransactItems: list[Item],  # noqa: N803
        ClientRequestToken: str | None = None,  # noqa: N803
    ) -> None:
        if ClientRequestToken in self._tokens:
            return  # The transaction was committed before.
        commit = self.begin(TransactItems)
        self.during_transaction()
        commit()
        if ClientRequestToken:
            self._tokens.add(ClientRequestToken)

    def begin(self, operations: list[Item]) -> Callable[[], None]:
        """Hold the items of a transaction until the returned function commits it."""
        for operation in operations:
            for arguments in operation.values():
                _check_bound("TransactWriteItems", arguments)
        touched = [locate(operation) for operation in operations]
        if len(set(touched)) != len(touched) or len(touched) > 100:
            raise _error("TransactWriteItems", "ValidationException")
        reasons = [
            self._conflict(position) or self._refused(position) or self._reason(operation)
            for position, operation in zip(touched, operations, strict=True)
        ]
        self._raise_canceled(reasons, "TransactWriteItems")
        # Nothing else writes the items while they are held, so their next values are known.
        images = [self._after(operation) for operation in operations]
        self._held.update(touched)

        def commit() -> None:
            # Readers may see the writes in any order.
            written = list(zip(touched, images, strict=True))
            for (table, key), image in self.in_order(written):
                if image is not None:
                    self._table(table)[key] = image
                    self.between_items()
            self._held.difference_update(touched)

        return commit

    def query(self, *, TableName: str, **query: Any) -> Item:  # noqa: N803
        _check_bound("Query", query)
        bound = query["ExpressionAttributeValues"]
        index = query.get("IndexName", "")
        # The first term names the partition, and other terms can only concern the sort key.
        first, *others = terms_of(query["KeyConditionExpression"])
        wanted = bound[first["right"]]["S"]
        if index:
            table = self.indexes.table(TableName) if self.indexes else self._table(TableName)
            rows = table.listed(index, wanted)
        else:
            is_strong = query.get("ConsistentRead", False)
            rows = self._seen(TableName, is_strong=is_strong).partition(wanted)
        if not rows:
            return {"Items": []}
        for term in others:
            rows = placed(term, rows, bound)
        if not query.get("ScanIndexForward", True):
            rows.reverse()
        return self._page(rows, index, query)

    def scan(self, *, TableName: str, **options: Any) -> Item:  # noqa: N803
        table = self._table(TableName)
        return self._page([table[key] for key in sorted(table)], "", options)

    def rows(self) -> dict[str, dict[Key, Item]]:
        """Return a copy of the tables' rows."""
        return {
            name: {key: dict(row) for key, row in table.items()}
            for name, table in self.tables.items()
        }

    def hold(self, rows: dict[str, dict[Key, Item]]) -> None:
        """Replace the tables' rows with *rows*."""
        for table in self.tables.values():
            table.clear()
        for name, held in rows.items():
            self._table(name).update(held)

    def _page(self, rows: list[Item], index: str, options: Item) -> Item:
        """Return the next rows; as on AWS, a full page has a key even if no rows follow. The key is
        a position, not a count, so rows that are written before it do not shift the next page.
        """
        names = ("pk", "sk", *INDEXES.get(index, ()))
        if start := options.get("ExclusiveStartKey"):
            place = place_of(start, index)
            is_forward = options.get("ScanIndexForward", True)
            rows = [
                row
                for row in rows
                if (place_of(row, index) > place if is_forward else place_of(row, index) < place)
            ]
        size = min(options.get("Limit", self.page_size), self.page_size)
        page: Item = {"Items": [dict(row) for row in rows[:size]]}
        if len(rows) >= size:
            last = rows[size - 1]
            page["LastEvaluatedKey"] = {name: last[name] for name in names if name in last}
        return page

    def _table(self, name: str) -> FakeTable:
        if name not in self.tables:
            self.tables[name] = FakeTable(partial(self._note, name))
        return self.tables[name]

    def _note(self, table: str, key: Key, row: Item | None) -> None:
        for copy in (self.indexes, self.replicas, self.stream):
            if copy:
                copy.note(table, key, row)

    def _seen(self, table: str, *, is_strong: bool) -> FakeTable:
        """Return a table as a read sees it."""
        if is_strong or not self.replicas:
            return self._table(table)
        return self.replicas.table(table)

    def _single(self, operation: Item) -> None:
        ((verb, arguments),) = operation.items()
        _check_bound(f"{verb}Item", arguments)
        table, key = locate(operation)
        self._check_free((table, key), f"{verb}Item")
        if self._reason(operation)["Code"] != "None":
            code = "ConditionalCheckFailedException"
            raise self.exceptions.ConditionalCheckFailedException(
                {"Error": {"Code": code, "Message": code}}, f"{verb}Item"
            )
        image = self._after(operation)
        assert image is not None
        self._table(table)[key] = image

    def _conflict(self, position: Position) -> Item | None:
        """Return the reason that cancels an operation on an item held by another transaction."""
        if position not in self._held:
            return None
        return {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}

    def _refused(self, position: Position) -> Item | None:
        code = self.against(position)
        return {"Code": code, "Message": "another reason of AWS"} if code else None

    def _check_free(self, position: Position, name: str) -> None:
        if conflict := self._conflict(position):
            self.conflict_count += 1
            response: Any = {
                "Error": {"Code": "TransactionConflictException", "Message": conflict["Message"]}
            }
            raise self.exceptions.TransactionConflictException(response, name)

    def _raise_canceled(self, reasons: list[Item], name: str) -> None:
        codes = [reason["Code"] for reason in reasons]
        if set(codes) <= {"None"}:
            return
        self.conflict_count += "TransactionConflict" in codes
        text = "Transaction cancelled, please refer cancellation reasons for specific reasons"
        response: Any = {
            "Error": {
                "Code": "TransactionCanceledException",
                "Message": f"{text} [{', '.join(codes)}]",
            },
            "CancellationReasons": reasons,
        }
        raise self.exceptions.TransactionCanceledException(response, name)

    def _reason(self, operation: Item) -> Item:
        ((_, arguments),) = operation.items()
        table, key = locate(operation)
        row = self._table(table).get(key)
        condition = arguments.get("ConditionExpression")
        bound = arguments.get("ExpressionAttributeValues", {})
        names = arguments.get("ExpressionAttributeNames", {})
        if not condition or holds(condition, row or {}, bound, names):
            return {"Code": "None"}
        reason: Item = {
            "Code": "ConditionalCheckFailed",
            "Message": "The conditional request failed",
        }
        if row and arguments.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD":
            reason["Item"] = dict(row)
        return reason

    def _after(self, operation: Item) -> Item | None:
        """Return the row after a Put or Update, or None for other operations."""
        ((verb, arguments),) = operation.items()
        if verb == "Put":
            return dict(arguments["Item"])
        if verb != "Update":
            return None
        table, key = locate(operation)
        row = dict(self._table(table).get(key) or arguments["Key"])
        update_row(
            row,
            arguments["UpdateExpression"],
            arguments.get("ExpressionAttributeValues", {}),
            arguments.get("ExpressionAttributeNames", {}),
        )
        return row
