"""A DynamoDB client in memory."""

from __future__ import annotations

from collections.abc import (
    Callable,
)
from typing import Any

from botocore.exceptions import ClientError

from tests.fakes.tables import (
    FakeTable,
    Item,
    Position,
    comparable,
    holds,
    key_of,
    locate,
    placed,
    terms_of,
    update_row,
)


def _error(operation: str, code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, operation)


class FakeDynamo:
    """A DynamoDB client in memory: the calls, conditions and updates that this project uses.

    A transaction holds its items while *during_transaction* runs. Another one that touches them is
    canceled, and a single write is refused; plain reads see what stood there before
    (docs/adr/0011). Attribute values are replaced and never changed, so a shallow copy of a row is
    a copy.
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
        self.conflict_count = 0
        self._held: set[Position] = set()
        self._tokens: set[str] = set()

    def get_item(self, *, TableName: str, Key: Item, ConsistentRead: bool) -> Item:  # noqa: N803
        item = self._table(TableName).get(key_of(Key))
        return {"Item": dict(item)} if item else {}

    def batch_get_item(self, *, RequestItems: Item) -> Item:  # noqa: N803
        ((table, asked),) = RequestItems.items()
        if len({key_of(key) for key in asked["Keys"]}) != len(asked["Keys"]):
            raise _error("BatchGetItem", "ValidationException")
        rows = [self._table(table).get(key_of(key)) for key in asked["Keys"]]
        return {"Responses": {table: [dict(row) for row in rows if row]}}

    def put_item(self, *, TableName: str, Item: Item, **condition: Any) -> None:  # noqa: N803
        self._single({"Put": {"TableName": TableName, "Item": Item, **condition}})

    def delete_item(self, *, TableName: str, Key: Item) -> None:  # noqa: N803
        self._check_free((TableName, key_of(Key)), "DeleteItem")
        del self._table(TableName)[key_of(Key)]

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
            return  # it was carried out before
        commit = self.begin(TransactItems)
        self.during_transaction()
        commit()
        if ClientRequestToken:
            self._tokens.add(ClientRequestToken)

    def begin(self, operations: list[Item]) -> Callable[[], None]:
        """Hold the items of a transaction until what is returned commits it."""
        touched = [locate(operation) for operation in operations]
        if len(set(touched)) != len(touched) or len(touched) > 100:
            raise _error("TransactWriteItems", "ValidationException")
        reasons = [
            self._conflict(position) or self._reason(operation)
            for position, operation in zip(touched, operations, strict=True)
        ]
        self._raise_canceled(reasons, "TransactWriteItems")
        # Nothing else writes them while they are held, so what they become is known.
        images = [self._after(operation) for operation in operations]
        self._held.update(touched)

        def commit() -> None:
            self._held.difference_update(touched)
            for (table, key), image in zip(touched, images, strict=True):
                if image is not None:
                    self._table(table)[key] = image

        return commit

    def query(self, *, TableName: str, **query: Any) -> Item:  # noqa: N803
        bound = query["ExpressionAttributeValues"]
        index, condition = query.get("IndexName", ""), query["KeyConditionExpression"]
        table = self._table(TableName)
        # The first term names the partition, and others can only be about the sort key.
        first, *others = terms_of(condition)
        wanted = bound[first["right"]]
        if index:
            candidates = [row for row in table.values() if row.get(str(first["left"])) == wanted]
            rows = [row for row in candidates if holds(condition, row, bound, {})]
            position = {"by_work": "work_at_ms", "by_list": "list_sk"}[index]
            rows.sort(key=lambda row: comparable(row[position]))
        else:
            rows = table.partition(wanted["S"])
            for term in others:
                rows = placed(term, rows, bound)
        if not query.get("ScanIndexForward", True):
            rows.reverse()
        start = query.get("ExclusiveStartKey", {}).get("at", 0)
        end = start + query.get("Limit", 1000)
        page: Item = {"Items": [dict(row) for row in rows[start:end]]}
        if end < len(rows):
            page["LastEvaluatedKey"] = {"at": end}
        return page

    def scan(self, *, TableName: str, **_options: Any) -> Item:  # noqa: N803
        table = self._table(TableName)
        return {"Items": [dict(table[key]) for key in sorted(table)]}

    def _table(self, name: str) -> FakeTable:
        if name not in self.tables:
            self.tables[name] = FakeTable()
        return self.tables[name]

    def _single(self, operation: Item) -> None:
        ((verb, _),) = operation.items()
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
        """Return the reason of an operation on an item that another transaction holds."""
        if position not in self._held:
            return None
        return {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}

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
        said = "Transaction cancelled, please refer cancellation reasons for specific reasons"
        response: Any = {
            "Error": {
                "Code": "TransactionCanceledException",
                "Message": f"{said} [{', '.join(codes)}]",
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
        """Return what an operation leaves in its place; None where it changes nothing."""
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
