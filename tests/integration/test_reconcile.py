"""Reconciliation over HTTP against the deployed stack: exports, SQL, and audits."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from local.stack import Stack
from redpacket.ledger.dynamodb import keys
from redpacket.packets.clients.sqs_payouts import SqsPayouts
from redpacket.packets.dynamodb import keys as packet_keys
from redpacket.packets.dynamodb.claims import DynamoClaims
from redpacket.packets.dynamodb.funding import DynamoFunding
from redpacket.packets.model.claim import RecordStatus
from redpacket.platform.dynamodb.client import Dynamo, to_wire
from redpacket.platform.idempotency import Request
from redpacket.platform.user import User
from redpacket.reconciliation.use_cases.statements import MOVING_MS
from testing.builders import a_claim, a_funding, a_packet
from testing.platform.cloud import tables_of
from tests.integration.conftest import HttpUser, MakeUser

WITHIN_S = 60.0

Eventually = Callable[[Callable[[], Any]], Any]


@contextmanager
def _planted_fen(stack: Stack, account: str) -> Iterator[None]:
    """Give an account a balance of one fen without a transfer; remove the account afterwards."""
    dynamodb, table = stack.aws("dynamodb"), stack.outputs["AccountsTable"]
    key = to_wire(keys.account(account))
    dynamodb.put_item(TableName=table, Item={**key, "balance_fen": {"N": "1"}})
    try:
        yield
    finally:
        dynamodb.delete_item(TableName=table, Key=key)


@contextmanager
def _without(stack: Stack, key: dict[str, str]) -> Iterator[None]:
    """Remove a row from SharesTable, and restore it later. No function may remove such rows."""
    dynamodb = stack.aws("dynamodb")
    table = stack.outputs["SharesTable"]
    row = dynamodb.get_item(TableName=table, Key=to_wire(key), ConsistentRead=True)["Item"]
    dynamodb.delete_item(TableName=table, Key=to_wire(key))
    try:
        yield
    finally:
        dynamodb.put_item(TableName=table, Item=row)


def _claimed_long_ago(stack: Stack, sender: HttpUser, claimer: HttpUser) -> str:
    """Record and queue a claim that is old enough for a scan to compare. Return the packet's id."""
    dynamo = Dynamo(lambda: stack.aws("dynamodb"), tables_of(stack))
    now_ms = int(time.time() * 1000)
    packet = a_packet(
        1000,
        2,
        sender=User(sender.user_id),
        created_at_ms=now_ms - 2 * MOVING_MS,
        expires_at_ms=now_ms + 3_600_000,
    )
    DynamoFunding(dynamo).fund(
        packet, a_funding(packet), Request(sender.user_id, packet.packet_id, "body")
    )
    claim = a_claim(packet, 1, claimer.user_id, decided_at_ms=now_ms - MOVING_MS - 60_000)
    assert DynamoClaims(dynamo).record_claim(claim) is RecordStatus.RECORDED
    sqs = stack.aws("sqs")
    SqsPayouts(lambda: sqs, stack.outputs["PayoutQueueUrl"], lambda: now_ms).put([claim.ref])
    return packet.packet_id


def _reconciled(operator: HttpUser) -> dict[str, Any]:
    started = operator.http.post("/admin/reconcile")
    assert started.status_code == httpx.codes.ACCEPTED, started.text
    run_id = started.json()["run_id"]
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        answer = operator.http.get(f"/admin/reconcile/{run_id}")
        assert answer.status_code == httpx.codes.OK, answer.text
        body: dict[str, Any] = answer.json()
        if body["status"] != "running":
            assert body["status"] == "done"
            return body
        time.sleep(0.2)
    raise AssertionError(f"not done within {WITHIN_S:.0f} s")


def _about(result: dict[str, Any], subject: str) -> list[dict[str, Any]]:
    # Ignore differences that other tests' dead letters and flushed caches cause.
    return [difference for difference in result["differences"] if difference["subject"] == subject]


def test_a_planted_fen_is_found_and_named(
    stack: Stack, a_user: MakeUser, operator: HttpUser
) -> None:
    _claimed_long_ago(stack, a_user(funds_fen=1000), a_user())
    account = f"user:{a_user().user_id}"
    sound = _reconciled(operator)
    examined = {check["name"]: check["examined"] for check in sound["checks"]}
    assert min(examined["check_postings"], examined["check_takers"], examined["check_tally"]) > 0
    assert _about(sound, account) == []
    assert sound["until_ms"] < time.time() * 1000

    with _planted_fen(stack, account):
        result = _reconciled(operator)

    # After a comparison with differences, a second one exports only the changes since the first.
    assert result["export"] == "incremental"
    (difference,) = _about(result, account)
    assert difference == {
        "rule": "I1",
        "subject": account,
        "what": "balance vs entries",
        "expected": 0,
        "actual": 1,
    }


def test_a_claim_without_the_row_of_its_claimer_is_found_and_named(
    stack: Stack, a_user: MakeUser, operator: HttpUser, eventually: Eventually
) -> None:
    sender, claimer = a_user(funds_fen=1000), a_user()
    packet_id = _claimed_long_ago(stack, sender, claimer)
    eventually(lambda: claimer.balance_fen() > 0)
    audit = f"/admin/packets/{packet_id}/audit"
    assert operator.http.get(audit).json()["differences"] == []

    with _without(stack, packet_keys.claimer(packet_id, claimer.user_id)):
        result = _reconciled(operator)
        audited = operator.http.get(audit).json()["differences"]

    differences = _about(result, packet_id)
    assert {difference["rule"] for difference in differences} == {"I4"}
    assert all(claimer.user_id in difference["what"] for difference in differences)
    assert {each["rule"] for each in audited} == {"I4"}


def test_only_one_comparison_runs_at_a_time(operator: HttpUser) -> None:
    first, second = (operator.http.post("/admin/reconcile").json()["run_id"] for _ in range(2))

    assert first == second
    assert _reconciled(operator)["run_id"]


def test_an_unknown_run_is_refused(operator: HttpUser) -> None:
    for run_id in ("0" * 32, "NO"):
        answer = operator.http.get(f"/admin/reconcile/{run_id}")
        assert answer.status_code == httpx.codes.NOT_FOUND
        assert answer.json()["code"] == "run_not_found"
