"""Cost of a million grabs on AWS: list prices times quantities from the code and the template.

DynamoDB units are counted while the real use cases run (bench/counts.py); receipts are counted only
for `usd_with_receipts`. Log bytes are those of the lines that the template enables. Prices and the
numbers of users are in bench/prices.toml.
"""

import tomllib
from collections.abc import Mapping
from typing import Any

from bench.counts import Claims, count_claims, record_reads
from bench.deployment import Deployment, Standing, deployment_of, indexes_of, standing_of
from local.places import ROOT
from local.template import read_template
from redpacket.ledger.dynamodb.keys import WORK_SHARDS
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.dynamodb.items import SHARDS
from redpacket.payments.use_cases.dispatch import IDLE_MS, POLL_MS
from redpacket.reconciliation.use_cases.statements import Run, checks, file_columns, images, rows

PRICES = ROOT / "bench" / "prices.toml"

MILLION = 1_000_000
MESSAGES_PER_RECEIVE = 10
"""Maximum number of messages that Lambda's poller receives or deletes in one request."""

NIGHTS = 30
QUERY_GB = 0.01
"""Minimum GB that Athena charges for a query."""

HOURS = 730
MINUTES = 60 * HOURS
"""Minutes in a month."""

WORK_LISTS = 3
PAYMENT_LISTS = 4
"""Work lists that a sweep reads per provider: payments, returns, started withdrawals, consents."""
POLL_S = 20
"""Seconds between two of Lambda's polls of an empty queue."""
KEY_KEPT_S = 300
"""Seconds between two requests from DynamoDB to KMS for a table's key."""
SWEEP_LOG_BYTES = 900
"""Bytes that a sweep logs: Lambda's own lines and the summary line."""


Bill = dict[str, float]
"""USD, keyed by service."""


def measure() -> dict[str, Any]:
    """Print the bills, and return the figures of this bench."""
    book, template = tomllib.loads(PRICES.read_text(encoding="utf-8")), read_template()
    deployment = deployment_of(template)
    crowd = book["crowd"]
    claims, with_receipts = (
        count_claims(indexes_of(template), crowd["shares_per_packet"], has_receipts=has_receipts)
        for has_receipts in (False, True)
    )
    grabs = grabs_bill(book, deployment, claims, crowd["winners_share"])
    receipts = grabs_bill(book, deployment, with_receipts, crowd["winners_share"])
    feed, direct = feed_bill(book, deployment), poll_bill(book, deployment)
    idle, idle_prod = (
        idle_bill(book, standing_of(template, is_prod=is_prod)) for is_prod in (False, True)
    )
    payments = payments_bill(book, standing_of(template, is_prod=True))
    print(f"List prices of {book['region']}, {book['as_of']}.")
    for says, costs in (
        (f"USD per million grabs, {crowd['winners_share']:.0%} of them winners", grabs),
        ("USD per million polls of the feed, which an edge answers", feed),
        ("USD per million polls of the record page", direct),
        ("USD a month of an idle stack, dev", idle),
        ("USD a month of an idle stack, prod", idle_prod),
        ("Additional USD a month of both payment providers, idle", payments),
    ):
        print(f"\n{says}")
        for service, usd in {**costs, "together": total(costs)}.items():
            print(f"  {service:12} {usd:7.3f}")
    print("\nAdditional USD a month, by option or growth")
    for says, price in options_bill(book).items():
        print(f"  {says:28} {price:9.2f}")
    print()
    alone, polls = total(grabs), crowd["polls_per_grab"]
    answer = {
        "usd_per_million_grabs": alone,
        "usd_with_10_polls": alone + polls * total(feed),
        "usd_with_page_polls": alone + crowd["page_polls_per_grab"] * total(feed),
        "usd_per_million_grabs_with_polls": alone + polls * total(direct),
        "usd_per_million_grabs_with_cached_polls": alone + polls * total(feed),
        "usd_with_receipts": total(receipts),
        "usd_per_million_feed_polls": total(feed),
        "usd_per_campaign": campaign_usd(book, deployment),
        "write_units_per_claim": claims.write_units(crowd["shares_per_packet"]),
        "idle_usd_per_month": total(idle),
        "idle_usd_per_month_prod": total(idle_prod),
        "idle_usd_per_month_of_payments": total(payments),
    }
    by_service = {service: round(usd, 3) for service, usd in grabs.items()}
    return {**{key: round(usd, 3) for key, usd in answer.items()}, "by_service": by_service}


def total(costs: Bill) -> float:
    """Add up a bill."""
    return sum(costs.values())


def grabs_bill(
    book: Mapping[str, Any], deployment: Deployment, claims: Claims, winners_share: float
) -> Bill:
    """Return the price of a million grabs, with settlement and the notices about ended packets."""
    usd, payouts = book["usd"], winners_share / deployment.batch_size
    gb_s = deployment.grab_gb * book["assumed"]["grab_ms"] / 1000
    gb_s += payouts * deployment.payout_gb * book["assumed"]["payout_ms"] / 1000
    shares_per_packet = book["crowd"]["shares_per_packet"]
    told = claims.notice_write_units / shares_per_packet
    write_units = winners_share * (claims.write_units(shares_per_packet) + told)
    read_units = winners_share * claims.read_units(shares_per_packet)
    # Each claim needs one send request. Claims share receive and delete requests.
    queue_requests = winners_share * (1 + 2 / MESSAGES_PER_RECEIVE)
    return {
        "http_api": usd["http_api_per_million_requests"],
        "lambda": (1 + payouts) * usd["lambda_per_million_requests"]
        + MILLION * gb_s * usd[f"lambda_{deployment.architecture}_per_gb_s"],
        "logs": MILLION * deployment.grab_log_bytes / 1e9 * usd["logs_per_gb"],
        "dynamodb": write_units * usd["dynamodb_per_million_write_units"]
        + read_units * usd["dynamodb_per_million_read_units"],
        "sqs": queue_requests * usd["sqs_per_million_requests"],
        # Every user reads once. A winner's script costs as much as several simple commands.
        "cache": (1 + winners_share * book["assumed"]["script_units"])
        * usd["cache_per_million_units"],
    }


def poll_bill(book: Mapping[str, Any], deployment: Deployment) -> Bill:
    """Return the price of a million polls of the record page."""
    usd = book["usd"]
    gb_s = deployment.records_gb * book["assumed"]["record_ms"] / 1000
    return {
        "http_api": usd["http_api_per_million_requests"],
        "lambda": usd["lambda_per_million_requests"]
        + MILLION * gb_s * usd[f"lambda_{deployment.architecture}_per_gb_s"],
        "logs": MILLION * deployment.record_log_bytes / 1e9 * usd["logs_per_gb"],
        "dynamodb": _record_units(book) * usd["dynamodb_per_million_read_units"],
    }


def _record_units(book: Mapping[str, Any]) -> float:
    """Return the read units of a record page when half of the packet is claimed."""
    count = book["crowd"]["shares_per_packet"]
    return record_reads(indexes_of(read_template()), count, count // 2).together


def feed_bill(book: Mapping[str, Any], deployment: Deployment) -> Bill:
    """Return the price of a million polls of the feed, behind CloudFront."""
    usd, crowd, assumed = book["usd"], book["crowd"], book["assumed"]
    # Each edge location requests the feed once a second, regardless of the number of viewers.
    # A packet's viewers are the users that grab it.
    grabs_per_packet = crowd["shares_per_packet"] / crowd["winners_share"]
    fetches = min(1.0, crowd["edges_per_packet"] * crowd["poll_every_s"] / grabs_per_packet)
    fetched = poll_bill(book, deployment)
    fetched["dynamodb"] = assumed["feed_read_units"] * usd["dynamodb_per_million_read_units"]
    return {
        "cloudfront": usd["cloudfront_per_million_requests"],
        "transfer": MILLION * assumed["feed_bytes"] / 1e9 * usd["cloudfront_per_gb"],
        **{service: fetches * price for service, price in fetched.items()},
    }


def idle_bill(book: Mapping[str, Any], standing: Standing) -> Bill:
    """Return the monthly price of an idle stack."""
    usd, assumed = book["usd"], book["assumed"]
    sweeps = standing.sweeps * MINUTES
    gb_s = sweeps * standing.sweep_gb * assumed["sweep_ms"] / 1000
    gb_s += MINUTES * standing.minutely_gb * assumed["minute_ms"] / 1000
    read_units = WORK_LISTS * WORK_SHARDS / 2 * MINUTES
    received = standing.queue_pollers * HOURS * 3600 / POLL_S
    keys_asked = standing.encrypted_tables * HOURS * 3600 / KEY_KEPT_S
    return {
        "endpoints": standing.endpoint_zones * HOURS * usd["privatelink_per_hour"],
        "cache": standing.cache_nodes * HOURS * usd["cache_small_per_hour"],
        "alarms": standing.alarms * usd["alarms_per_month"],
        "dashboard": standing.dashboards * usd["dashboards_per_month"],
        "client": standing.clients * usd["cognito_clients_per_month"],
        "secrets": standing.secrets * usd["secrets_per_month"],
        "kms": keys_asked / MILLION * usd["kms_per_million_requests"]
        + standing.keys * usd["kms_keys_per_month"],
        "sweeps": (sweeps + 2 * MINUTES) / MILLION * usd["lambda_per_million_requests"]
        + gb_s * usd["lambda_arm64_per_gb_s"]
        + read_units / MILLION * usd["dynamodb_per_million_read_units"],
        "sqs": received / MILLION * usd["sqs_per_million_requests"],
        "logs": sweeps * SWEEP_LOG_BYTES / 1e9 * usd["logs_per_gb"],
    }


def payments_bill(book: Mapping[str, Any], standing: Standing) -> Bill:
    """Return the monthly price of both payment providers without traffic.

    A dispatch and a sweep run every minute. The dispatch polls the list of calls, the circuit
    breaker, and the switch until no call has arrived for a while.
    """
    usd, channels = book["usd"], len(ProviderName)
    polls = IDLE_MS / POLL_MS
    seconds = (IDLE_MS + book["assumed"]["sweep_ms"]) / 1000
    queries = channels * (polls * (len(SHARDS) / 2 + 2) + PAYMENT_LISTS * len(SHARDS) / 2)
    read_units = MINUTES * (queries + WORK_SHARDS / 2)
    return {
        "endpoint": standing.payment_zones * HOURS * usd["privatelink_per_hour"],
        "lambda": 2 * MINUTES / MILLION * usd["lambda_per_million_requests"]
        + MINUTES * seconds * standing.transfer_gb * usd["lambda_arm64_per_gb_s"],
        "dynamodb": read_units / MILLION * usd["dynamodb_per_million_read_units"],
        "secrets": channels * usd["secrets_per_month"],
        "alarms": standing.payment_alarms * usd["alarms_per_month"],
        "logs": 2 * MINUTES * SWEEP_LOG_BYTES / 1e9 * usd["logs_per_gb"],
    }


def options_bill(book: Mapping[str, Any]) -> Bill:
    """Return the additional monthly cost of each option, and the costs that grow with use."""
    usd, assumed = book["usd"], book["assumed"]
    signatures = HOURS * 3600 / assumed["signature_s"]
    nat = HOURS * (usd["nat_per_hour"] + usd["addresses_per_hour"])
    gb_month = usd["dynamodb_storage_per_gb_month"] + usd["dynamodb_backup_per_gb_month"]
    return {
        "fixed addresses": 2 * nat,
        "a risk control": nat,
        "another operator's client": usd["cognito_clients_per_month"],
        "a command each minute": HOURS * usd["cognito_per_thousand_tokens"] / 1000,
        "custom metrics in use": assumed["metrics_in_use"] * usd["metrics_per_month"],
        "sends at any time": signatures / MILLION * usd["kms_per_million_signatures"],
        "a run each night": NIGHTS * run_usd(book),
        "more for a million claims": NIGHTS / 7 * exported_usd(book),
        "a million claims kept": assumed["gb_per_million_claims"] * gb_month,
        "a million users of the pool": MILLION * usd["cognito_users_per_month"],
        "an hour of 1,000 warm grabs": 1_000 * 3600 * usd["lambda_warm_per_gb_s"],
    }


def run_usd(book: Mapping[str, Any]) -> float:
    """Return the cost of reconciling few rows: queries and state transitions."""
    usd, run = book["usd"], Run("00", 1_795_000_000_000, base="last")
    query_count = sum(len(each(run)) for each in (file_columns, images, rows, checks))
    states: float = book["assumed"]["reconcile_states"] * usd["states_per_million"] / MILLION
    return states + query_count * QUERY_GB * float(usd["athena_per_tb"]) / 1000


def exported_usd(book: Mapping[str, Any]) -> float:
    """Return the cost of one export of the rows of a million claims."""
    gb: float = book["assumed"]["gb_per_million_claims"]
    return gb * float(book["usd"]["dynamodb_export_per_gb"])


def usd_of(grabs: int, claims: int) -> float:
    """Return the price of *grabs* grabs, of which *claims* win, at the prices in PRICES."""
    book = tomllib.loads(PRICES.read_text(encoding="utf-8"))
    counted = count_claims(indexes_of(read_template()))
    costs = grabs_bill(book, deployment_of(read_template()), counted, claims / grabs)
    return grabs * total(costs) / MILLION


def campaign_usd(book: Mapping[str, Any], deployment: Deployment) -> float:
    """Return the price of a packet rain, whose claims also count against a quota."""
    rain = book["campaign"]
    grabs = rain["users"] * rain["grabs_per_user"]
    claims = count_claims(indexes_of(read_template()), has_quota=True)
    grabbing = total(grabs_bill(book, deployment, claims, rain["shares"] / grabs))
    polling = total(feed_bill(book, deployment))
    polls = rain["users"] * rain["polls_per_user"]
    return float(grabs * grabbing + polls * polling) / MILLION
