"""Scenarios that cause the faults, or only the signs, that the runbook's pages describe."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

import httpx

from local.alarms import Alarms
from local.client import NO_TLS
from local.drill import FUNDS_FEN, TOO_MUCH_FEN, WEBHOOK
from redpacket.fairness.dynamodb import keys as log_keys
from redpacket.ledger.dynamodb import keys as ledger_keys
from redpacket.ledger.provider_name import ProviderName
from redpacket.packets.clients.sqs_payouts import settle_message
from redpacket.packets.model.claim import ShareRef
from redpacket.packets.redis import keys as cache_keys
from redpacket.payments.dynamodb.items import line_row
from redpacket.payments.model.provider import (
    StatementKind,
    StatementLine,
    statement_day,
    statement_day_start_ms,
)
from redpacket.platform.dynamodb.client import to_wire, values
from tests.integration.conftest import HttpUser
from tests.integration.runbook_world import Fault, World

HOUR_MS = 3_600_000

Provoke: TypeAlias = Callable[[World], AbstractContextManager[Fault]]

SCENARIOS: dict[str, Provoke] = {}
"""Functions that cause a page's fault, keyed by page. Pages with only AWS commands have none."""


def about(page: str) -> Callable[[Callable[[World], Iterator[Fault]]], Provoke]:
    """Return a decorator that registers a function: it causes the fault that *page* describes."""

    def register(scenario: Callable[[World], Iterator[Fault]]) -> Provoke:
        SCENARIOS[page] = contextmanager(scenario)
        return SCENARIOS[page]

    return register


# ---------------------------------------------------------------- first response, and complaints


@about("README.md")
def _a_dead_letter(world: World) -> Iterator[Fault]:
    dead = {"QueueUrl": world.stack.outputs["PayoutDlqUrl"]}
    world.stack.aws("sqs").send_message(**dead, MessageBody="poison")
    yield Fault(
        values=world.own_aws(),
        signs={"redpacket doctor": "dlq list payout", "queue list": "payout"},
        failing="redpacket doctor",
    )
    world.stack.aws("sqs").purge_queue(**dead)


@about("rehearsal.md")
def _all_drills(world: World) -> Iterator[Fault]:
    with world.keeper():
        yield Fault(
            signs={
                "CACHE=freeze": "503 unavailable",
                "CACHE=kill": "claimed already_claimed",
                "QUEUE=poison": "4 messages",
                "GATEWAY=freeze": "without queued",
                "GATEWAY=empty": "Withdrawal queued",
                "WALLET=freeze": "without queued",
                "PACKET=closing": "claimed closing",
                "BUDGET=wrong": ".local/drill-",
                "WEBHOOK=down": "sent",
                "BALANCE=wrong": "100100",
            },
        )
    outputs, dynamodb = world.stack.outputs, world.stack.aws("dynamodb")
    world.stack.aws("sqs").purge_queue(QueueUrl=outputs["PayoutQueueUrl"])
    path = f"/admin/webhooks/{WEBHOOK}"
    hook = world.operator.http.get(path).json()
    off = {"url": hook["url"], "events": hook["events"], "is_on": False}
    assert world.operator.http.put(path, json=off).is_success
    raised = dynamodb.scan(
        TableName=outputs["AccountsTable"],
        FilterExpression="balance_fen = :raised",
        ExpressionAttributeValues=values(raised=FUNDS_FEN + TOO_MUCH_FEN),
    )
    for row in raised["Items"]:
        right = {**row, "balance_fen": {"N": str(FUNDS_FEN)}}
        dynamodb.put_item(TableName=outputs["AccountsTable"], Item=right)


# ---------------------------------------------------------------- the cache


def _refused_grab(world: World, packet_id: str) -> str:
    """Grab a packet while the cache fails; return the request's id once the log contains it."""
    refused: str = world.a_user().grab(packet_id).json()["instance"]
    world.wait_for_log("GrabLogs", refused)
    return refused


@about("api-errors.md")
def _a_cache_that_hangs(world: World) -> Iterator[Fault]:
    packet_id = world.a_user(funds_fen=1000).send(count=2).json()["packet_id"]
    with world.frozen_cache():
        yield Fault(
            signs={"doctor": "cache-lost.md", "redpacket logs": _refused_grab(world, packet_id)},
            failing="redpacket doctor",
        )


@about("cache-lost.md")
def _a_cache_that_lost_a_claim(world: World) -> Iterator[Fault]:
    """Remove the newest claim from the cache, as a failover may, and then make the cache hang."""
    old, new = world.a_user(), world.a_user()
    packet_id = world.a_user(funds_fen=1000).send(count=2).json()["packet_id"]
    key = cache_keys.claim_cache(packet_id)
    state = world.cache.dump(key) or b""
    taken = old.grab(packet_id).json()["share_no"]
    world.cache.restore(key, world.cache.pttl(key), state, replace=True)
    other = new.grab(packet_id).json()["share_no"]
    assert taken != other
    with world.frozen_cache():
        refused = _refused_grab(world, packet_id)
    world.wait_for_log("GrabLogs", "share_collision")
    Alarms(world.stack.aws, []).look()  # Publish the metric that `redpacket count` reads.
    yield Fault(
        signs={
            "cache PING": "PONG",
            "INFO server": "uptime_in_seconds:",
            "INFO stats": "evicted_keys:0",
            "logs grab": refused,
            "get-function-configuration": str(world.stack.redis_port),
            "count grab share_collision": "1",
        },
    )


@about("cache-busy.md")
def _a_script_that_takes_all_the_time(world: World) -> Iterator[Fault]:
    world.cache.config_resetstat()
    world.cache.eval("for number = 1, 3000000 do local half = number / 2 end", 0)
    yield Fault(signs={"commandstats": "cmdstat_eval:", "INFO stats": "instantaneous_ops"})


@about("cache-full.md")
def _a_cache_without_memory(world: World) -> Iterator[Fault]:
    world.cache.config_set("maxmemory", 1)
    sent = world.a_user(funds_fen=1000).send(count=2).json()["packet_id"]
    refused = _refused_grab(world, sent)
    yield Fault(
        signs={
            "INFO memory": "maxmemory_human:1B noeviction",
            "logs grab": refused,
            "CONFIG SET": "OK",
        },
    )
    assert world.a_user().grab(sent).is_success
    world.cache.config_set("maxmemory", 0)


# ---------------------------------------------------------------- packets


@about("complaints.md")
def _a_claim(world: World) -> Iterator[Fault]:
    packet_id = world.a_user(funds_fen=1000).send(count=1).json()["packet_id"]
    claim = world.a_user().grab(packet_id)
    request_id = claim.headers["x-request-id"]
    world.wait_for_log("PayoutLogs", request_id)
    yield Fault({"REQUEST": request_id}, {"redpacket find": f"{packet_id} settled"})


@about("campaign-wrong.md")
def _a_budget_of_ten_times_as_much(world: World) -> Iterator[Fault]:
    campaign_id, now_ms = f"wrong-{uuid.uuid4().hex[:8]}", int(time.time() * 1000)
    till = world.a_user(f"till-{campaign_id}", funds_fen=5000, scope="hongbao/admin")
    plan = {"title": "Gala", "starts_at_ms": now_ms, "ends_at_ms": now_ms + HOUR_MS}
    plan |= {"status": "on", "budget_fen": 5000}
    put = till.http.put(f"/admin/campaigns/{campaign_id}", json=plan)
    assert put.is_success, put.text
    body = {"kind": "lucky", "total_fen": 100, "count": 2, "campaign_id": campaign_id}
    packet_id = till.post("/admin/packets", body).json()["packet_id"]
    (world.folder / "new-year.yaml").write_text(json.dumps(plan | {"budget_fen": 500}))
    yield Fault(
        {"CAMPAIGN": campaign_id, "PACKET": packet_id},
        {
            "campaign show": "¥50.00",
            "journal list": till.host_id,
            "packets list": packet_id,
            "campaign edit": "¥5.00",
            "packets end": packet_id,
        },
    )
    world.invoke("ExpireFunction", {})
    assert till.record(packet_id)["status"] == "closed"


@about("claim-refused.md")
def _a_share_of_another_amount(world: World) -> Iterator[Fault]:
    claimer = world.a_user()
    packet_id = world.a_user(funds_fen=1000).send(count=2).json()["packet_id"]
    with world.paused_payouts():
        claim = claimer.grab(packet_id).json()
        share_no, right_fen = claim["share_no"], claim["amount_fen"]
        world.write_share(packet_id, share_no, amount_fen=right_fen + 1)
        body = json.dumps(settle_message(ShareRef(packet_id, share_no), 0))
        message = {"messageId": uuid.uuid4().hex, "body": body, "attributes": {}}
        world.invoke("PayoutFunction", {"Records": [message]})
        world.wait_for_log("PayoutLogs", packet_id)
        yield Fault(
            {
                "PACKET": packet_id,
                "SHARE": str(share_no),
                "WRONG": str(right_fen + 1),
                "RIGHT": str(right_fen),
            },
            {
                "logs payout claim_refused": packet_id,
                "redpacket audit": f"{right_fen} {right_fen + 1}",
                "ledger packet": f"share#{share_no:07d}",
                "redpacket deposit": "balance_fen",
            },
            failing="redpacket audit",
        )
    world.eventually(lambda: claimer.balance_fen() == right_fen)


@about("clock-wrong.md")
def _a_sweep_that_is_an_hour_ahead(world: World) -> Iterator[Fault]:
    """Write the log line of a function with a wrong clock, because a test cannot change this
    machine's clock.
    """
    ahead = time.strftime("%Y-%m-%d %H", time.gmtime(time.time() + 3600))
    now_ms, stream = int(time.time() * 1000), uuid.uuid4().hex
    line = {"level": "INFO", "message": "sweep", "timestamp": f"{ahead}:30:00,000+0000"}
    logs, group = world.stack.aws("logs"), {"logGroupName": world.resource("ExpireLogs")}
    logs.create_log_stream(**group, logStreamName=stream)
    events = [{"timestamp": now_ms, "message": json.dumps(line)}]
    logs.put_log_events(**group, logStreamName=stream, logEvents=events)
    yield Fault(
        signs={
            "cache TIME": str(now_ms // 100_000),
            "logs expire": ahead,
            "/health": time.strftime("%d %b %Y %H:", time.gmtime()),
            "run sweep": "failed_count",
        },
    )
    logs.delete_log_stream(**group, logStreamName=stream)


@about("packet-stuck.md")
def _a_packet_that_the_cache_keeps_from_closing(world: World) -> Iterator[Fault]:
    sent = world.a_user(funds_fen=1000).send(expires_in_s=1).json()
    packet_id = sent["packet_id"]
    world.eventually(lambda: time.time() * 1000 > sent["expires_at_ms"])
    with world.frozen_cache():
        world.invoke("ExpireFunction", {})
        world.wait_for_log("ExpireLogs", packet_id)
    yield Fault(
        {"PACKET": packet_id},
        {
            "work list due": packet_id,
            "logs expire cache_not_closed": packet_id,
            "ledger packet": f"closing refunded {packet_id}",
            "run sweep": "closed_count",
        },
    )


@about("dead-letters.md")
def _a_poison_message_and_a_settled_claim(world: World) -> Iterator[Fault]:
    claimer = world.a_user()
    packet_id = world.a_user(funds_fen=1000).send(count=1).json()["packet_id"]
    share_no = claimer.grab(packet_id).json()["share_no"]
    world.eventually(lambda: claimer.balance_fen() == 1000)
    sqs, outputs = world.stack.aws("sqs"), world.stack.outputs
    mark = uuid.uuid4().hex
    record = {"messageId": mark, "body": "poison", "attributes": {}}
    world.invoke("PayoutFunction", {"Records": [record]})
    world.wait_for_log("PayoutLogs", mark)
    settled = json.dumps(settle_message(ShareRef(packet_id, share_no), 0))
    for body in ("poison", settled):
        sqs.send_message(QueueUrl=outputs["PayoutDlqUrl"], MessageBody=body)
    yield Fault(
        {"PACKET": packet_id},
        {
            "dlq list": f"poison {packet_id}",
            "logs payout message_refused": mark,
            "ledger packet": "settled_at_ms",
            "redpacket audit": "Everything",
            "redrive": "moved 2",
            "purge": "purged 0",
        },
    )
    sqs.purge_queue(QueueUrl=outputs["PayoutQueueUrl"])
    assert claimer.balance_fen() == 1000


@about("ledger-throttled.md")
def _claims_that_nobody_settles(world: World) -> Iterator[Fault]:
    """Stop payouts, because the emulator never throttles a table."""
    packet_id = world.a_user(funds_fen=1000).send(count=2).json()["packet_id"]
    with world.paused_payouts():
        world.a_user().grab(packet_id)
        yield Fault(
            signs={
                "payouts_at_once 3": "3",
                "ThrottlingRateLimit=500,": "500",
                "ThrottlingRateLimit=10000,": "10000",
                "work list settle": packet_id,
            },
        )


@about("sweep-silent.md")
def _a_packet_that_a_sweep_cannot_read(world: World) -> Iterator[Fault]:
    sent = world.a_user(funds_fen=1000).send(expires_in_s=1).json()
    packet_id = sent["packet_id"]
    world.eventually(lambda: time.time() * 1000 > sent["expires_at_ms"])
    with world.without_terms(packet_id):
        world.invoke("ExpireFunction", {})
        world.wait_for_log("ExpireLogs", packet_id)
    yield Fault(
        signs={
            "for rule": "DISABLED",
            "get-policy": "events.amazonaws.com",
            "logs expire ERROR": packet_id,
            "run sweep": "closed_count",
            "work list due": "none",
            "work list settle": "none",
        },
    )


# ---------------------------------------------------------------- payment providers


def _ask_for_payment(user: HttpUser) -> str:
    body = {"amount_fen": 500, "channel": "host", "method": "native"}
    return str(user.post("/me/payments", body).json()["payment_id"])


@about("withdrawals-wait.md")
def _a_wallet_that_fails(world: World) -> Iterator[Fault]:
    user, mark = world.a_user(funds_fen=1000), uuid.uuid4().hex
    world.let("host", "fails")
    held = user.post("/me/withdrawals", {"amount_fen": 100, "channel": "host"}).json()
    withdrawal_id = held["withdrawal_id"]
    world.invoke("TransferFunction", {"task": "dispatch"})
    record = {"messageId": mark, "body": "poison", "attributes": {}}
    world.invoke("TransferFunction", {"Records": [record]})
    sqs, outputs = world.stack.aws("sqs"), world.stack.outputs
    sqs.send_message(QueueUrl=outputs["NoticeDlqUrl"], MessageBody="poison")
    world.wait_for_log("TransferLogs", mark)
    yield Fault(
        {"WITHDRAWAL": withdrawal_id},
        {
            "for kind": "transfer",
            "redpacket doctor": "no answer since",
            "for words": f"{withdrawal_id} provider_silent",
            "describe-rule": "rate(1 minute)",
            "withdrawals list": withdrawal_id,
            "withdrawals show": "processing answer",
            "run dispatch": "host",
            "notice_not_followed": mark,
            "dlq redrive": "moved 1",
            "--return": "returned",
        },
        failing="redpacket doctor",
        repaired=world.repair("host"),
    )
    sqs.purge_queue(QueueUrl=outputs["NoticeQueueUrl"])


@about("address-refused.md")
def _a_provider_that_does_not_know_our_address(world: World) -> Iterator[Fault]:
    user = world.a_user(funds_fen=1000)
    linked = user.http.post("/me/wechat", json={"code": f"code-{uuid.uuid4().hex[:8]}"})
    assert linked.is_success, linked.text
    world.let("wechat", "refuses_address")
    held = user.post("/me/withdrawals", {"amount_fen": 100, "channel": "wechat"}).json()
    world.invoke("TransferFunction", {"task": "dispatch"})
    world.wait_for_log("TransferLogs", held["withdrawal_id"])
    yield Fault(signs={"redpacket logs": held["withdrawal_id"]})
    world.let("wechat", "ok")


@about("provider-contradicts.md")
def _a_payment_of_another_amount(world: World) -> Iterator[Fault]:
    payment_id = _ask_for_payment(world.a_user())
    paid = world.control("host", "pay", payment_id=payment_id, amount_fen=499)
    world.wait_for_log("TransferLogs", payment_id)
    transaction_id = paid["transaction_id"]
    yield Fault(
        {
            "PAYMENT": payment_id,
            "TRANSACTION": transaction_id,
            "REFERENCE": f"bank-{transaction_id}",
        },
        {
            "for words": payment_id,
            "payments returns": transaction_id,
            "payments show": "499 mismatched",
            "switch off": "pay",
            "payments resolve": f"{payment_id} 499",
        },
    )
    turned = world.operator.http.put("/admin/switches/pay", json={"on": True})
    assert turned.is_success, turned.text


@about("statement-differs.md")
def _a_payment_that_no_statement_has(world: World) -> Iterator[Fault]:
    payment_id = _ask_for_payment(world.a_user())
    day = statement_day(int(time.time() * 1000) - 24 * HOUR_MS)
    moved_at_ms = statement_day_start_ms(day) + 12 * HOUR_MS
    line = StatementLine(StatementKind.PAYMENT, payment_id, "42000", 500, moved_at_ms)
    row = to_wire(line_row(ProviderName.HOST, line, moved_at_ms))
    dynamodb, table = world.stack.aws("dynamodb"), world.stack.outputs["PaymentsTable"]
    dynamodb.put_item(TableName=table, Item=row)
    world.invoke("TransferFunction", {"task": "compare_bills", "day": day})
    world.wait_for_log("TransferLogs", payment_id)
    yield Fault(
        {"NUMBER": payment_id, "DAY": day},
        {
            "logs transfer bill_differs": payment_id,
            "date -d yesterday": payment_id,
            "payments show": "pending 500",
            "--skip": "host",
        },
        failing="withdrawals show",  # NUMBER is a payment's id.
    )
    dynamodb.delete_item(TableName=table, Key={name: row[name] for name in ("pk", "sk")})


# ---------------------------------------------------------------- webhooks, the log, reconciliation


@about("webhooks-behind.md")
def _a_receiver_that_is_down_and_an_altered_row(world: World) -> Iterator[Fault]:
    name, mark = f"shop-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
    receiver, fake = f"{world.stack.receiver}/events/{name}", f"{world.stack.receiver}/_fake/{name}"
    hook = {"url": receiver, "events": ["redpacket.packet.sent"], "is_on": True}
    assert world.operator.http.put(f"/admin/webhooks/{name}", json=hook).is_success
    httpx.put(fake, json={"mode": "down"}, trust_env=False, verify=NO_TLS)
    sqs, outputs = world.stack.aws("sqs"), world.stack.outputs
    sqs.purge_queue(QueueUrl=outputs["UnreadRecordsUrl"])
    position = world.alter_journal()
    sent = world.a_user(funds_fen=1000).send(count=2).json()
    assert sent["packet_id"]
    path = f"/admin/webhooks/{name}"
    world.eventually(lambda: world.operator.http.get(path).json()["last_failure"])
    world.invoke("DeliverFunction", {"Records": [{"messageId": mark, "body": "poison"}]})
    sqs.send_message(QueueUrl=outputs["DeliveryDlqUrl"], MessageBody=mark)
    world.wait_for_log("AnnounceLogs", position)
    world.wait_for_log("DeliverLogs", mark)
    yield Fault(
        {"WEBHOOK": name},
        {
            "webhooks list": f"{name} (503)",
            "webhooks show": "waiting_count",
            "row_altered": position,
            "deliver ERROR": mark,
            "webhooks test": "204",
            "webhooks resume": name,
            "webhooks replay": "replayed_count",
            "lambda invoke": "200",
            "dlq list": mark,
            "dlq redrive": "moved 1",
        },
        repaired=f'curl -sS -X PUT -d \'{{"mode": "ok"}}\' {fake}',
    )
    world.operator.http.put(path, json=hook | {"is_on": False})
    for queue in ("DeliveryQueueUrl", "UnreadRecordsUrl"):
        sqs.purge_queue(QueueUrl=outputs[queue])


@about("public-log.md")
def _a_forged_commitment(world: World) -> Iterator[Fault]:
    id_hash = uuid.uuid4().hex * 2
    key = log_keys.commitment(id_hash)
    work = f"log#{log_keys.commitment_shard(id_hash)}"
    row: dict[str, str | int] = {**key, "kind": "forged", "work_pk": work, "work_at_ms": 0}
    dynamodb, table = world.stack.aws("dynamodb"), world.stack.outputs["CommitmentsTable"]
    dynamodb.put_item(TableName=table, Item=to_wire(row))
    world.invoke("LogFunction", {})
    world.wait_for_log("LogLogs", "commitment_unreadable")
    yield Fault(
        signs={
            "for words": "commitment_unreadable",
            "/transparency/checkpoint": "redpacket",
            "run log": "appended",
        },
    )
    dynamodb.delete_item(TableName=table, Key=to_wire(key))


@about("reconciliation-difference.md")
def _a_balance_that_no_transfer_made(world: World) -> Iterator[Fault]:
    account = f"user:{world.a_user().user_id}"
    dynamodb, table = world.stack.aws("dynamodb"), world.stack.outputs["AccountsTable"]
    key = to_wire(ledger_keys.account(account))
    dynamodb.put_item(TableName=table, Item={**key, "balance_fen": {"N": "7"}})
    yield Fault(
        {"ACCOUNT": account, "WRONG": "7"},
        {
            "redpacket reconcile": account,
            "ledger account": "7",
            "ledger correct": "0",
        },
        failing="redpacket reconcile, ledger account",
    )
    dynamodb.delete_item(TableName=table, Key=key)


@about("reconciliation-incomplete.md")
def _a_run_that_may_not_call_its_function(world: World) -> Iterator[Fault]:
    mark, client = uuid.uuid4().hex, world.stack.aws("stepfunctions")
    machine = {"stateMachineArn": world.resource("ReconcileMachine")}
    definition = client.describe_state_machine(**machine)["definition"]
    wrong = definition.replace(world.stack.outputs["ReconcileFunction"], mark)
    client.update_state_machine(**machine, definition=wrong)
    run = {"executionArn": client.start_execution(**machine)["executionArn"]}
    world.eventually(lambda: client.describe_execution(**run)["status"] == "FAILED")
    client.update_state_machine(**machine, definition=definition)
    yield Fault(
        signs={
            "get-execution-history": f"AccessDenied {mark}",
            "describe-rule": "DISABLED",
            "redpacket reconcile": "done",
        },
    )
