"""Reconciliation over HTTP and by its schedule, on the deployed system."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from local.stack import Stack
from redpacket.ledger.dynamodb import keys
from redpacket.packets.clients.sqs_payouts import SqsPayouts
from redpacket.packets.dynamodb.claims import DynamoClaims
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.model.claim import RecordStatus
from redpacket.platform.dynamodb.client import Dynamo, to_wire
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from redpacket.reconciliation.use_cases.reconcile import MOVING_MS
from testing.builders import a_claim, a_funding, a_packet
from tests.integration.conftest import HttpUser, MakeUser

Eventually = Callable[[Callable[[], Any]], Any]
Invoke = Callable[[str, dict[str, Any]], dict[str, Any]]


@contextmanager
def _planted_fen(stack: Stack, user: HttpUser) -> Iterator[None]:
    """Add a fen to a balance, as no transfer would; take it away again."""
    dynamodb = stack.aws("dynamodb")
    account = to_wire(keys.account(f"user:{user.user_id}"))

    def add(fen: int) -> None:
        dynamodb.update_item(
            TableName=stack.outputs["AccountsTable"],
            Key=account,
            UpdateExpression="ADD balance_fen :fen",
            ExpressionAttributeValues={":fen": {"N": str(fen)}},
        )

    add(1)
    try:
        yield
    finally:
        add(-1)


@contextmanager
def _without(stack: Stack, key: dict[str, str]) -> Iterator[None]:
    """Take a row of the shares away, as nothing of ours may, and put it back."""
    dynamodb = stack.aws("dynamodb")
    table = stack.outputs["SharesTable"]
    row = dynamodb.get_item(TableName=table, Key=to_wire(key), ConsistentRead=True)["Item"]
    dynamodb.delete_item(TableName=table, Key=to_wire(key))
    try:
        yield
    finally:
        dynamodb.put_item(TableName=table, Item=row)


def _claimed_long_ago(stack: Stack, sender: HttpUser, taker: HttpUser) -> str:
    """Claim a share so long ago that a scan compares it, and queue it; return the packet's id."""
    dynamo = Dynamo(lambda: stack.aws("dynamodb"))
    accounts, packets, campaigns, profiles = (
        stack.outputs[f"{name}Table"] for name in ("Accounts", "Packets", "Campaigns", "Profiles")
    )
    now_ms = int(time.time() * 1000)
    packet = a_packet(
        1000,
        2,
        sender=User(sender.user_id),
        created_at_ms=now_ms - 2 * MOVING_MS,
        expires_at_ms=now_ms + 3_600_000,
    )
    funding = DynamoFunding(dynamo, accounts, packets, campaigns, profiles)
    funding.fund(packet, a_funding(packet), Request(sender.user_id, packet.packet_id, "body"))
    claim = a_claim(packet, 1, taker.user_id, decided_at_ms=now_ms - MOVING_MS - 60_000)
    tables = (stack.outputs[f"{name}Table"] for name in ("Shares", "Quotas", "Audience"))
    recorder = DynamoClaims(dynamo, *tables)
    assert recorder.record_claim(claim) is RecordStatus.RECORDED
    sqs = stack.aws("sqs")
    SqsPayouts(lambda: sqs, stack.outputs["PayoutQueueUrl"], lambda: now_ms).put([claim.ref])
    return packet.packet_id


def _reconciled(operator: HttpUser) -> dict[str, Any]:
    answer = operator.http.post("/admin/reconcile")
    assert answer.status_code == httpx.codes.OK, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _about(found: dict[str, Any], subject: str) -> list[dict[str, Any]]:
    # Other tests leave dead letters and flushed caches behind, which are differences, too.
    return [one for one in found["differences"] if one["subject"] == subject]


def test_a_planted_fen_is_found_and_named(
    stack: Stack, a_user: MakeUser, operator: HttpUser, eventually: Eventually
) -> None:
    sender, taker = a_user(funds_fen=1000), a_user()
    packet_id = sender.send(total_fen=1000, count=2).json()["packet_id"]
    taker.grab(packet_id)
    eventually(lambda: taker.balance_fen() > 0)
    account = f"user:{taker.user_id}"
    sound = _reconciled(operator)
    assert sound["is_complete"]
    assert sound["packet_count"] >= 1
    assert _about(sound, account) == []

    with _planted_fen(stack, taker):
        found = _reconciled(operator)

    assert not found["ok"]
    (difference,) = _about(found, account)
    assert difference["rule"] == "I1"
    assert difference["actual"] - difference["expected"] == 1


def test_a_claim_whose_takers_row_is_gone_is_found_and_named(
    stack: Stack, a_user: MakeUser, operator: HttpUser, eventually: Eventually
) -> None:
    sender, taker = a_user(funds_fen=1000), a_user()
    packet_id = _claimed_long_ago(stack, sender, taker)
    eventually(lambda: taker.balance_fen() > 0)
    audit = f"/admin/packets/{packet_id}/audit"
    assert operator.http.get(audit).json()["differences"] == []

    with _without(stack, keys.taker(packet_id, taker.user_id)):
        found = _reconciled(operator)
        audited = operator.http.get(audit).json()["differences"]

    (difference,) = _about(found, packet_id)
    assert difference["rule"] == "I4"
    assert taker.user_id in difference["what"]
    assert audited == [difference]


def test_the_nightly_schedule_reports_the_same(a_user: MakeUser, invoke: Invoke) -> None:
    a_user(funds_fen=1000).send(total_fen=1000, count=2)

    report = invoke("ReconcileFunction", {"source": "aws.events"})

    assert report["is_complete"]
    assert report["account_count"] >= 3
    assert [one for one in report["differences"] if one["rule"].startswith("I")] == []
