"""What a million grabs cost on AWS: list prices times what code, template and bench-flow say.

make cost

Write units are counted in the operations that the adapters really make, bytes of logs in the lines
that the template asks for. The prices and the crowd are in bench/prices.toml.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bench.counts import Claims, count_claims, record_read_units
from bench.deployment import (
    Deployment,
    deployment_of,
    indexes_of,
    template,
)
from local.places import ROOT
from redpacket.flows.settle_claims import CLAIMS_PER_TRANSACTION

PRICES = ROOT / "bench" / "prices.toml"
FIGURES = ROOT / "docs" / "performance.json"

MILLION = 1_000_000
MESSAGES_PER_RECEIVE = 10
"""Lambda's poller receives and deletes ten messages in one request, where there are as many."""


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

    is_measured = pace.grab_ms < book["assumed"]["grab_ms"]
    whence = "the median of bench-flow, which has more in it" if is_measured else "assumed"
    print(f"List prices of {book['region']}, {book['as_of']}.")
    print(f"A grab takes {pace.grab_ms:g} ms ({whence}).")
    print(
        f"A claim costs {claims.claim_write_units:g} write units, and {claims.settle_write_units:g}"
        f" to settle; a request writes {deployment.grab_log_bytes} bytes of logs."
    )
    print(f"\nUSD per million grabs, {crowd['winners_share']:.0%} of them winners")
    for service, usd in grabs.items():
        print(f"  {service:10} {usd:7.3f}")
    print(f"  {'together':10} {per_million:7.3f}")
    for share in (0.01, 0.05, 0.1, 0.5):
        usd = total(grabs_bill(book, deployment, pace, claims, share))
        print(f"  with {share:4.0%} winners {usd:7.3f}")
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
    gb_s = deployment.grab_gb * pace.grab_ms / 1000
    gb_s += payouts * deployment.payout_gb * pace.payout_ms / 1000
    write_units = winners_share * (claims.claim_write_units + claims.settle_write_units)
    # One request sends a claim; receiving and deleting are shared.
    queue_requests = winners_share * (1 + 2 / MESSAGES_PER_RECEIVE)
    return {
        "http_api": usd["http_api_per_million_requests"],
        "lambda": (1 + payouts) * usd["lambda_per_million_requests"]
        + MILLION * gb_s * usd[f"lambda_{deployment.architecture}_per_gb_s"],
        "logs": MILLION * deployment.grab_log_bytes / 1e9 * usd["logs_per_gb"],
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
        "logs": MILLION * deployment.record_log_bytes / 1e9 * usd["logs_per_gb"],
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


def pace_of(flow: Mapping[str, float], assumed: Mapping[str, float]) -> Pace:
    """Take what bench-flow measured, where that says more than what is assumed.

    A grab there shares a machine with the gateway, the emulator and other callers, so its median is
    only a bound from above.
    """
    transactions = flow.get("transactions_per_claim") or 1 / CLAIMS_PER_TRANSACTION
    return Pace(
        grab_ms=min(flow.get("p50_ms") or assumed["grab_ms"], assumed["grab_ms"]),
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
