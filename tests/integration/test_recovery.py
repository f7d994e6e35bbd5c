"""Lost, late, repeated and failed steps: afterwards, every fen has exactly one owner."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import redis

from local.drill import drill
from local.stack import Stack
from redpacket.packets.clients.sqs_payouts import settle_message
from redpacket.packets.dynamodb import keys
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.redis import keys as cache_keys
from redpacket.platform.dynamodb.client import from_wire, to_wire
from tests.integration.conftest import Eventually, HttpUser, Interruption, Invoke, MakeUser

# A scheduled sweep would change the results that these tests count.
pytestmark = pytest.mark.usefixtures("only_own_sweeps", "invariants")

SCHEDULE = {"source": "aws.events"}
LAMBDA_TIMEOUT_S = 10
VISIBILITY_TIMEOUT_S = "180"


class PacketRows:
    """Reader of the ledger's packet and share rows. It can also backdate a share's row."""

    def __init__(self, dynamodb: Any, packets_table: str, shares_table: str) -> None:
        self._dynamodb = dynamodb
        self._packets = packets_table
        self._shares = shares_table

    def packet(self, packet_id: str) -> dict[str, Any]:
        return self._read(self._packets, keys.packet(packet_id))

    def share(self, packet_id: str, share_no: int) -> dict[str, Any]:
        return self._read(self._shares, keys.share(packet_id, share_no))

    def age_share(self, packet_id: str, share_no: int, by_ms: int) -> None:
        """Backdate the time at which a claim started to wait for its settlement."""
        self._age(self._shares, keys.share(packet_id, share_no), by_ms)

    def _age(self, table: str, key: dict[str, str], by_ms: int) -> None:
        self._dynamodb.update_item(
            TableName=table,
            Key=to_wire(key),
            UpdateExpression="ADD work_at_ms :change",
            ConditionExpression="attribute_exists(work_pk)",
            ExpressionAttributeValues={":change": {"N": str(-by_ms)}},
        )

    def _read(self, table: str, key: dict[str, str]) -> dict[str, Any]:
        answer = self._dynamodb.get_item(TableName=table, Key=to_wire(key), ConsistentRead=True)
        return from_wire(answer["Item"])


@pytest.fixture
def rows(stack: Stack, dynamodb: Any) -> PacketRows:
    return PacketRows(dynamodb, stack.outputs["PacketsTable"], stack.outputs["SharesTable"])


def _is_settled(user: HttpUser, packet_id: str) -> bool:
    return all(claim["payout"] == "settled" for claim in user.record(packet_id)["claims"])


# ---------------------------------------------------------------- the cache loses data


def test_an_empty_cache_is_loaded_from_the_ledger(
    a_user: MakeUser, cache: redis.Redis, eventually: Eventually
) -> None:
    sender, early = a_user(funds_fen=1000), [a_user() for _ in range(3)]
    late = [a_user() for _ in range(4)]
    packet_id = sender.send(count=5).json()["packet_id"]
    before = [user.grab(packet_id).json() for user in early]

    cache.flushall()
    with ThreadPoolExecutor(max_workers=7) as pool:
        answers = list(pool.map(lambda user: user.grab(packet_id), [*early, *late]))

    again, new = answers[:3], answers[3:]
    assert [answer.json()["outcome"] for answer in again] == ["already_claimed"] * 3
    for told_before, answer in zip(before, again, strict=True):
        assert answer.json()["share_no"] == told_before["share_no"]
        assert answer.json()["amount_fen"] == told_before["amount_fen"]
    assert sorted(answer.status_code for answer in new) == [200, 200, 410, 410]
    claims = before + [answer.json() for answer in new if answer.status_code == httpx.codes.OK]
    assert sorted(claim["share_no"] for claim in claims) == [1, 2, 3, 4, 5]
    assert sum(claim["amount_fen"] for claim in claims) == 1000
    eventually(lambda: _is_settled(sender, packet_id))
    assert sum(user.balance_fen() for user in [*early, *late]) == 1000


def test_a_killed_local_cache_restarts_and_every_share_keeps_its_owner(
    stack: Stack, a_user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = a_user(), a_user()
    packet_id = a_user(funds_fen=1000).send(count=2).json()["packet_id"]
    told = old.grab(packet_id).json()
    monkeypatch.setenv("REDPACKET_STATE", str(stack.state_dir))
    monkeypatch.setenv("CACHE", "kill")
    monkeypatch.setenv("SECONDS", "0.1")
    killed = stack.description()["pids"]["cache"]

    drill()
    while stack.description()["pids"]["cache"] == killed:
        assert stack.ended() is None
    again, first = old.grab(packet_id).json(), new.grab(packet_id).json()

    assert (again["outcome"], again["share_no"]) == ("already_claimed", told["share_no"])
    assert first["amount_fen"] + told["amount_fen"] == 1000


def test_scripts_that_the_cache_lost_are_loaded_again(a_user: MakeUser, cache: redis.Redis) -> None:
    sender = a_user(funds_fen=2000)
    first = sender.send().json()["packet_id"]
    cache.script_flush("SYNC")

    claim = a_user().grab(first)
    cache.script_flush("SYNC")
    second = sender.send()

    assert claim.status_code == httpx.codes.OK, claim.text
    assert second.status_code == httpx.codes.CREATED, second.text
    assert cache.exists(cache_keys.claim_cache(second.json()["packet_id"]))


# ---------------------------------------------------------------- the cache hangs


def test_a_grab_while_the_cache_hangs_is_unknown_and_its_repeat_gets_one_answer(
    a_user: MakeUser, frozen_cache: Interruption
) -> None:
    old, new = a_user(), a_user()
    packet_id = a_user(funds_fen=1000).send(count=2).json()["packet_id"]
    told = old.grab(packet_id).json()

    with frozen_cache():
        asked_at = time.monotonic()
        with ThreadPoolExecutor(max_workers=2) as pool:
            answers = list(pool.map(lambda user: user.grab(packet_id), [old, new]))
        took_s = time.monotonic() - asked_at

    for answer in answers:
        assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["code"] == "unavailable"
    assert took_s < LAMBDA_TIMEOUT_S
    time.sleep(int(answer.headers["retry-after"]))
    again, first = old.grab(packet_id).json(), new.grab(packet_id).json()
    repeat = new.grab(packet_id).json()
    assert (again["outcome"], repeat["outcome"]) == ("already_claimed", "already_claimed")
    assert again["share_no"] == told["share_no"]
    assert first["share_no"] == repeat["share_no"] != told["share_no"]
    assert first["amount_fen"] + told["amount_fen"] == 1000


def test_a_packet_sent_while_the_cache_hangs_is_loaded_by_its_first_grab(
    a_user: MakeUser, frozen_cache: Interruption, rows: PacketRows
) -> None:
    sender, claimer = a_user(funds_fen=1000), a_user()

    with frozen_cache():
        sent = sender.send(count=1)

    assert sent.status_code == httpx.codes.CREATED, sent.text
    packet_id = sent.json()["packet_id"]
    assert rows.packet(packet_id)["is_loaded"] is False
    assert sender.balance_fen() == 0
    assert claimer.grab(packet_id).json()["amount_fen"] == 1000


# ---------------------------------------------------------------- the queue


def test_a_claim_whose_message_was_lost_is_queued_again_after_a_minute(
    stack: Stack,
    a_user: MakeUser,
    paused_payouts: Interruption,
    rows: PacketRows,
    invoke: Invoke,
    eventually: Eventually,
) -> None:
    claimer = a_user()
    with paused_payouts():
        packet_id = a_user(funds_fen=1000).send(count=1).json()["packet_id"]
        claim = claimer.grab(packet_id).json()
        stack.aws("sqs").purge_queue(QueueUrl=stack.outputs["PayoutQueueUrl"])
    invoke("ExpireFunction", SCHEDULE)
    fresh = rows.share(packet_id, claim["share_no"])

    rows.age_share(packet_id, claim["share_no"], by_ms=61_000)
    report = invoke("ExpireFunction", SCHEDULE)

    assert "requeued_count" not in fresh
    assert "settled_at_ms" not in fresh
    assert report["requeued_count"] >= 1
    eventually(lambda: claimer.balance_fen() == 1000)
    assert rows.share(packet_id, claim["share_no"])["requeued_count"] == 1
    # The packet's last claim stays in the work list until the packet is closed.
    eventually(lambda: "work_pk" not in rows.share(packet_id, claim["share_no"]))
    assert rows.packet(packet_id)["status"] == "closed"


def test_a_message_that_is_delivered_five_times_pays_once(
    stack: Stack, a_user: MakeUser, eventually: Eventually
) -> None:
    claimer, sender = a_user(), a_user(funds_fen=1000)
    packet_id = sender.send(count=2).json()["packet_id"]
    claim = claimer.grab(packet_id).json()
    message = json.dumps(settle_message(ShareRef(packet_id, claim["share_no"]), 0))
    sqs, queue = stack.aws("sqs"), stack.outputs["PayoutQueueUrl"]

    for _ in range(2):
        entries = [{"Id": str(number), "MessageBody": message} for number in range(5)]
        sqs.send_message_batch(QueueUrl=queue, Entries=entries)

    eventually(lambda: _is_settled(sender, packet_id))
    eventually(lambda: _depth(sqs, queue) == 0)
    assert claimer.balance_fen() == claim["amount_fen"]
    assert len(claimer.http.get("/me/transfers").json()["items"]) == 1


def test_an_invalid_message_becomes_a_dead_letter_and_its_batch_is_settled(
    stack: Stack, a_user: MakeUser, paused_payouts: Interruption, eventually: Eventually
) -> None:
    claimers, sender = [a_user(), a_user()], a_user(funds_fen=1000)
    sqs, queue = stack.aws("sqs"), stack.outputs["PayoutQueueUrl"]
    dlq = stack.outputs["PayoutDlqUrl"]
    poison = {
        "no JSON": "poison",
        "another kind": json.dumps({"kind": "pay_me", "version": 1, "body": {}}),
        "an amount": json.dumps(
            {
                "kind": "settle_claim",
                "version": 1,
                "body": {"packet_id": "A" * 22, "share_no": 1, "amount_fen": 10**6},
            }
        ),
        "no such claim": json.dumps(settle_message(ShareRef("A" * 22, 1), 0)),
    }

    with _visibility_timeout(sqs, queue, "1"):
        with paused_payouts():
            packet_id = sender.send(count=2).json()["packet_id"]
            for text in poison.values():
                sqs.send_message(QueueUrl=queue, MessageBody=text)
            claims = [claimer.grab(packet_id).json() for claimer in claimers]
        eventually(lambda: _is_settled(sender, packet_id))
        settled_while_poison_stays = _depth(sqs, dlq)
        eventually(lambda: _depth(sqs, dlq) == len(poison))

    assert settled_while_poison_stays == 0
    assert [claimer.balance_fen() for claimer in claimers] == [
        claim["amount_fen"] for claim in claims
    ]
    assert _depth(sqs, queue) == 0
    messages = sqs.receive_message(QueueUrl=dlq, MaxNumberOfMessages=10)["Messages"]
    assert sorted(message["Body"] for message in messages) == sorted(poison.values())
    sqs.purge_queue(QueueUrl=dlq)


def _depth(sqs: Any, queue_url: str) -> int:
    """Count the messages in a queue, including those in flight."""
    counted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=counted)["Attributes"]
    return sum(int(attributes[name]) for name in counted)


@contextmanager
def _visibility_timeout(sqs: Any, queue_url: str, seconds: str) -> Iterator[None]:
    sqs.set_queue_attributes(QueueUrl=queue_url, Attributes={"VisibilityTimeout": seconds})
    try:
        yield
    finally:
        attributes = {"VisibilityTimeout": VISIBILITY_TIMEOUT_S}
        sqs.set_queue_attributes(QueueUrl=queue_url, Attributes=attributes)


# ---------------------------------------------------------------- the sweep


def test_two_concurrent_sweeps_refund_once(
    a_user: MakeUser, invoke: Invoke, eventually: Eventually
) -> None:
    sender, claimer = a_user(funds_fen=2000), a_user()
    packets = [sender.send(total_fen=1000, count=4, expires_in_s=2).json() for _ in range(2)]
    claim = claimer.grab(packets[0]["packet_id"]).json()
    eventually(lambda: time.time() * 1000 > packets[1]["expires_at_ms"])

    def is_closed() -> bool:
        with ThreadPoolExecutor(max_workers=2) as pool:
            list(pool.map(lambda _: invoke("ExpireFunction", SCHEDULE), range(2)))
        statuses = [sender.record(packet["packet_id"])["status"] for packet in packets]
        return statuses == ["closed", "closed"]

    eventually(is_closed)

    assert sender.balance_fen() == 2000 - claim["amount_fen"]
    book = sender.http.get("/me/transfers").json()["items"]
    refunds = [item["amount_fen"] for item in book if item["kind"] == "refund"]
    assert sorted(refunds) == sorted([1000, 1000 - claim["amount_fen"]])
