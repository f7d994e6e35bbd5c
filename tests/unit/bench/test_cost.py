"""Computation of `make cost`: the adapters supply the counts, and the sums are correct."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from bench import cost, counts, deployment
from bench.counts import Claims
from bench.deployment import Deployment, Standing
from bench.report import BENCHES
from local.places import ROOT
from local.template import read_template
from redpacket.ledger.provider_name import ProviderName
from redpacket.platform.dynamodb.client import Dynamo, Operation, check, create, put, update
from testing.fakes import FakeDynamo
from testing.platform.fake_tables import TABLE_NAMES
from testing.platform.units import MeteredDynamo

INDEXES = deployment.indexes_of(read_template())
BOOK: dict[str, Any] = tomllib.loads(cost.PRICES.read_text(encoding="utf-8"))
DEPLOYMENT = Deployment(
    "arm64", 1.0, 0.5, 0.5, batch_size=20, grab_log_bytes=500, record_log_bytes=500
)
CLAIMS = Claims(claim_write_units=6, settle_write_units=9, settle_read_units=1)
WORK = {"table": {"by_work": ["work_pk", "work_at_ms"]}}


def _meter(indexes: Mapping[str, Any] = WORK) -> tuple[MeteredDynamo, Dynamo]:
    meter = MeteredDynamo(FakeDynamo(), indexes=indexes)
    return meter, Dynamo(lambda: meter, TABLE_NAMES)


def _written(*operations: Operation) -> float:
    """Run each operation as one transaction. Return the write units of the last one."""
    meter, dynamo = _meter()
    for operation in operations:
        meter.forget()
        dynamo.transact([operation])
    return meter.written.total()


def test_a_claim_costs_five_write_units_and_seven_to_settle() -> None:
    claims = counts.count_claims(INDEXES)

    # In a transaction, the share's outcome and the claimer's row cost two units each; an index
    # costs one.
    assert claims.claim_write_units == 2 * 2 + 1
    # The outcome, the claimer's balance and the entry cost two each; leaving the index costs one.
    assert claims.settle_write_units == 3 * 2 + 1


def test_a_claim_stays_within_its_total_target() -> None:
    small, large = counts.count_claims(INDEXES, 10), counts.count_claims(INDEXES, 300)

    assert small.write_units(10) <= 13
    # The two units pay for updating the counts of the sender and the luckiest claimer.
    assert small.notice_write_units == large.notice_write_units == 2
    assert large.write_units(300) == pytest.approx(12, abs=0.2)


def test_a_receipt_costs_two_write_units() -> None:
    without, with_receipts = (
        counts.count_claims(INDEXES, has_receipts=has_receipts) for has_receipts in (False, True)
    )

    assert with_receipts.write_units(10) - without.write_units(10) == pytest.approx(2)


def test_a_quota_costs_two_write_units_more() -> None:
    assert counts.count_claims(INDEXES, has_quota=True).claim_write_units == 7


def test_no_row_is_shared_by_the_claims_of_a_packet() -> None:
    # The exception is a large packet's sums, which are written once per hundred claims.
    assert counts.hot_row_units(INDEXES) <= 0.02


def test_an_index_costs_as_much_as_the_change_of_its_row() -> None:
    key = {"pk": "a", "sk": "b"}
    inside = put("table", {**key, "work_pk": "due#1", "work_at_ms": 5})
    leaving = update("table", key, "SET settled = :yes REMOVE work_pk, work_at_ms", yes=True)
    moving = update("table", key, "SET work_pk = :due", due="due#2")
    created = create("table", {**key, "work_pk": "due#1", "work_at_ms": 5})

    assert _written(put("table", key)) == 2
    assert _written(inside) == _written(created) == 3
    assert _written(inside, leaving) == 3
    assert _written(inside, moving) == 4
    assert _written(inside, check("table", key, "work_pk = :due", due="due#1")) == 2


def test_a_row_over_one_kilobyte_costs_another_unit_twice() -> None:
    assert _written(put("table", {"pk": "x" * 1_100, "sk": "y"})) == 4


def test_a_write_outside_a_transaction_costs_one_unit() -> None:
    meter, dynamo = _meter()

    dynamo.write(put("table", {"pk": "a", "sk": "b"}))

    assert meter.written["table"] == 1


def test_a_bill_equals_a_sum_made_by_hand() -> None:
    usd = {
        "http_api_per_million_requests": 1.0,
        "lambda_per_million_requests": 0.2,
        "lambda_arm64_per_gb_s": 0.00001,
        "logs_per_gb": 0.5,
        "dynamodb_per_million_write_units": 0.6,
        "dynamodb_per_million_read_units": 0.1,
        "sqs_per_million_requests": 0.4,
        "cache_per_million_units": 0.002,
    }
    book = {
        "usd": usd,
        "assumed": {"script_units": 5, "grab_ms": 10, "payout_ms": 100},
        "crowd": {"shares_per_packet": 10},
    }

    statement = cost.grabs_bill(book, DEPLOYMENT, CLAIMS, 0.1)

    assert statement == pytest.approx({
        "http_api": 1.0,
        # A grab takes 1 GB for 10 ms; a tenth win. Every 20 claims take 0.5 GB for 100 ms.
        "lambda": 0.2 * 1.005 + 0.1 + 0.0025,
        "logs": 0.25,
        "dynamodb": 0.1 * 15 * 0.6 + 0.1 * 0.1,
        "sqs": 0.1 * 1.2 * 0.4,
        "cache": 1.5 * 0.002,
    })  # fmt: skip


def test_losers_cost_neither_dynamodb_nor_sqs() -> None:
    statement = cost.grabs_bill(BOOK, DEPLOYMENT, CLAIMS, 0)

    assert statement["dynamodb"] == statement["sqs"] == 0


def test_logs_are_the_lines_that_the_template_enables() -> None:
    platform = sum(len(line) + deployment.LOG_EVENT_BYTES for line in deployment.PLATFORM_LINES)
    for line in deployment.PLATFORM_LINES:
        assert json.loads(line)["type"].startswith("platform.")

    assert deployment.log_bytes("$context.status", "WARN") == 3 + deployment.LOG_EVENT_BYTES
    assert (
        deployment.log_bytes("$context.status", "INFO") == 3 + deployment.LOG_EVENT_BYTES + platform
    )


def test_every_name_of_the_access_log_has_a_value() -> None:
    access = deployment.access_format(read_template())

    for name in deployment.ACCESS_VALUES:
        assert name in access
        access = access.replace(name, "")
    assert "$" not in access


def test_function_sizes_come_from_the_template() -> None:
    deployed = deployment.deployment_of(read_template())

    assert (deployed.architecture, deployed.grab_gb, deployed.payout_gb) == ("arm64", 1.0, 0.5)
    assert deployed.batch_size == 100


PAGED = ("lambda", "cache", "kms", "cognito", "dynamodb")
"""Services with several prices, each service's on one price page."""


def test_every_price_has_a_page() -> None:
    services = {name.split("_per_")[0] for name in BOOK["usd"]}
    services = {
        next((word for word in PAGED if name.startswith(f"{word}_")), name) for name in services
    }

    assert services == set(BOOK["pages"])


def test_a_rain_costs_its_grabs_its_claims_and_its_polls() -> None:
    rain = {"users": 1_000, "grabs_per_user": 2, "shares": 100, "polls_per_user": 0}
    once = cost.campaign_usd({**BOOK, "campaign": rain}, DEPLOYMENT)
    claims = counts.count_claims(INDEXES, has_quota=True)
    grabs = cost.grabs_bill(BOOK, DEPLOYMENT, claims, 0.05)
    polled = cost.campaign_usd({**BOOK, "campaign": {**rain, "polls_per_user": 5}}, DEPLOYMENT)

    assert once == pytest.approx(2_000 / 1e6 * cost.total(grabs))
    poll = cost.total(cost.feed_bill(BOOK, DEPLOYMENT))
    assert polled - once == pytest.approx(5_000 / 1e6 * poll)


def test_every_target_is_reached() -> None:
    answer = cost.measure()

    assert sum(answer["by_service"].values()) == pytest.approx(
        answer["usd_per_million_grabs"], abs=0.005
    )
    alone, page, feed, direct = (
        answer[key]
        for key in (
            "usd_per_million_grabs",
            "usd_with_page_polls",
            "usd_with_10_polls",
            "usd_per_million_grabs_with_polls",
        )
    )
    assert alone < page < feed < direct
    # Costs of version 0.1.0.
    assert direct < 27.44
    figures = BENCHES["cost"].figures
    assert [each.key for each in figures if each.is_reached(answer[each.key]) is False] == []
    assert sum(bool(each.target) for each in figures) == 5


def test_the_edge_calls_the_api_once_a_second() -> None:
    crowd = {**BOOK["crowd"], "winners_share": 0.1, "shares_per_packet": 10}
    few = {**BOOK, "crowd": {**crowd, "edges_per_packet": 1, "poll_every_s": 5}}
    many = {**BOOK, "crowd": {**crowd, "edges_per_packet": 50, "poll_every_s": 5}}

    # 100 people who poll a packet every 5 seconds make 20 polls a second.
    assert cost.feed_bill(few, DEPLOYMENT)["http_api"] == pytest.approx(1 / 20)
    assert cost.feed_bill(many, DEPLOYMENT)["http_api"] == 1


def test_an_idle_stack_costs_its_fixed_resources() -> None:
    dev, prod = (
        deployment.standing_of(read_template(), is_prod=is_prod) for is_prod in (False, True)
    )

    assert (dev.cache_nodes, prod.cache_nodes) == (1, 2)
    assert (dev.endpoint_zones, prod.endpoint_zones) == (1, 2)
    statement = cost.idle_bill(BOOK, replace(dev, sweeps=0))
    assert statement["endpoints"] == pytest.approx(730 * 0.01)
    assert statement["logs"] == 0
    # Fixed costs of the operators' client and dashboard, and of the public log's signing key.
    assert (statement["client"], statement["dashboard"]) == (6, 3)
    assert statement["kms"] > 1
    more = cost.total(cost.idle_bill(BOOK, prod)) - cost.total(cost.idle_bill(BOOK, dev))
    alarms = (prod.alarms - dev.alarms) * BOOK["usd"]["alarms_per_month"]
    assert prod.alarms > dev.alarms > 10
    node, zone = BOOK["usd"]["cache_small_per_hour"], BOOK["usd"]["privatelink_per_hour"]
    assert more == pytest.approx(730 * (node + zone) + alarms)
    assert isinstance(dev, Standing)


def test_gateways_cost_an_endpoint_and_two_schedules() -> None:
    standing = deployment.standing_of(read_template(), is_prod=False)

    statement = cost.payments_bill(BOOK, standing)

    # The pollers read the queues of payouts, notices and deliveries. Reading streams is free.
    assert standing.queue_pollers == 15
    assert statement["endpoint"] == pytest.approx(730 * 0.01)
    # The payment alarms exist even without a notification topic; each is billed for one metric.
    assert statement["alarms"] == pytest.approx(0.8)
    assert statement["lambda"] == pytest.approx(
        2 * 43_800 * 0.2e-6 + 43_800 * 3.3 * standing.transfer_gb * 0.0000133334
    )
    # Polling a provider reads eight partitions at half a unit each, the breaker and the switch.
    polled, swept = len(ProviderName) * 6 * (4 + 2), len(ProviderName) * 4 * 4 + 16
    assert statement["dynamodb"] == pytest.approx(43_800 * (polled + swept) / 1e6 * 0.125)


def test_a_poll_pays_for_its_lambda_log_lines() -> None:
    deployed = deployment.deployment_of(read_template())

    for name in ("Grab", "Records", "Lottery", "Profile", "Campaign"):
        logging = read_template()["Resources"][f"{name}Function"]["Properties"]["LoggingConfig"]
        assert logging["SystemLogLevel"] == "WARN", name
    assert deployed.grab_log_bytes == deployment.log_bytes(
        deployment.access_format(read_template()), "WARN"
    )
    assert deployed.record_log_bytes == deployed.grab_log_bytes


_DECIMAL = re.compile(r"\d+\.\d+")
SAID = {
    "a million grabs, 10% of them winners": "usd_per_million_grabs",
    "the same with receipts": "usd_with_receipts",
    "with 10 polls of the record page per grab": "usd_per_million_grabs_with_polls",
    "with the page's 4 polls per grab": "usd_with_page_polls",
    "a month of an idle stack, dev": "idle_usd_per_month",
    "a month of an idle stack, prod": "idle_usd_per_month_prod",
    "added by both payment providers": "idle_usd_per_month_of_payments",
}


def test_the_documents_state_the_computed_costs() -> None:
    answer = cost.measure()
    costs = (ROOT / "docs" / "costs.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")] for line in costs.splitlines() if line]
    now = {row[1]: row[2] for row in rows if len(row) == 5}

    assert {says: float(now[says]) for says in SAID} == pytest.approx(
        {says: answer[key] for says, key in SAID.items()}, rel=0.004
    )
    page = (ROOT / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")
    dev, prod, grabs = (now[says] for says in list(SAID)[4:6] + list(SAID)[:1])
    words = f"An idle stack costs about {dev} USD a month, prod {prod}; grabs cost about {grabs} a"
    assert words in " ".join(page.split())
    overview, chinese = (
        (ROOT / "docs" / folder / "overview.md").read_text(encoding="utf-8")
        for folder in ("", "zh")
    )
    assert sum(f"| {says} | {now[says]} |" in overview for says in SAID) == len(SAID) - 2
    assert sorted(_DECIMAL.findall(chinese)) == sorted(_DECIMAL.findall(overview))
    options = cost.options_bill(BOOK)
    told = [row[2].replace(",", "") for row in rows if len(row) == 5]
    for says, price in options.items():
        assert f"{round(price, 2):g}" in told, says
