"""Real queue with repeated and unordered deliveries, and with messages that cannot be settled."""

import contextlib
import os
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from itertools import islice
from typing import Any
from unittest.mock import patch

from local.packet_ids import PUBLISHED_KEYS
from local.user_ids import PUBLISHED_KEY
from redpacket.packets.api.queue import settle_batch
from redpacket.packets.clients.sqs_payouts import SqsPayouts
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.model.packet import Packet
from redpacket.packets.use_cases.settle_claims import _transfer
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.errors import Unavailable
from redpacket.platform.telemetry import powertools_logger
from testing.in_memory_system import process_on
from testing.platform.cloud import HOLD_MS, RECEIVES_MAX, Cloud, a_cloud
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.servers import wait_for
from tests.faults.figures import Figures
from tests.faults.rush import LATE_MS, THREADS, RealTimeSystem, refs_of

VISIBILITY_TIMEOUT_S = 1
CONSUMERS = 4
TIMEOUT_S = 90
DUPLICATES = 0.2
LOST_DELETES = 0.05
SHARES_PER_PACKET = 50
POISON = ("", "no json", "{}", "[]", '{"kind": "settle_claim", "version": 1}', "\U0001f9e7" * 100)

_CONDITION = "ConditionExpression"

Record = dict[str, Any]
Settle = Callable[[Iterable[ShareRef]], set[ShareRef]]


class Delivery:
    """Poller that passes messages to the payout function, and sometimes does not delete one."""

    def __init__(self, sqs: Any, queue_url: str, settle: Settle) -> None:
        self._sqs = sqs
        self._queue_url = queue_url
        self._settle = settle
        self._is_over = threading.Event()
        self.receives: Counter[str] = Counter()
        self.lost_deletes = 0

    def run_until(self, is_done: Callable[[], bool]) -> None:
        """Deliver until *is_done*, or until TIMEOUT_S has passed."""
        self._is_over.clear()
        with ThreadPoolExecutor(CONSUMERS) as pool:
            running = [pool.submit(self._deliver_on) for _ in range(CONSUMERS)]
            with contextlib.suppress(TimeoutError):
                wait_for(is_done, "the end of all deliveries", TIMEOUT_S)
            self._is_over.set()
            for each in running:
                each.result()

    def _deliver_on(self) -> None:
        while not self._is_over.is_set():
            answer = self._sqs.receive_message(QueueUrl=self._queue_url, MaxNumberOfMessages=10)
            messages = answer.get("Messages", [])
            if not messages:
                time.sleep(0.05)
                continue
            random.shuffle(messages)
            self.receives.update(message["MessageId"] for message in messages)
            self._deliver(messages)

    def _deliver(self, messages: list[Record]) -> None:
        records = [{"messageId": m["MessageId"], "body": m["Body"]} for m in messages]
        try:
            answer = settle_batch(records, settle=self._settle)
        except Unavailable:
            return  # The whole batch is redelivered.
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        for message in messages:
            if message["MessageId"] in failed:
                continue
            if random.random() < LOST_DELETES:
                self.lost_deletes += 1
                continue
            self._sqs.delete_message(
                QueueUrl=self._queue_url, ReceiptHandle=message["ReceiptHandle"]
            )


def queue(figures: Figures, *, is_quick: bool) -> None:
    """Deliver claims repeatedly, out of order, and with poison messages; then redrive the DLQ."""
    with _quiet_logger(), a_cloud(HOLD_MS) as cloud:
        _run(cloud, figures, 120 if is_quick else 10_000, is_quick=is_quick)
        _run(cloud, figures, 100, is_naive=True)


@contextmanager
def _quiet_logger() -> Iterator[None]:
    """Suppress thousands of logged refusals, and set a function's environment variables."""
    names = {
        "POWERTOOLS_METRICS_NAMESPACE": "redpacket",
        "POWERTOOLS_METRICS_DISABLED": "true",
        "PACKET_ID_KEYS": PUBLISHED_KEYS,
        "USER_ID_KEY": PUBLISHED_KEY,
    }
    before = powertools_logger().log_level
    powertools_logger().setLevel("CRITICAL")
    try:
        with patch.dict(os.environ, names), redirect_stdout(StringIO()):
            yield
    finally:
        powertools_logger().setLevel(before)


def _run(
    cloud: Cloud, figures: Figures, messages: int, *, is_naive: bool = False, is_quick: bool = False
) -> None:
    sqs: Any = cloud.aws("sqs")
    queue_url, dlq_url = cloud.make_queues(f"payouts-{messages}", VISIBILITY_TIMEOUT_S)
    claims = round(messages / (1 + DUPLICATES))
    system, packets = _claimed(claims)
    cursed = {packets[0].packet_id}
    settle = _naively(system) if is_naive else _settling(system, cursed)
    refs = refs_of(system)
    duplicates = random.sample(refs, round(len(refs) * DUPLICATES))
    poison = () if is_naive else POISON * max(1, messages // 1_000)
    _send(sqs, queue_url, [*refs, *duplicates], poison, system)

    delivery = Delivery(sqs, queue_url, settle)
    wrong: list[str] = []
    if is_naive:
        delivery.run_until(lambda: _count(sqs, queue_url) == 0)
    else:
        expected = len(poison) + sum(ref.packet_id in cursed for ref in [*refs, *duplicates])
        delivery.run_until(lambda: _count(sqs, dlq_url) == expected and _count(sqs, queue_url) == 0)
        wrong += _check_dead(sqs, dlq_url, delivery, expected)
        cursed.clear()
        _redrive(sqs, dlq_url, queue_url)
        # Only a full run waits the five seconds until the invalid messages are dead letters again.
        left = 0 if is_quick else len(poison)
        delivery.run_until(
            lambda: _count(sqs, dlq_url) == left and _count(sqs, queue_url) == len(poison) - left
        )
        wrong += _check_dead(sqs, dlq_url, delivery, left)
    system.pass_time(LATE_MS)
    differences = [str(each) for each in system.differences()]
    if is_naive:
        figures.naive_violations += len(differences)
        return
    shares = [share for facts in system.ledger_state().packets for share in facts.shares]
    unpaid = sum(share.settled_at_ms is None for share in shares)
    if unpaid:
        wrong.append(f"{unpaid} of {len(shares)} claims are not credited")
    figures.runs += 1
    figures.claims += len(refs)
    figures.faults += len(duplicates) + delivery.lost_deletes + expected
    figures.violations += wrong + differences


def _claimed(claims: int) -> tuple[RealTimeSystem, list[Packet]]:
    """Return a system with *claims* claims to settle, and its packets."""
    system = RealTimeSystem()
    system.dynamo.is_far = False
    packets = system.send_some(-(-claims // SHARES_PER_PACKET), SHARES_PER_PACKET)
    for number in range(claims):
        system.grab(packets[number // SHARES_PER_PACKET], f"user-{number}")
    return system, packets


def _settling(system: RealTimeSystem, cursed: set[str]) -> Settle:
    def settle(refs: Iterable[ShareRef]) -> set[ShareRef]:
        """Settle claims, but report those of the *cursed* packets as refused."""
        share_refs = list(refs)
        refused = {ref for ref in share_refs if ref.packet_id in cursed}
        return refused | system.settle([ref for ref in share_refs if ref not in refused])

    return settle


def _naively(system: RealTimeSystem) -> Settle:
    def settle(refs: Iterable[ShareRef]) -> set[ShareRef]:
        """Credit the claim of each message without checking for an earlier credit."""
        now_ms = system.clock.now_ms()
        for share in system.packets.list_refs(list(refs)):
            ledger.settle([(share, _transfer(share, now_ms))], now_ms)
        return set()

    client = _Unguarded(system.dynamo)
    ledger = process_on(Dynamo(lambda: client, TABLE_NAMES)).ledger
    return settle


def _unconditional(given: dict[str, Any]) -> dict[str, Any]:
    """Return a write without its condition, and without the values that only the
    condition names.
    """
    left = {name: value for name, value in given.items() if name != _CONDITION}
    used = re.findall(r"[:#]\w+", left.get("UpdateExpression", ""))
    bound = {
        kind: {name: value for name, value in given[kind].items() if name in used}
        for kind in ("ExpressionAttributeValues", "ExpressionAttributeNames")
        if kind in given
    }
    return left | bound


class _Unguarded:
    """Client that writes rows without conditions."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def transact_write_items(self, *, TransactItems: list[Any], **token: str) -> None:  # noqa: N803
        operations = [
            {verb: _unconditional(given) for verb, given in operation.items()}
            for operation in TransactItems
        ]
        self._client.transact_write_items(TransactItems=operations, **token)


def _send(
    sqs: Any, queue_url: str, refs: list[ShareRef], poison: Iterable[str], system: RealTimeSystem
) -> None:
    random.shuffle(refs)
    share_refs = iter(refs)
    chunks = list(iter(lambda: list(islice(share_refs, 100)), []))
    payouts = SqsPayouts(lambda: sqs, queue_url, system.clock.now_ms)
    payouts.put(chunks.pop())
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(payouts.put, chunks))
    for body in poison:
        sqs.send_message(QueueUrl=queue_url, MessageBody=body or " ")


def _check_dead(sqs: Any, dlq_url: str, delivery: Delivery, expected: int) -> list[str]:
    wrong = []
    count = _count(sqs, dlq_url)
    if count != expected:
        wrong.append(f"the DLQ holds {count} messages instead of {expected}")
    tried = sum(times >= RECEIVES_MAX for times in delivery.receives.values())
    if tried < expected:
        wrong.append(f"only {tried} of {expected} messages came {RECEIVES_MAX} times")
    return wrong


def _count(sqs: Any, queue_url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=names)["Attributes"]
    return sum(int(attributes[name]) for name in names)


def _redrive(sqs: Any, dlq_url: str, queue_url: str) -> None:
    """Redrive like StartMessageMoveTask, which the emulator lacks: send again, then delete."""
    while messages := sqs.receive_message(QueueUrl=dlq_url, MaxNumberOfMessages=10).get("Messages"):
        for message in messages:
            sqs.send_message(QueueUrl=queue_url, MessageBody=message["Body"])
            sqs.delete_message(QueueUrl=dlq_url, ReceiptHandle=message["ReceiptHandle"])
