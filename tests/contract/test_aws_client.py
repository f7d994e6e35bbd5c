"""Our AWS client compared with botocore: on the emulator, and with a failing service."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import Any

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import get_session

from redpacket.packets.clients.sqs_payouts import SqsDeadLetters, SqsPayouts
from redpacket.packets.model.claim import ShareRef
from redpacket.platform.aws.client import AwsClient
from redpacket.platform.aws.errors import AwsRefused
from redpacket.platform.aws.signature import Keys
from redpacket.platform.dynamodb.client import (
    Dynamo,
    Row,
    TransactionCanceled,
    check,
    put,
    update,
    values,
)
from redpacket.platform.errors import InvariantViolated, Unavailable
from redpacket.platform.redis.passwords import CacheSecret
from testing.platform.aws_stub import AwsStub, Call, Drops, Hangs, Says, an_aws_stub
from testing.platform.cloud import Cloud, a_cloud
from testing.platform.fake_tables import TABLE_NAMES

REGION = "us-east-1"
TIMEOUT_S = 0.3
EMULATOR_TIMEOUT_S = 10.0
"""Seconds. After a shorter timeout, a retried write would find the row that it wrote itself."""

Connect = Callable[[str, str], Any]
Reach = Callable[[str], Any]


def _ours(service: str, url: str, timeout_s: float = TIMEOUT_S) -> AwsClient:
    return AwsClient(
        service,
        REGION,
        url,
        keys=lambda: Keys("test", "test", ""),
        ca_bundle="",
        connect_timeout_s=timeout_s,
        read_timeout_s=timeout_s,
    )


def _botocores(service: str, url: str, timeout_s: float = TIMEOUT_S) -> Any:
    return get_session().create_client(
        service,
        region_name=REGION,
        endpoint_url=url,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(
            connect_timeout=timeout_s,
            read_timeout=timeout_s,
            retries={"mode": "standard", "total_max_attempts": 2},
        ),
    )


@pytest.fixture(params=[_ours, _botocores], ids=["ours", "botocore's"])
def made_by(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def connect(made_by: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Connect to a failing service."""
    # Skip both clients' delay before a retry, which averages half a second after throttling.
    monkeypatch.setattr("time.sleep", lambda _: None)
    with ExitStack() as made:
        yield lambda service, url: made.enter_context(closing(made_by(service, url)))


@pytest.fixture(scope="module")
def cloud() -> Iterator[Cloud]:
    with a_cloud() as running:
        yield running


@pytest.fixture
def reach(made_by: Any, cloud: Cloud) -> Iterator[Reach]:
    """Connect to a service of the emulator."""
    url = f"http://127.0.0.1:{cloud.ports.emulator}"
    with ExitStack() as made:
        yield lambda service: made.enter_context(closing(made_by(service, url, EMULATOR_TIMEOUT_S)))


@pytest.fixture
def client(reach: Reach) -> Any:
    return reach("dynamodb")


@pytest.fixture
def dynamo(client: Any) -> Dynamo:
    return Dynamo(lambda: client, TABLE_NAMES)


@pytest.fixture
def pk(request: pytest.FixtureRequest) -> str:
    return f"红包 {request.node.name}"


# ---- on the emulator


def test_writes_are_readable(dynamo: Dynamo, pk: str) -> None:
    row: Row = {"pk": pk, "sk": "a", "count": 7, "is_it": True, "text": '"红包" 🧧 \n\\'}

    assert dynamo.write(put("packets", row))
    assert dynamo.get("packets", {"pk": pk, "sk": "a"}) == row
    assert dynamo.get("packets", {"pk": pk, "sk": "b"}) is None
    many = dynamo.get_many("packets", [{"pk": pk, "sk": sk} for sk in "ab"], is_strong=True)
    assert many == [row]


def test_binary_writes_are_readable(dynamo: Dynamo, pk: str) -> None:
    row: Row = {"pk": pk, "sk": "a", "packed": bytes(range(256)), "B": "text"}
    other: Row = {"pk": pk, "sk": "b"}

    dynamo.transact([put("packets", row), put("packets", other)])

    assert dynamo.get("packets", {"pk": pk, "sk": "a"}) == row
    rows = dynamo.query(
        "packets", KeyConditionExpression="pk = :pk", ExpressionAttributeValues=values(pk=pk)
    )
    assert list(rows) == [row, other]


def test_a_failed_condition_does_not_raise(dynamo: Dynamo, pk: str) -> None:
    key = {"pk": pk, "sk": "a"}
    once = update("packets", key, "SET n = :n", condition="attribute_not_exists(pk)", n=1)

    assert [dynamo.write(put("packets", key)) for _ in range(2)] == [True, False]
    assert not dynamo.write(once)


def test_a_canceled_transaction_returns_the_existing_item(dynamo: Dynamo, pk: str) -> None:
    taken: Row = {"pk": pk, "sk": "a", "n": 5}
    dynamo.write(put("packets", taken))

    with pytest.raises(TransactionCanceled) as canceled:
        dynamo.transact(
            [
                put("packets", {"pk": pk, "sk": "free"}),
                put("packets", {"pk": pk, "sk": "a"}),
                check("packets", {"pk": pk, "sk": "none"}, "n = :n", n=5),
            ]
        )

    assert canceled.value.rows == [None, taken, {}]
    assert dynamo.get("packets", {"pk": pk, "sk": "free"}) is None


def test_the_errors_of_both_clients_have_one_shape(client: Any, pk: str) -> None:
    item = {"pk": {"S": pk}, "sk": {"S": "a"}}
    client.put_item(TableName="packets", Item=item)

    with pytest.raises(client.exceptions.ConditionalCheckFailedException) as failed:
        client.put_item(
            TableName="packets",
            Item=item,
            ConditionExpression="attribute_not_exists(pk)",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    assert failed.value.response["Error"]["Code"] == "ConditionalCheckFailedException"
    assert failed.value.response["Error"]["Message"]
    assert failed.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert failed.value.response["Item"] == item


def test_all_pages_are_returned_in_order(dynamo: Dynamo, pk: str) -> None:
    for number in range(7):
        dynamo.write(put("packets", {"pk": pk, "sk": str(number)}))

    rows = dynamo.query(
        "packets",
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues=values(pk=pk),
        ConsistentRead=True,
        Limit=3,
    )

    assert [row["sk"] for row in rows] == list("0123456")


def test_a_client_error_is_not_reported_as_an_outage(dynamo: Dynamo) -> None:
    with pytest.raises((ClientError, AwsRefused), match="ResourceNotFoundException"):
        dynamo.get("no-such-table", {"pk": "a", "sk": "a"})


def test_messages_are_received(cloud: Cloud, reach: Reach, pk: str) -> None:
    name = f"queue-{abs(hash(pk))}"
    queue_url, _ = cloud.make_queues(name, visibility_timeout_s=30)
    sqs = reach("sqs")
    queue = SqsPayouts(lambda: sqs, queue_url, lambda: 5)
    sent = [ShareRef("p" * 22, number) for number in range(1, 13)]

    queue.put(sent[:1])
    queue.put(sent[1:])

    assert SqsDeadLetters(lambda: sqs, queue_url).count() == len(sent)
    answer = cloud.aws("sqs").receive_message(QueueUrl=queue_url, MaxNumberOfMessages=1)
    assert json.loads(answer["Messages"][0]["Body"])["body"]["packet_id"] == "p" * 22


def test_a_missing_queue_is_a_client_error(cloud: Cloud, reach: Reach) -> None:
    url = f"http://127.0.0.1:{cloud.ports.emulator}"
    sqs = reach("sqs")

    with pytest.raises((ClientError, AwsRefused), match="Queue"):
        SqsPayouts(lambda: sqs, f"{url}/000000000000/none", lambda: 5).put([ShareRef("p", 1)])


def test_a_secret_can_be_read(cloud: Cloud, reach: Reach, pk: str) -> None:
    name = f"secret-{abs(hash(pk))}"
    arn = cloud.aws("secretsmanager").create_secret(Name=name, SecretString="红包 'key'")["ARN"]
    store = reach("secretsmanager")

    assert CacheSecret(lambda: store, arn)() == "红包 'key'"


def test_a_missing_secret_is_a_client_error(reach: Reach) -> None:
    store = reach("secretsmanager")

    with pytest.raises((ClientError, AwsRefused), match="ResourceNotFoundException"):
        CacheSecret(lambda: store, "none")()


def test_several_threads_share_a_client(dynamo: Dynamo, pk: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        rows = [{"pk": pk, "sk": str(number)} for number in range(80)]
        assert all(threads.map(lambda row: dynamo.write(put("packets", row)), rows))
        stored = list(threads.map(lambda row: dynamo.get("packets", row), rows))

    assert stored == rows


# ---- with a failing service

CLAIM = [put("table", {"pk": "a"})]
THROTTLED = Says(400, {"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException"})


@pytest.mark.parametrize(
    "bad",
    [
        Says(503, b"<html>busy</html>"),
        Says(500, {"__type": "InternalServerError", "message": "sorry"}),
        Says(502),
        Says(429),
        THROTTLED,
        Says(400, {"__type": "x#ProvisionedThroughputExceededException"}),
        Says(400, {"__type": "x#TransactionInProgressException"}),
        Drops(),
        Hangs(),
    ],
    ids=str,
)
def test_brief_failures_are_retried_and_long_ones_are_unavailability(
    bad: Says | Drops | Hangs, connect: Connect
) -> None:
    good = Says(body={"Item": {"pk": {"S": "a"}}})
    with an_aws_stub(bad, good, bad, bad) as stub:
        client = connect("dynamodb", stub.url)
        dynamo = Dynamo(lambda: client, TABLE_NAMES)

        assert dynamo.get("table", {"pk": "a"}) == {"pk": "a"}
        with pytest.raises(Unavailable):
            dynamo.get("table", {"pk": "a"})

    assert len(stub.calls) == 4


def test_a_write_that_conflicts_with_a_transaction_is_retried(connect: Connect) -> None:
    held = Says(400, {"__type": "x#TransactionConflictException"})
    with an_aws_stub(held, held, held, Says()) as stub:
        client = connect("dynamodb", stub.url)

        assert Dynamo(lambda: client, TABLE_NAMES, pause_s=lambda _: None).write(CLAIM[0])


def test_a_write_that_is_throttled_for_long_is_unavailable(connect: Connect) -> None:
    with an_aws_stub(THROTTLED, THROTTLED) as stub:
        client = connect("dynamodb", stub.url)

        with pytest.raises(Unavailable):
            Dynamo(lambda: client, TABLE_NAMES).write(CLAIM[0])


@pytest.mark.parametrize("code", ["ValidationException", "AccessDeniedException"])
def test_a_permanent_error_is_not_retried(code: str, connect: Connect) -> None:
    with an_aws_stub(Says(400, {"__type": f"com.amazon.coral.service#{code}"})) as stub:
        client = connect("dynamodb", stub.url)

        with pytest.raises((ClientError, AwsRefused), match=code):
            Dynamo(lambda: client, TABLE_NAMES).get("table", {"pk": "a"})

    assert len(stub.calls) == 1


class _Ledger:
    """Ledger that answers transactions as DynamoDB does: a committed token stays committed."""

    def __init__(self) -> None:
        self.rows: set[str] = set()
        self.tokens: set[str] = set()

    def commit(self, call: Call) -> Says:
        """Return the answer that DynamoDB would give."""
        if call.arguments["ClientRequestToken"] in self.tokens:
            return Says()
        rows = {each["Put"]["Item"]["pk"]["S"] for each in call.arguments["TransactItems"]}
        if rows & self.rows:
            reasons = [{"Code": "ConditionalCheckFailed"} for _ in rows]
            error = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException"
            return Says(400, {"__type": error, "CancellationReasons": reasons})
        self.rows |= rows
        self.tokens.add(call.arguments["ClientRequestToken"])
        return Says()


def _behave(stub: AwsStub, ledger: _Ledger, *lost: Drops | Hangs | Says) -> None:
    """Make the stub answer like a ledger, but replace its first answers with *lost*."""
    losses = list(lost)

    def next_deed(call: Call) -> Any:
        stub.calls.append(call)
        answer = ledger.commit(call)
        return losses.pop(0) if losses else answer

    stub.next_deed = next_deed  # type: ignore[method-assign]


@pytest.mark.parametrize("lost", [Drops(), Hangs(), Says(503)], ids=str)
def test_a_claim_whose_answer_was_lost_is_recorded_and_not_refused(
    lost: Drops | Hangs | Says, connect: Connect
) -> None:
    with an_aws_stub() as stub:
        _behave(stub, _Ledger(), lost)
        client = connect("dynamodb", stub.url)
        Dynamo(lambda: client, TABLE_NAMES).transact(CLAIM)

        assert len({call.arguments["ClientRequestToken"] for call in stub.calls}) == 1
        assert len(stub.calls) == 2
        with pytest.raises(TransactionCanceled):
            Dynamo(lambda: client, TABLE_NAMES).transact(CLAIM)


def test_permanent_errors_report_their_reasons(connect: Connect) -> None:
    reasons = [{"Code": "ValidationError", "Message": "too large"}]
    canceled = Says(
        400, {"__type": "x#TransactionCanceledException", "CancellationReasons": reasons}
    )
    with an_aws_stub(canceled) as stub:
        client = connect("dynamodb", stub.url)

        with pytest.raises(InvariantViolated, match="ValidationError"):
            Dynamo(lambda: client, TABLE_NAMES).transact(CLAIM)


def test_unprocessed_keys_are_requested_again(connect: Connect) -> None:
    def item(name: str) -> dict[str, Any]:
        return {"pk": {"S": name}}

    first = {
        "Responses": {"table": [item("a")]},
        "UnprocessedKeys": {"table": {"Keys": [item("b")], "ConsistentRead": True}},
    }
    with an_aws_stub(Says(body=first), Says(body={"Responses": {"table": [item("b")]}})) as stub:
        client = connect("dynamodb", stub.url)
        rows = Dynamo(lambda: client, TABLE_NAMES).get_many(
            "table", [{"pk": "a"}, {"pk": "b"}], is_strong=True
        )

    assert rows == [{"pk": "a"}, {"pk": "b"}]
    assert stub.calls[1].arguments["RequestItems"]["table"]["Keys"] == [item("b")]


def test_connections_are_reused(connect: Connect) -> None:
    with an_aws_stub() as stub:
        client = connect("dynamodb", stub.url)
        for _ in range(3):
            client.get_item(TableName="table", Key={})

    assert stub.connection_count == 1


def test_a_connection_that_the_server_closed_costs_no_attempt(connect: Connect) -> None:
    with an_aws_stub(Says(ends=True), Says(ends=True)) as stub:
        client = connect("dynamodb", stub.url)
        for _ in range(2):
            client.get_item(TableName="table", Key={})
            assert stub.closed.acquire(timeout=5)
        stub.deeds += [Drops(), Says()]
        client.get_item(TableName="table", Key={})

    assert len(stub.calls) == 4
    assert stub.connection_count == 4


def test_an_unreachable_service_is_unavailable(connect: Connect) -> None:
    client = connect("dynamodb", "http://127.0.0.1:1")

    with pytest.raises(Unavailable, match="the ledger does not answer"):
        Dynamo(lambda: client, TABLE_NAMES).get("table", {"pk": "a"})


# ---- ours alone


@pytest.mark.parametrize("cut", [Says(cut_off=True), Says(body=b'{"Item": {"pk"')], ids=str)
def test_a_truncated_answer_is_requested_again(cut: Says) -> None:
    with an_aws_stub(cut, Says(), cut, cut) as stub, closing(_ours("dynamodb", stub.url)) as client:
        assert Dynamo(lambda: client, TABLE_NAMES).get("table", {"pk": "a"}) is None
        with pytest.raises(Unavailable):
            Dynamo(lambda: client, TABLE_NAMES).get("table", {"pk": "a"})


def test_the_token_of_the_caller_is_kept() -> None:
    with an_aws_stub() as stub:
        _ours("dynamodb", stub.url).transact_write_items(TransactItems=[], ClientRequestToken="own")

    assert stub.calls[0].arguments["ClientRequestToken"] == "own"


def test_credentials_are_read_at_each_call() -> None:
    renewed = [Keys("first", "secret", ""), Keys("second", "secret", "token")]
    with an_aws_stub() as stub:
        client = _ours("sqs", stub.url)
        client._keys = lambda: renewed.pop(0)
        client.send_message(QueueUrl="queue", MessageBody="{}")
        client.send_message(QueueUrl="queue", MessageBody="{}")

    assert "Credential=first/" in stub.calls[0].headers["Authorization"]
    assert "Credential=second/" in stub.calls[1].headers["Authorization"]
    assert stub.calls[1].headers["X-Amz-Security-Token"] == "token"
    assert stub.calls[0].headers["X-Amz-Target"] == "AmazonSQS.SendMessage"


@pytest.mark.parametrize(("bad", "most_s"), [(THROTTLED, 1.0), (Says(503), 0.05), (Drops(), 0.05)])
def test_the_delay_before_a_second_attempt_is_jittered_and_bounded(
    bad: Says | Drops, most_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits_s: list[float] = []
    monkeypatch.setattr("time.sleep", waits_s.append)
    monkeypatch.setattr("random.uniform", lambda low, high: (low + high) / 2)
    with an_aws_stub(bad) as stub:
        _ours("dynamodb", stub.url).get_item(TableName="table", Key={})

    assert waits_s == [most_s / 2]
