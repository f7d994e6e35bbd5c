"""Bench of the deployed system: claims over HTTP, and their settlement.

**Claims.** The bench deploys a bare handler beside ours, behind the same gateway and authorizer.
The bare handler makes one Redis call and answers, which is the minimum for a claim. Both handlers
serve the same users in turns. A packet has WINNERS shares for CROWD users, so 95 of 100 lose.
Payouts are off, because on AWS they run on other machines. The ratio is the median of the rounds'
ratios.

**Settling.** The real adapters make claims in the deployed tables, and queue them. Then the
deployed payout function settles them in batches of the size in its mapping. The bench polls the
queue itself, because the emulator's poller takes at most 10 messages. Sweeps are off, because they
would queue the waiting claims again. Claims that one transaction settled have the same time in the
ledger, so the bench counts transactions by time. Transactions hold their items and can conflict
(`local/conflicts.py`). A failed batch is counted, and redelivered immediately. At the end, the
bench checks the invariants over the whole ledger.
"""

import io
import json
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from bench.counts import Till
from bench.rounds import Figures, interleaved, ratio
from local.client import Client
from local.seed_keys import seed_keys_of
from local.stack import Stack
from redpacket.packets.clients.sqs_payouts import SqsPayouts
from redpacket.packets.model.claim import Share, ShareRef
from redpacket.packets.use_cases.settle_claims import CLAIMS_PER_TRANSACTION
from redpacket.platform.dynamodb.client import Dynamo
from redpacket.platform.runtime import SystemClock
from testing.builders import a_packet_id
from testing.platform.cloud import tables_of
from testing.reconciliation.ledger_state import LedgerState, read_ledger_state

ROUNDS = 5
PACKETS_PER_ROUND = 3
WINNERS = 5
CROWD = 100
CALLERS = 4

CLAIMS = 10_000
SHARES = 100
PACKETS_AT_ONCE = 10
CLAIMERS = 2
POLLERS = 4
HOLD_MS = (20, 80)
"""Milliseconds for which a transaction holds its items while claims are settled."""

FAILURES_MAX = 100
"""Maximum number of failed batches per poller, because a stack may stop answering."""

MESSAGES_PER_CALL = 10

BARE = """
import json, os, redis
host, port = os.environ["CACHE_URL"].removeprefix("redis://").split(":")
client = redis.Redis(host=host, port=int(port), protocol=2, decode_responses=True)
def handler(event, context):
    user_id = event["requestContext"]["authorizer"]["jwt"]["claims"]["sub"]
    client.hget("bare:" + event["pathParameters"]["packet_id"], user_id)
    body = json.dumps({"status": 410, "code": "packet_emptied"})
    headers = {"content-type": "application/problem+json"}
    return {"statusCode": 410, "headers": headers, "body": body}
"""


def measure() -> dict[str, float]:
    """Return the figures of this bench."""
    with (
        TemporaryDirectory(prefix="redpacket-") as folder,
        Stack(Path(folder), say=print, hold_ms=(0, 0)) as stack,
    ):
        _deploy_bare(stack)
        batch_size = _stop_payouts(stack)
        figures, latencies_ms = _claim_over_http(stack)
        refs = _claim_in_process(stack)
        stack.hold_items(*HOLD_MS)
        began_s = time.monotonic()
        with ThreadPoolExecutor(POLLERS) as pool:
            failed = sum(pool.map(lambda _: _settle(stack, batch_size), range(POLLERS)))
        settled_s = time.monotonic() - began_s
        world = _read(stack)
    assert not world.differences()
    settled = [share for share in world.shares if share.ref in refs]
    assert len(settled) == CLAIMS
    together = Counter(share.settled_at_ms for share in settled)
    transactions = sum(-(-count // CLAIMS_PER_TRANSACTION) for count in together.values())
    cuts = quantiles(latencies_ms, n=100)
    return {
        "grab_rps": round(1000 / median(figures["grab"]), 1),
        "bare_rps": round(1000 / median(figures["bare"]), 1),
        "ratio": ratio(figures, "grab", "bare"),
        "p50_ms": round(cuts[49], 1),
        "p99_ms": round(cuts[98], 1),
        "settled_per_s": round(CLAIMS / settled_s, 1),
        "transactions_per_claim": round(transactions / CLAIMS, 4),
        "failed_batches": failed,
    }


# ---------------------------------------------------------------- claims over HTTP


def _claim_over_http(stack: Stack) -> tuple[Figures, list[float]]:
    """Return the ms per request in each round, and the latency of each request to our handler."""
    tokens = [stack.token(f"guest-{number}") for number in range(CROWD)]
    packet_ids = _send(stack, (ROUNDS + 1) * PACKETS_PER_ROUND)
    chances = {"": WINNERS * PACKETS_PER_ROUND, "/bare": 0}
    unused = {prefix: iter(packet_ids) for prefix in chances}
    latencies_ms: list[float] = []
    with _callers(stack) as call:

        def run(prefix: str) -> float:
            chosen = list(islice(unused[prefix], PACKETS_PER_ROUND))
            requests = [
                (f"{prefix}/packets/{packet_id}/grab", token)
                for packet_id in chosen
                for token in tokens
            ]
            ms, answers = call(requests)
            won = chances[prefix]
            statuses = Counter(status for _, status in answers)
            assert statuses == Counter({200: won, 410: len(requests) - won}), statuses
            if not prefix:
                latencies_ms.extend(latency_ms for latency_ms, _ in answers)
            return ms

        runs = {"grab": partial(run, ""), "bare": partial(run, "/bare")}
        # Warm up the functions.
        interleaved(runs, rounds=1)
        latencies_ms.clear()
        return interleaved(runs, ROUNDS), latencies_ms


def _send(stack: Stack, count: int) -> list[str]:
    """Send packets, each by a new sender, because the sends of one user are limited."""
    packet_ids = []
    with Client(stack.api, stack.token("operator", scope="hongbao/admin")) as operator:
        for number in range(count):
            sender_id = f"sender-{number}"
            operator.post("/admin/deposits", {"user": sender_id, "amount_fen": 1_000})
            with Client(stack.api, stack.token(sender_id)) as sender:
                order = {"kind": "lucky", "total_fen": 1_000, "count": WINNERS}
                packet_ids.append(sender.post("/packets", order)["packet_id"])
    return packet_ids


Call = Callable[[list[tuple[str, str]]], tuple[float, list[tuple[float, int]]]]


@contextmanager
def _callers(stack: Stack) -> Iterator[Call]:
    """Yield a function that makes requests, CALLERS at a time.

    The function takes paths and tokens. It returns the elapsed ms per request, and the latency and
    status of each request.
    """
    http = httpx.Client(base_url=stack.api, timeout=30, trust_env=False)

    def ask(request: tuple[str, str]) -> tuple[float, int]:
        path, token = request
        began_s = time.perf_counter()
        answer = http.post(path, headers={"Authorization": f"Bearer {token}"})
        return (time.perf_counter() - began_s) * 1000, answer.status_code

    with http, ThreadPoolExecutor(CALLERS) as pool:

        def call(requests: list[tuple[str, str]]) -> tuple[float, list[tuple[float, int]]]:
            began_s = time.perf_counter()
            answers = list(pool.map(ask, requests))
            return (time.perf_counter() - began_s) * 1000 / len(requests), answers

        yield call


def _deploy_bare(stack: Stack) -> None:
    """Deploy the bare handler beside ours, with the same layers, role, gateway, and authorizer."""
    functions, gateway = stack.aws("lambda"), stack.aws("apigatewayv2")
    ours = functions.get_function_configuration(FunctionName=stack.outputs["GrabFunction"])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("app.py", BARE)
    bare = functions.create_function(
        FunctionName="bare",
        Runtime=ours["Runtime"],
        Role=ours["Role"],
        Handler="app.handler",
        Code={"ZipFile": packed.getvalue()},
        Layers=[layer["Arn"] for layer in ours["Layers"]],
        MemorySize=ours["MemorySize"],
        Timeout=ours["Timeout"],
        Environment=ours["Environment"],
    )
    api_id = stack.outputs["ApiId"]
    routes = gateway.get_routes(ApiId=api_id)["Items"]
    grab = next(route for route in routes if route["RouteKey"].endswith("/grab"))
    made = gateway.create_integration(
        ApiId=api_id,
        IntegrationType="AWS_PROXY",
        IntegrationUri=bare["FunctionArn"],
        PayloadFormatVersion="2.0",
    )
    gateway.create_route(
        ApiId=api_id,
        RouteKey="POST /bare/packets/{packet_id}/grab",
        Target=f"integrations/{made['IntegrationId']}",
        AuthorizationType=grab["AuthorizationType"],
        AuthorizerId=grab["AuthorizerId"],
    )
    functions.add_permission(
        FunctionName="bare",
        StatementId="gateway",
        Action="lambda:InvokeFunction",
        Principal="apigateway.amazonaws.com",
    )


# ---------------------------------------------------------------- settling


def _stop_payouts(stack: Stack) -> int:
    """Stop the sweeps and the mapping of the payout function. Return the mapping's batch size."""
    events = stack.aws("events")
    for rule in events.list_rules()["Rules"]:
        if "ExpireFunction" in rule["Name"]:
            events.disable_rule(Name=rule["Name"])
    functions = stack.aws("lambda")
    mappings = functions.list_event_source_mappings(FunctionName=stack.outputs["PayoutFunction"])
    (mapping,) = mappings["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    return int(mapping["BatchSize"])


def _claim_in_process(stack: Stack) -> set[ShareRef]:
    """Make CLAIMS durable claims through the real adapters, and queue them."""
    dynamodb, sqs, clock = stack.aws("dynamodb"), stack.aws("sqs"), SystemClock()
    till = Till(Dynamo(lambda: dynamodb, tables_of(stack)))
    now_ms = clock.now_ms()
    # Each packet has its own sender and users, because writes to a shared balance would conflict.
    packets = [
        till.send(
            SHARES,
            sender_no=CLAIMS + 1 + place,
            packet_id=a_packet_id(),
            created_at_ms=now_ms,
            expires_at_ms=now_ms + 10**7,
        )
        for place in range(CLAIMS // SHARES)
    ]

    def claim(place: int) -> list[Share]:
        numbers, user_from = range(1, SHARES + 1), SHARES * place
        return till.claim(packets[place], numbers, user_from=user_from, decided_at_ms=now_ms)

    with ThreadPoolExecutor(CLAIMERS) as pool:
        claimed = list(pool.map(claim, range(len(packets))))
    # Interleave the claims of several packets, as in a real rush.
    refs = [
        share.ref
        for start in range(0, len(packets), PACKETS_AT_ONCE)
        for shares in zip(*claimed[start : start + PACKETS_AT_ONCE], strict=True)
        for share in shares
    ]
    SqsPayouts(lambda: sqs, stack.outputs["PayoutQueueUrl"], clock.now_ms).put(refs)
    return set(refs)


def _settle(stack: Stack, batch_size: int) -> int:
    """Pass batches to the payout function, like Lambda's poller, until the queue is empty.

    Return the number of failed batches.
    """
    sqs, functions = stack.aws("sqs"), stack.aws("lambda")
    url = stack.outputs["PayoutQueueUrl"]
    failed_count = 0
    while batch := _receive(sqs, url, batch_size):
        records = [{"messageId": each["MessageId"], "body": each["Body"]} for each in batch]
        while True:
            answer = functions.invoke(
                FunctionName=stack.outputs["PayoutFunction"],
                Payload=json.dumps({"Records": records}).encode(),
            )
            told = json.loads(answer["Payload"].read())
            if told == {"batchItemFailures": []}:
                break
            failed_count += 1
            print(f"a batch is redelivered: {told}")
            if failed_count > FAILURES_MAX:
                raise TimeoutError("the deployed payout function fails all the time")
        for start in range(0, len(batch), MESSAGES_PER_CALL):
            entries = [
                {"Id": each["MessageId"], "ReceiptHandle": each["ReceiptHandle"]}
                for each in batch[start : start + MESSAGES_PER_CALL]
            ]
            sqs.delete_message_batch(QueueUrl=url, Entries=entries)
    return failed_count


def _receive(sqs: Any, url: str, count: int) -> list[dict[str, str]]:
    batch: list[dict[str, str]] = []
    while len(batch) < count:
        limit = min(MESSAGES_PER_CALL, count - len(batch))
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=limit).get("Messages", [])
        if not messages:
            break
        batch += messages
    return batch


def _read(stack: Stack) -> LedgerState:
    names = ("Accounts", "Packets", "Shares", "Campaigns", "Draws", "Quotas")
    tables = [stack.outputs[f"{name}Table"] for name in names]
    return read_ledger_state(stack.aws("dynamodb"), *tables, seeds=seed_keys_of(stack))
