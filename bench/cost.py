"""What a million grabs cost on AWS: list prices times what code, template and bench-flow say.

make cost

Write units are counted in the operations that the adapters really make, bytes of logs in the lines
that the template asks for. The prices and the crowd are in bench/prices.toml.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from redpacket.adapters import items
from redpacket.adapters.dynamo import Dynamo, Operation, Row
from redpacket.adapters.dynamo_ledger import DynamoLedger
from redpacket.adapters.dynamo_packets import DynamoPackets
from redpacket.domain.claim import Quota, ShareFate
from redpacket.domain.ledger import Transfer, TransferKind, escrow_account, user_account
from redpacket.flows.settle_claims import CLAIMS_PER_TRANSACTION
from tests.builders import NOW_MS, a_claim, a_packet

ROOT = Path(__file__).parents[1]
PRICES = ROOT / "bench" / "prices.toml"
FIGURES = ROOT / "docs" / "performance.json"

MILLION = 1_000_000
WRITE_UNIT_BYTES = 1_024
READ_UNIT_BYTES = 4_096
TRANSACTIONAL = 2
"""A write in a transaction is charged twice: DynamoDB prepares it, then makes it."""

MESSAGES_PER_RECEIVE = 10
"""Lambda's poller receives and deletes ten messages in one request, where there are as many."""

LOG_EVENT_BYTES = 26
"""CloudWatch counts these for each line, beside its text."""

# The lines that Lambda writes for each call, by its schema, unless SystemLogLevel is above INFO.
PLATFORM_LINES = (
    (
        '{"time":"2027-01-29T12:00:00.000Z","type":"platform.start","record":'
        '{"requestId":"8b133862-5331-4ded-ac5d-1ad5da5aee81","version":"$LATEST"}}'
    ),
    (
        '{"time":"2027-01-29T12:00:00.015Z","type":"platform.report","record":'
        '{"requestId":"8b133862-5331-4ded-ac5d-1ad5da5aee81","metrics":{"durationMs":14.412,'
        '"billedDurationMs":15,"memorySizeMB":1024,"maxMemoryUsedMB":96},"status":"success"}}'
    ),
)
# What stands in an access log for the names that the template's format has.
ACCESS_VALUES = {
    "$context.requestId": "JKJaXmPLvHcESHA=",
    "$context.routeKey": "POST /packets/{packet_id}/grab",
    "$context.status": "410",
    "$context.responseLatency": "17",
    "$context.integrationErrorMessage": "-",
}

USER_ID = "5f0c8f5e-{:04d}-4b1e-9a53-0c4a3d2f1b6a"
"""As long as the subjects of Cognito and most other issuers."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What DynamoDB is asked for one claim: to make it durable, and to settle it."""

    claim_write_units: float
    settle_write_units: float
    settle_read_units: float


@dataclass(frozen=True, slots=True)
class Deployment:
    """What the template says about the functions and their logs."""

    architecture: str
    grab_gb: float
    payout_gb: float
    records_gb: float
    batch_size: int
    log_bytes_per_request: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the functions take, and how many claims a transaction settles."""

    grab_ms: float
    payout_ms: float
    record_ms: float
    claims_per_transaction: float


Bill = dict[str, float]
"""USD by service."""


def main() -> None:
    """Print what grabs cost; the last line is JSON."""
    book = tomllib.loads(PRICES.read_text(encoding="utf-8"))
    deployment = deployment_of(template())
    flow = _measured_flow()
    pace = pace_of(flow, book["assumed"])
    crowd = book["crowd"]
    claims = count_claims(indexes_of(template()), pace.claims_per_transaction)

    grabs = grabs_bill(book, deployment, pace, claims, crowd["winners_share"])
    poll = total(poll_bill(book, deployment, pace))
    per_million = total(grabs)
    asked = crowd["polls_per_grab"]
    with_polls = per_million + asked * poll
    with_cached = per_million + asked * (1 - crowd["polls_cached_share"]) * poll
    campaign = campaign_usd(book, deployment, pace)

    whence = "the median of bench-flow, gateway and emulator included" if flow else "assumed"
    print(f"List prices of {book['region']}, {book['as_of']}.")
    print(f"A grab takes {pace.grab_ms:g} ms ({whence}).")
    print(
        f"A claim costs {claims.claim_write_units:g} write units, and {claims.settle_write_units:g}"
        f" to settle; a request writes {deployment.log_bytes_per_request} bytes of logs."
    )
    print(f"\nUSD per million grabs, {crowd['winners_share']:.0%} of them winners")
    for service, usd in grabs.items():
        print(f"  {service:10} {usd:7.3f}")
    print(f"  {'together':10} {per_million:7.3f}")
    for share in (0.01, 0.05, 0.1, 0.5):
        usd = total(grabs_bill(book, deployment, pace, claims, share))
        print(f"  with {share:4.0%} winners {usd:7.3f}")
    quiet = replace(deployment, log_bytes_per_request=log_bytes(access_format(template()), "WARN"))
    without = total(grabs_bill(book, quiet, pace, claims, crowd["winners_share"]))
    print(f"  without Lambda's own log lines (SystemLogLevel: WARN) {without:7.3f}")
    print(f"\nWith {asked} polls of the record page per grab    {with_polls:7.3f}")
    print(f"with {crowd['polls_cached_share']:.0%} of them answered by a cache {with_cached:7.3f}")
    print("  (without what the cache itself costs)")
    rain = book["campaign"]
    print(f"\nA rain of {rain['users']:,} users, {rain['shares']:,} shares    {campaign:9.2f}")
    answer = {
        "usd_per_million_grabs": round(per_million, 3),
        "by_service": {service: round(usd, 3) for service, usd in grabs.items()},
        "usd_per_million_grabs_with_polls": round(with_polls, 3),
        "usd_per_million_grabs_with_cached_polls": round(with_cached, 3),
        "usd_per_campaign": round(campaign, 2),
    }
    print(json.dumps(answer))


def total(bill: Bill) -> float:
    """Add up a bill."""
    return sum(bill.values())


def grabs_bill(
    book: Mapping[str, Any],
    deployment: Deployment,
    pace: Pace,
    claims: Claims,
    winners_share: float,
) -> Bill:
    """Return the price of a million grabs, settling included."""
    usd, payouts = book["usd"], winners_share / deployment.batch_size
    log_bytes = deployment.log_bytes_per_request
    gb_s = deployment.grab_gb * pace.grab_ms / 1000
    gb_s += payouts * deployment.payout_gb * pace.payout_ms / 1000
    write_units = winners_share * (claims.claim_write_units + claims.settle_write_units)
    # One request sends a claim; receiving and deleting are shared.
    queue_requests = winners_share * (1 + 2 / MESSAGES_PER_RECEIVE)
    return {
        "http_api": usd["http_api_per_million_requests"],
        "lambda": (1 + payouts) * usd["lambda_per_million_requests"]
        + MILLION * gb_s * usd[f"lambda_{deployment.architecture}_per_gb_s"],
        "logs": MILLION * log_bytes / 1e9 * usd["logs_per_gb"],
        "dynamodb": write_units * usd["dynamodb_per_million_write_units"]
        + winners_share * claims.settle_read_units * usd["dynamodb_per_million_read_units"],
        "sqs": queue_requests * usd["sqs_per_million_requests"],
        # Everybody reads once; a winner's script costs as much as some simple commands.
        "cache": (1 + winners_share * book["assumed"]["script_units"])
        * usd["cache_per_million_units"],
    }


def poll_bill(book: Mapping[str, Any], deployment: Deployment, pace: Pace) -> Bill:
    """Return the price of a million polls of the record page."""
    usd = book["usd"]
    gb_s = deployment.records_gb * pace.record_ms / 1000
    return {
        "http_api": usd["http_api_per_million_requests"],
        "lambda": usd["lambda_per_million_requests"]
        + MILLION * gb_s * usd[f"lambda_{deployment.architecture}_per_gb_s"],
        "logs": MILLION * deployment.log_bytes_per_request / 1e9 * usd["logs_per_gb"],
        "dynamodb": record_read_units(book["crowd"]["shares_per_packet"])
        * usd["dynamodb_per_million_read_units"],
    }


def usd_of(grabs: int, claims: int) -> float:
    """Return the price of so many grabs, by the prices and the template as they are."""
    book = tomllib.loads(PRICES.read_text(encoding="utf-8"))
    pace = pace_of(_measured_flow(), book["assumed"])
    counted = count_claims(indexes_of(template()), pace.claims_per_transaction)
    bill = grabs_bill(book, deployment_of(template()), pace, counted, claims / grabs)
    return grabs * total(bill) / MILLION


def campaign_usd(book: Mapping[str, Any], deployment: Deployment, pace: Pace) -> float:
    """Return the price of a packet rain, where every claim counts against a quota, too."""
    rain = book["campaign"]
    grabs = rain["users"] * rain["grabs_per_user"]
    claims = count_claims(indexes_of(template()), pace.claims_per_transaction, has_quota=True)
    grabbing = total(grabs_bill(book, deployment, pace, claims, rain["shares"] / grabs))
    polling = total(poll_bill(book, deployment, pace))
    polls = rain["users"] * rain["polls_per_user"]
    return float(grabs * grabbing + polls * polling) / MILLION


# What the code does.


class _Recorder(Dynamo):
    """Takes transactions down instead of sending them."""

    def __init__(self) -> None:
        super().__init__(connect=lambda: None)
        self.operations: list[Operation] = []

    def transact(self, operations: Sequence[Operation]) -> None:
        self.operations += operations


def count_claims(
    indexes: Mapping[str, Sequence[str]], claims_per_transaction: float, *, has_quota: bool = False
) -> Claims:
    """Count what DynamoDB is asked, by having the adapters ask a recorder.

    What one transaction does once (the escrow, the reads of packet and escrow) is shared by its
    claims.
    """
    quota = Quota("rain", 9) if has_quota else None
    claim = count_operations(1, quota)[0]
    # Of two claims only the escrow's row is shared.
    alone, pair = (units(count_operations(size, None)[1], indexes) for size in (1, 2))
    each = pair - alone
    shared = alone - each
    return Claims(
        claim_write_units=units(claim, indexes),
        settle_write_units=each + shared / claims_per_transaction,
        # The fate is read by itself; packet and escrow once for all.
        settle_read_units=1 + 2 / claims_per_transaction,
    )


def count_operations(size: int, quota: Quota | None) -> tuple[list[Operation], list[Operation]]:
    """Return the operations that claim *size* shares of one packet, and that settle them."""
    packet = a_packet(total_fen=100 * CLAIMS_PER_TRANSACTION, count=CLAIMS_PER_TRANSACTION)
    shares = [a_claim(packet, number, USER_ID.format(number)) for number in range(1, size + 1)]
    claiming, settling = _Recorder(), _Recorder()
    packets = DynamoPackets(claiming, "packets", "quotas")
    for share in shares:
        packets.record_claim(share, quota)
    settlements = [(share, _settlement(share)) for share in shares]
    DynamoLedger(settling, "accounts", "packets").settle(settlements, NOW_MS)
    return claiming.operations, settling.operations


def units(operations: Iterable[Operation], indexes: Mapping[str, Sequence[str]]) -> float:
    """Return the write units of a transaction, with those of the *indexes* that it touches."""
    return sum(_operation_units(operation, indexes) for operation in operations)


def on_table(table: str, operations: Iterable[Operation]) -> list[Operation]:
    """Return those of the *operations* that write to a table."""
    return [
        operation
        for operation in operations
        if any(arguments["TableName"] == table for arguments in operation.values())
    ]


def in_partition(start: str, operations: Iterable[Operation]) -> list[Operation]:
    """Return those of the *operations* whose partition key begins so."""
    return [operation for operation in operations if _partition(operation).startswith(start)]


def _partition(operation: Operation) -> str:
    ((_, arguments),) = operation.items()
    key = arguments.get("Item") or arguments["Key"]
    return str(key["pk"]["S"])


def _operation_units(operation: Operation, indexes: Mapping[str, Sequence[str]]) -> int:
    ((verb, arguments),) = operation.items()
    if verb == "Put":
        item = arguments["Item"]
        size = sum(len(name) + _value_bytes(value) for name, value in item.items())
        row = TRANSACTIONAL * -(-size // WRITE_UNIT_BYTES)
        return row + sum(all(name in item for name in names) for names in indexes.values())
    # No row that is changed comes near 1 KB. An index forgets a row by one write, and moves it by
    # two.
    kept, _, removed = arguments.get("UpdateExpression", "").partition("REMOVE")
    moves = sum(_names_any(kept, names) for names in indexes.values())
    leaves = sum(_names_any(removed, names) for names in indexes.values())
    return TRANSACTIONAL + 2 * moves + leaves


def _names_any(expression: str, names: Sequence[str]) -> bool:
    return any(re.search(rf"\b{name}\b", expression) for name in names)


def _value_bytes(value: Mapping[str, Any]) -> int:
    ((letter, content),) = value.items()
    # A number takes about a byte for two digits, and never more than its text.
    return 1 if letter == "BOOL" else len(str(content).encode())


def record_read_units(share_count: int) -> float:
    """Return the read units of a record page of *share_count* claims."""
    packet = a_packet(count=max(10, share_count))
    fates = (
        a_claim(packet, number, USER_ID.format(number)) for number in range(1, share_count + 1)
    )
    size = sum(_row_bytes(items.share_row(fate)) for fate in fates)
    profile_units = 0.5  # read weakly, one row a taker
    return 1 + -(-size // READ_UNIT_BYTES) + profile_units * share_count


def _row_bytes(row: Row) -> int:
    return sum(len(name) + len(str(value).encode()) for name, value in row.items())


def _settlement(share: ShareFate) -> Transfer:
    assert share.taker is not None
    return Transfer(
        transfer_id=f"settle:{share.packet_id}:{share.share_no}",
        kind=TransferKind.SETTLE,
        debit=escrow_account(share.packet_id),
        credit=user_account(share.taker.user_id),
        amount_fen=share.amount_fen,
        at_ms=NOW_MS,
    )


# What the template says.


class _Loader(yaml.SafeLoader):
    """Reads CloudFormation's short forms as the values under them."""


def _plain(loader: yaml.SafeLoader, _tag: str, node: yaml.Node) -> object:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    assert isinstance(node, yaml.ScalarNode)
    return loader.construct_scalar(node)


_Loader.add_multi_constructor("!", _plain)


def template() -> dict[str, Any]:
    """Read template.yaml."""
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")
    loaded: dict[str, Any] = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    return loaded


def deployment_of(template: Mapping[str, Any]) -> Deployment:
    """Read what the template says about cost."""
    common = template["Globals"]["Function"]
    resources = template["Resources"]

    def gigabytes(name: str) -> float:
        own = resources[name]["Properties"].get("MemorySize", common["MemorySize"])
        return int(own) / 1024

    payouts = resources["PayoutFunction"]["Properties"]["Events"]["Claims"]["Properties"]
    logging = resources["GrabFunction"]["Properties"]["LoggingConfig"]
    return Deployment(
        architecture=template["Parameters"]["Architecture"]["Default"],
        grab_gb=gigabytes("GrabFunction"),
        payout_gb=gigabytes("PayoutFunction"),
        records_gb=gigabytes("RecordsFunction"),
        batch_size=payouts["BatchSize"],
        log_bytes_per_request=log_bytes(
            access_format(template), logging.get("SystemLogLevel", "INFO")
        ),
    )


def access_format(template: Mapping[str, Any]) -> str:
    """Return the line that the API logs of each request."""
    stage = template["Resources"]["ApiStage"]["Properties"]
    return str(stage["AccessLogSettings"]["Format"])


def log_bytes(access: str, system_level: str) -> int:
    """Return the bytes that a request leaves in logs; a grab that goes well says nothing."""
    for name, value in ACCESS_VALUES.items():
        access = access.replace(name, value)
    lines = [access, *(PLATFORM_LINES if system_level in {"DEBUG", "INFO"} else ())]
    return sum(len(line.encode()) + LOG_EVENT_BYTES for line in lines)


def indexes_of(template: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the key attributes of each index of PacketsTable."""
    found = template["Resources"]["PacketsTable"]["Properties"]["GlobalSecondaryIndexes"]
    return {
        index["IndexName"]: [key["AttributeName"] for key in index["KeySchema"]] for index in found
    }


# What was measured.


def pace_of(flow: Mapping[str, float], assumed: Mapping[str, float]) -> Pace:
    """Take what bench-flow measured; its times are whole requests', so none is too short."""
    transactions = flow.get("transactions_per_claim") or 1 / CLAIMS_PER_TRANSACTION
    return Pace(
        grab_ms=flow.get("p50_ms") or assumed["grab_ms"],
        payout_ms=assumed["payout_ms"],
        record_ms=assumed["record_ms"],
        claims_per_transaction=1 / transactions,
    )


def _measured_flow() -> dict[str, float]:
    if not FIGURES.exists():
        return {}
    benches: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    figures: dict[str, float] = benches.get("flow", {}).get("figures", {})
    return figures


if __name__ == "__main__":
    main()
