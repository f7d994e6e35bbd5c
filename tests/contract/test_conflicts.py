"""Proxy in front of the emulator: it reports conflicts as the fake does, and is otherwise
invisible.
"""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from redpacket.platform.dynamodb.client import Dynamo, TransactionCanceled, put, to_wire, update
from testing.fakes import FakeDynamo
from testing.platform.cloud import Cloud, a_cloud
from testing.platform.fake_tables import TABLE_NAMES

HOLD_MS = (300, 400)
TABLE = "accounts"
HELD, FREE = {"pk": "held", "sk": "row"}, {"pk": "free", "sk": "row"}


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with a_cloud(HOLD_MS) as running:
        yield running


class Ledger:
    """Client, and a function that holds an item during a call."""

    def __init__(self, client: Any, hold: Callable[[Callable[[], Any]], Any]) -> None:
        self.client = client
        self.during = hold


@pytest.fixture(params=["fake", "emulator"])
def ledger(request: pytest.FixtureRequest) -> Ledger:
    add = update(TABLE, HELD, "ADD n :one", one=1)
    if request.param == "fake":
        fake = FakeDynamo()

        def hold(do: Callable[[], Any]) -> Any:
            commit = fake.begin([add])
            try:
                return do()
            finally:
                commit()

        return Ledger(fake, hold)
    running: Cloud = request.getfixturevalue("cloud")
    client = running.aws("dynamodb")

    def hold_there(do: Callable[[], Any]) -> Any:
        started = threading.Event()

        def transact() -> None:
            started.set()
            client.transact_write_items(TransactItems=[add])

        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(transact)
            started.wait()
            time.sleep(0.1)
            try:
                return do()
            finally:
                held.result()

    return Ledger(client, hold_there)


def _refusal(do: Callable[[], Any]) -> Any:
    with pytest.raises(ClientError) as refused:
        do()
    response: Any = refused.value.response
    return type(refused.value).__name__, [
        (reason["Code"], reason.get("Message"))
        for reason in response.get("CancellationReasons", [])
    ]


def test_a_transaction_that_conflicts_with_another_one_is_canceled(ledger: Ledger) -> None:
    both = [put(TABLE, {"pk": "new", "sk": "row"}), update(TABLE, HELD, "ADD n :one", one=1)]

    refusal = ledger.during(
        lambda: _refusal(lambda: ledger.client.transact_write_items(TransactItems=both))
    )

    conflict = ("TransactionConflict", "Transaction is ongoing for the item")
    assert refusal == ("TransactionCanceledException", [("None", None), conflict])


def test_a_single_write_that_conflicts_with_a_transaction_is_refused(ledger: Ledger) -> None:
    wire = to_wire(HELD)

    refusal = ledger.during(
        lambda: _refusal(lambda: ledger.client.put_item(TableName=TABLE, Item=wire))
    )

    assert refusal == ("TransactionConflictException", [])


def test_a_plain_read_does_not_conflict(ledger: Ledger) -> None:
    ledger.during(
        lambda: ledger.client.get_item(TableName=TABLE, Key=to_wire(HELD), ConsistentRead=True)
    )


def test_the_adapter_retries_after_a_conflict(ledger: Ledger) -> None:
    # The emulator holds the item for longer than six attempts take without pauses.
    dynamo = Dynamo(lambda: ledger.client, TABLE_NAMES, pause_s=lambda _: time.sleep(0.1))
    row = {"pk": f"mine-{time.monotonic_ns()}", "sk": "row"}

    if isinstance(ledger.client, FakeDynamo):
        dynamo.transact([put(TABLE, row)])
    else:
        ledger.during(
            lambda: dynamo.transact([put(TABLE, row), update(TABLE, HELD, "ADD n :one", one=1)])
        )

    # The first write was committed, so the condition of a second write fails.
    with pytest.raises(TransactionCanceled):
        dynamo.transact([put(TABLE, row)])


def test_calls_to_other_services_are_forwarded(cloud: Cloud) -> None:
    sqs = cloud.aws("sqs")
    url, _ = cloud.make_queues("through", 30)

    sqs.send_message(QueueUrl=url, MessageBody="喜")

    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert message["Body"] == "喜"


def test_credentials_are_forwarded(cloud: Cloud) -> None:
    """The emulator identifies users by their access keys; unknown keys may do nothing."""
    stranger: Any = boto3.client(
        "dynamodb",
        endpoint_url=cloud.environment()["AWS_ENDPOINT_URL"],
        region_name="us-east-1",
        aws_access_key_id="stranger",
        aws_secret_access_key="stranger",
        config=Config(retries={"total_max_attempts": 1}),
    )

    with pytest.raises(ClientError):
        stranger.transact_write_items(TransactItems=[put(TABLE, FREE)])
