"""FakeDynamo refuses calls that conflict with a transaction, as DynamoDB's documentation describes
in "Transactional conflicts in DynamoDB" and on the API pages of TransactWriteItems,
TransactGetItems and PutItem.
"""

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from redpacket.platform.dynamodb.client import check, put, update
from testing.fakes import FakeDynamo

TABLE = "table"
HELD, FREE = {"pk": "held", "sk": "row"}, {"pk": "free", "sk": "row"}
CONFLICT = {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}


def _wire(key: dict[str, str]) -> Any:
    return {name: {"S": value} for name, value in key.items()}


def _reasons(do: Callable[[], object]) -> list[dict[str, Any]]:
    with pytest.raises(ClientError) as canceled:
        do()
    response: Any = canceled.value.response
    assert response["Error"]["Code"] == "TransactionCanceledException"
    codes = [reason["Code"] for reason in response["CancellationReasons"]]
    assert response["Error"]["Message"].endswith(f"[{', '.join(codes)}]")
    reasons: list[dict[str, Any]] = response["CancellationReasons"]
    return reasons


@pytest.fixture
def client() -> FakeDynamo:
    """Return a table of two rows; a transaction holds one of them."""
    dynamo = FakeDynamo()
    dynamo.transact_write_items(TransactItems=[put(TABLE, {**HELD, "n": 1}), put(TABLE, FREE)])
    dynamo.begin([update(TABLE, HELD, "SET n = :n", n=2)])
    return dynamo


@pytest.mark.parametrize(
    "operation",
    [put(TABLE, HELD), update(TABLE, HELD, "SET n = :n", n=3), check(TABLE, HELD, "n = :n", n=1)],
)
def test_a_transaction_on_a_held_item_is_canceled_with_a_reason_for_each_item(
    client: FakeDynamo, operation: Any
) -> None:
    other = put(TABLE, {"pk": "new", "sk": "row"})

    reasons = _reasons(lambda: client.transact_write_items(TransactItems=[other, operation]))

    assert reasons == [{"Code": "None"}, CONFLICT]
    assert ("new", "row") not in client.tables[TABLE]


def test_reasons_can_be_mixed(client: FakeDynamo) -> None:
    taken = put(TABLE, FREE)
    ours = put(TABLE, {"pk": "new", "sk": "row"})
    busy = update(TABLE, HELD, "SET n = :n", n=3)

    reasons = _reasons(lambda: client.transact_write_items(TransactItems=[taken, ours, busy]))

    codes = [reason["Code"] for reason in reasons]
    assert codes == ["ConditionalCheckFailed", "None", "TransactionConflict"]
    assert reasons[0]["Item"] == _wire(FREE)
    assert "Item" not in reasons[2]


def test_a_canceled_transaction_holds_nothing(client: FakeDynamo) -> None:
    busy = update(TABLE, HELD, "SET n = :n", n=3)
    again = update(TABLE, FREE, "SET n = :n", n=3)
    _reasons(lambda: client.transact_write_items(TransactItems=[again, busy]))

    client.transact_write_items(TransactItems=[again])

    assert client.tables[TABLE]["free", "row"]["n"] == {"N": "3"}


def test_single_writes_on_a_held_item_are_refused(client: FakeDynamo) -> None:
    writes: list[Callable[[], object]] = [
        lambda: client.put_item(TableName=TABLE, Item=_wire(HELD)),
        # The conflict takes precedence over the condition, which is not evaluated.
        lambda: client.put_item(
            TableName=TABLE, Item=_wire(HELD), ConditionExpression="attribute_not_exists(pk)"
        ),
        lambda: client.update_item(
            TableName=TABLE,
            Key=_wire(HELD),
            UpdateExpression="SET n = :n",
            ExpressionAttributeValues={":n": {"N": "3"}},
        ),
        lambda: client.delete_item(TableName=TABLE, Key=_wire(HELD)),
    ]
    for write in writes:
        with pytest.raises(client.exceptions.TransactionConflictException) as refused:
            write()
        assert refused.value.response["Error"]["Code"] == "TransactionConflictException"
    assert client.conflict_count == len(writes)


def test_plain_reads_return_the_previous_row(client: FakeDynamo) -> None:
    before = {**_wire(HELD), "n": {"N": "1"}}
    by_key = {":pk": {"S": "held"}}

    got = client.get_item(TableName=TABLE, Key=_wire(HELD), ConsistentRead=True)
    several = client.batch_get_item(RequestItems={TABLE: {"Keys": [_wire(HELD)]}})
    page = client.query(
        TableName=TABLE, KeyConditionExpression="pk = :pk", ExpressionAttributeValues=by_key
    )

    assert got["Item"] == before
    assert several["Responses"][TABLE] == [before]
    assert page["Items"] == [before]
    assert before in client.scan(TableName=TABLE)["Items"]


def test_a_finished_transaction_releases_its_items() -> None:
    client = FakeDynamo()
    commit = client.begin([put(TABLE, HELD)])
    assert client.tables.get(TABLE, {}) == {}

    commit()

    client.transact_write_items(TransactItems=[update(TABLE, HELD, "SET n = :n", n=3)])
    assert client.tables[TABLE]["held", "row"]["n"] == {"N": "3"}


def test_other_transactions_conflict_with_a_running_one() -> None:
    client = FakeDynamo()
    met: list[list[dict[str, Any]]] = []

    def during() -> None:
        client.during_transaction = lambda: None
        met.append(_reasons(lambda: client.transact_write_items(TransactItems=[put(TABLE, HELD)])))

    client.during_transaction = during
    client.transact_write_items(TransactItems=[put(TABLE, HELD)])

    assert met == [[CONFLICT]]


def test_a_missing_attribute_differs_from_every_value(client: FakeDynamo) -> None:
    for name in (FREE, {"pk": "new", "sk": "row"}):
        client.transact_write_items(TransactItems=[check(TABLE, name, "n <> :n", n=1)])
        for operator in ("=", "<", "<=", ">="):
            _reasons(
                lambda: client.transact_write_items(
                    TransactItems=[check(TABLE, name, f"n {operator} :n", n=1)]  # noqa: B023
                )
            )


def test_the_real_client_raises_the_same_errors() -> None:
    real: Any = boto3.client(
        "dynamodb", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )

    for name in vars(FakeDynamo.exceptions):
        if name.endswith("Exception"):
            assert issubclass(getattr(real.exceptions, name), ClientError)


@pytest.mark.parametrize(
    "bound",
    [
        {"ExpressionAttributeValues": {":one": {"N": "1"}, ":two": {"N": "2"}}},
        {"ExpressionAttributeValues": {}},
        {
            "ExpressionAttributeValues": {":one": {"N": "1"}},
            "ExpressionAttributeNames": {"#status": "status"},
        },
    ],
)
def test_missing_and_unused_names_and_values_of_an_expression_are_refused(bound: Any) -> None:
    update = {"Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}, "UpdateExpression": "SET n = :one"}
    dynamo = FakeDynamo()

    with pytest.raises(ClientError, match="ValidationException"):
        dynamo.update_item(TableName="rows", **update, **bound)
    with pytest.raises(ClientError, match="ValidationException"):
        dynamo.transact_write_items(
            TransactItems=[{"Update": {"TableName": "rows", **update, **bound}}]
        )


def test_a_reserved_word_of_dynamodb_needs_another_name_in_an_expression() -> None:
    key = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    bound = {"ExpressionAttributeValues": {":one": {"N": "1"}}}
    dynamo = FakeDynamo()

    with pytest.raises(ClientError, match="ValidationException"):
        dynamo.update_item(
            TableName="rows", Key=key, UpdateExpression="SET reference = :one", **bound
        )
    dynamo.update_item(
        TableName="rows",
        Key=key,
        UpdateExpression="SET #reference = :one",
        ExpressionAttributeNames={"#reference": "reference"},
        **bound,
    )
