"""Calls that one request makes in a warm function, counted at the cache, the ledger and the queue.

The handlers run against a real Valkey server and the AWS emulator.
"""

import json
import runpy
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from local.packet_ids import PUBLISHED_KEYS
from local.places import ROOT
from local.ports import HOST
from local.seed_keys import PUBLISHED_SEED_KEYS, PUBLISHED_SEEDS
from local.user_ids import PUBLISHED_KEY
from redpacket.containers import containers
from redpacket.ledger.dynamodb.deposits import DynamoDeposits
from redpacket.ledger.model import Transfer, TransferKind, user_account
from redpacket.operations.redis import keys
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.model.packet import Packet
from redpacket.packets.redis import shards as redis_shards
from redpacket.packets.redis.shards import RedisShards
from redpacket.packets.use_cases.settle_claims import CLAIMS_PER_TRANSACTION
from redpacket.platform.aws.client import AwsClient
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from testing.builders import a_funding, a_packet, a_packet_id, a_user_id
from testing.in_memory_system import TABLES
from testing.platform.cloud import Cloud
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.servers import OperatorCache

BATCH_MAX = 20


@dataclass
class Spent:
    """Calls, keyed by name, as the cache and AWS received them."""

    cache: Counter[str] = field(default_factory=Counter)
    aws: Counter[str] = field(default_factory=Counter)


class Handlers:
    """Warm grab and payout functions, and their calls."""

    def __init__(
        self, cloud: Cloud, cache: OperatorCache, queue_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._cloud = cloud
        self._cache = cache
        self._queue_url = queue_url
        send = AwsClient._send

        def counted(client: AwsClient, operation: str, body: bytes) -> dict[str, Any]:
            # The switches are read every few seconds, independently of requests.
            if json.loads(body).get("TableName") != "switches":
                self._calls[f"{client._place[1]}.{operation}"] += 1
            return send(client, operation, body)

        monkeypatch.setattr(AwsClient, "_send", counted)
        self._grab = runpy.run_path(str(ROOT / "functions/grab/app.py"))["handler"]
        self._payout = runpy.run_path(str(ROOT / "functions/payout/app.py"))["handler"]
        self._calls: Counter[str] = Counter()
        dynamo = Dynamo(lambda: cloud.aws("dynamodb"), TABLE_NAMES)
        self._deposits = DynamoDeposits(dynamo)
        self._funding = DynamoFunding(dynamo)
        warm = self.send(count=1)
        self.grab(warm, "first")
        self.settle(1)

    def send(self, count: int) -> Packet:
        sender, now_ms = User("sender"), int(time.time() * 1000)
        packet = a_packet(1000, count, packet_id=a_packet_id(), created_at_ms=now_ms)
        funds = Transfer(
            packet.packet_id,
            TransferKind.DEPOSIT,
            "deposits",
            user_account(sender.user_id),
            1000,
            now_ms,
        )
        self._deposits.deposit(funds, Request("operator", packet.packet_id, "body"))
        request = Request(sender.user_id, packet.packet_id, "body")
        self._funding.fund(packet, a_funding(packet), request)
        RedisShards(self._cache, PUBLISHED_SEEDS).load(packet, [], is_new=True)
        return packet

    def grab(self, packet: Packet, user_id: str) -> str:
        """Return the answer's outcome or code."""
        event = {
            "routeKey": "POST /packets/{packet_id}/grab",
            "pathParameters": {"packet_id": packet.packet_id},
            "requestContext": {
                "requestId": "request",
                "authorizer": {"jwt": {"claims": {"sub": user_id}}},
            },
        }
        body = json.loads(self._grab(event, None)["body"])
        return str(body.get("outcome") or body["code"])

    def settle(self, count: int) -> None:
        """Pass *count* messages of the queue to the payout function, as one batch."""
        sqs = self._cloud.aws("sqs")
        records: list[dict[str, str]] = []
        while len(records) < count:
            answer = sqs.receive_message(QueueUrl=self._queue_url, MaxNumberOfMessages=10)
            for message in answer["Messages"]:
                sqs.delete_message(QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"])
                records.append({"messageId": message["MessageId"], "body": message["Body"]})
        assert self._payout({"Records": records}, None) == {"batchItemFailures": []}

    @contextmanager
    def counted(self) -> Iterator[Spent]:
        spent = Spent()
        self._calls.clear()
        with self._cache.monitor() as seen:  # type: ignore[no-untyped-call]
            yield spent
            self._cache.echo("the end")
            while (call := seen.next_command())["command"] != "ECHO the end":
                # Calls inside a script are not round trips; calls about the switches are not
                # counted.
                if call["client_type"] != "lua" and keys.SWITCH_COPY not in call["command"]:
                    spent.cache[call["command"].split()[0].upper()] += 1
        spent.aws.update(self._calls)


@pytest.fixture
def handlers(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Iterator[Handlers]:
    queue_url, _ = cloud.make_queues("payouts", visibility_timeout_s=30)
    environment = {
        **cloud.environment(),
        "TABLES": TABLES,
        "PAYOUT_QUEUE_URL": queue_url,
        "CACHE_URL": f"redis://{HOST}:{cloud.ports.cache}",
        "PACKET_ID_KEYS": PUBLISHED_KEYS,
        "USER_ID_KEY": PUBLISHED_KEY,
        "SEED_KEYS": PUBLISHED_SEED_KEYS,
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    _forget_clients()
    cache = OperatorCache(cloud.ports.cache, timeout_s=10)
    yield Handlers(cloud, cache, queue_url, monkeypatch)
    cache.close()
    _forget_clients()


def _forget_clients() -> None:
    """Reset the containers, as in a new process."""
    vars(containers).clear()


def test_a_winner_costs_one_cache_call_one_transaction_and_one_message(
    handlers: Handlers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_shards, "_SEEN_OPEN_S", 60.0)
    packet = handlers.send(count=3)
    spent_by_winner = []

    for user_id in ("ann", "bob", "cat"):
        with handlers.counted() as spent:
            assert handlers.grab(packet, user_id) == "claimed"
        spent_by_winner.append(spent)

    # The first grab shows the process that the packet is open; later grabs call only the script.
    assert [spent.cache for spent in spent_by_winner] == [
        {"HMGET": 1, "EVALSHA": 1},
        {"EVALSHA": 1},
        {"EVALSHA": 1},
    ]
    for spent in spent_by_winner:
        assert spent.aws == {"dynamodb.TransactWriteItems": 1, "sqs.SendMessage": 1}
    handlers.settle(3)


def test_a_loser_costs_at_most_one_cache_call(handlers: Handlers) -> None:
    # Every ten seconds, a process checks that the server is still the one that saw every claim.
    other, packet = handlers.send(count=1), handlers.send(count=1)
    for user_id in ("ann", "bob"):
        handlers.grab(other, user_id)
    handlers.grab(packet, "ann")
    spent_by_loser = []

    for user_id in ("bob", "cat", "dan", "eve"):
        with handlers.counted() as spent:
            assert handlers.grab(packet, user_id) == "packet_emptied"
        spent_by_loser.append(spent)

    assert spent_by_loser[0].cache == {"HMGET": 1}
    assert all(spent.cache.total() <= 1 for spent in spent_by_loser)
    assert not any(spent.aws for spent in spent_by_loser)
    handlers.settle(2)


def test_a_repeated_grab_reads_its_share_and_writes_nothing(handlers: Handlers) -> None:
    packet = handlers.send(count=2)
    handlers.grab(packet, "ann")
    handlers.settle(1)
    assert handlers.grab(packet, "ann") == "already_claimed"
    time.sleep(redis_shards._SEEN_OPEN_S)

    with handlers.counted() as spent:
        assert handlers.grab(packet, "ann") == "already_claimed"

    # The script recognizes the user, and the process then reads the share in the ledger.
    assert spent.cache == {"HMGET": 1, "EVALSHA": 1}
    assert spent.aws == {"dynamodb.GetItem": 2}


@pytest.mark.parametrize("packet_count", [1, 4])
def test_a_full_batch_is_settled_in_transactions_of_ten(
    handlers: Handlers, packet_count: int
) -> None:
    packet = handlers.send(count=BATCH_MAX + 1)
    packets = [handlers.send(count=BATCH_MAX + 1) for _ in range(packet_count)]
    for number in range(BATCH_MAX):
        handlers.grab(packet, f"user-{number}")
    handlers.settle(BATCH_MAX)
    for number in range(BATCH_MAX):
        handlers.grab(packets[number % packet_count], f"user-{number}")

    with handlers.counted() as spent:
        handlers.settle(BATCH_MAX)

    assert not spent.cache
    assert spent.aws == {
        "dynamodb.BatchGetItem": 3,  # one each for the shares, the packets, and the claimers' rows
        "dynamodb.TransactWriteItems": BATCH_MAX // CLAIMS_PER_TRANSACTION,
    }


def test_an_unknown_claimer_costs_one_write_once(handlers: Handlers) -> None:
    packets, stranger = [handlers.send(count=2) for _ in range(2)], a_user_id("stranger")
    writes = []

    for packet in packets:
        handlers.grab(packet, stranger)
        with handlers.counted() as spent:
            handlers.settle(1)
        writes.append(spent.aws["dynamodb.UpdateItem"])

    assert writes == [1, 0]


def test_the_last_claim_of_a_packet_reads_all_of_them_and_closes_it(
    handlers: Handlers,
) -> None:
    packet = handlers.send(count=2)
    small = handlers.send(count=3)
    for user_id in ("ann", "bob"):
        handlers.grab(small, user_id)
    handlers.settle(2)
    for user_id in ("ann", "bob"):
        handlers.grab(packet, user_id)

    with handlers.counted() as spent:
        handlers.settle(2)

    assert not spent.cache
    assert spent.aws == {
        "dynamodb.BatchGetItem": 3,
        "dynamodb.TransactWriteItems": 2,  # one for the payment, one for the packet's final sums
        "dynamodb.Query": 1,
        "dynamodb.PutItem": 1,  # the final page
        "dynamodb.UpdateItem": 1,  # the last claim leaves the work list
    }
