"""What `make cost` reckons: the counts are the adapters' own, the sums are right."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from typing import Any

import pytest

from bench import cost, counts, deployment
from bench.cost import Pace
from bench.counts import Claims
from bench.deployment import Deployment
from redpacket.adapters.dynamo import Operation, check, put, update
from redpacket.domain.claim import Quota

INDEXES = deployment.indexes_of(deployment.template())
BOOK: dict[str, Any] = tomllib.loads(cost.PRICES.read_text(encoding="utf-8"))
DEPLOYMENT = Deployment(
    "arm64", 1.0, 0.5, 0.5, batch_size=20, grab_log_bytes=500, record_log_bytes=500
)
PACE = Pace(grab_ms=10, payout_ms=100, record_ms=20, claims_per_transaction=20)
CLAIMS = Claims(claim_write_units=6, settle_write_units=9, settle_read_units=1)


def _verbs(operations: list[Operation]) -> list[str]:
    return [verb for operation in operations for verb in operation]


def test_a_claim_puts_its_fate_and_its_taker() -> None:
    claiming, _ = counts.count_operations(1, None)

    assert _verbs(claiming) == ["Put", "Put"]
    assert [operation["Put"]["TableName"] for operation in claiming] == ["packets", "packets"]


def test_a_claim_of_a_campaign_counts_against_the_quota_as_well() -> None:
    claiming, _ = counts.count_operations(1, Quota("rain", 3))

    assert _verbs(claiming) == ["Put", "Put", "Update"]


def test_a_transaction_settles_twenty_claims_and_touches_the_escrow_once() -> None:
    _, settling = counts.count_operations(20, None)

    # A share, a balance and two entries each, and the escrow's balance.
    assert len(settling) == 20 * 4 + 1 <= 100


def test_a_claim_costs_six_write_units_and_nine_to_settle() -> None:
    claims = counts.count_claims(INDEXES, 20)

    # Two rows, twice, with an index each; four rows, twice, one index, and a part of the escrow.
    assert claims.claim_write_units == 2 * 2 + 2
    assert claims.settle_write_units == pytest.approx(4 * 2 + 1 + 2 / 20)


def test_a_quota_costs_two_write_units_more() -> None:
    claims = counts.count_claims(INDEXES, 20, has_quota=True)

    assert claims.claim_write_units == 8


def test_settling_one_by_one_costs_the_escrow_each_time() -> None:
    assert counts.count_claims(INDEXES, 1).settle_write_units == 11


def test_an_index_costs_what_a_row_does_to_it() -> None:
    indexes = {"by_work": ["work_pk", "work_at_ms"]}
    key = {"pk": "a"}
    outside = put("table", key)
    inside = put("table", {**key, "work_pk": "due#1", "work_at_ms": 5})
    leaving = update("table", key, "SET settled = :yes REMOVE work_pk, work_at_ms", yes=True)
    moving = update("table", key, "SET work_pk = :due", due="due#2")
    checked = check("table", key, "settled = :yes", yes=True)

    each = [
        counts.units([operation], indexes)
        for operation in (outside, inside, leaving, moving, checked)
    ]

    assert each == [2, 3, 3, 4, 2]


def test_a_row_over_one_kilobyte_costs_another_unit_twice() -> None:
    assert counts.units([put("table", {"pk": "x" * 1_100})], {}) == 4


def test_a_bill_adds_up_by_hand() -> None:
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
    book = {"usd": usd, "assumed": {"script_units": 5}}

    bill = cost.grabs_bill(book, DEPLOYMENT, PACE, CLAIMS, 0.1)

    assert bill == pytest.approx({
        "http_api": 1.0,
        # 1 GB for 10 ms; a two-hundredth of a batch, of half a GB for 100 ms.
        "lambda": 0.2 * 1.005 + 0.1 + 0.0025,
        "logs": 0.25,
        "dynamodb": 0.1 * 15 * 0.6 + 0.1 * 0.1,
        "sqs": 0.1 * 1.2 * 0.4,
        "cache": 1.5 * 0.002,
    })  # fmt: skip


def test_losers_cost_neither_dynamodb_nor_sqs() -> None:
    bill = cost.grabs_bill(BOOK, DEPLOYMENT, PACE, CLAIMS, 0)

    assert bill["dynamodb"] == bill["sqs"] == 0


def test_more_winners_cost_more() -> None:
    few, many = (
        cost.total(cost.grabs_bill(BOOK, DEPLOYMENT, PACE, CLAIMS, share)) for share in (0.01, 0.5)
    )

    assert few < many


def test_logs_are_the_lines_that_the_template_asks_for() -> None:
    platform = sum(len(line) + deployment.LOG_EVENT_BYTES for line in deployment.PLATFORM_LINES)
    for line in deployment.PLATFORM_LINES:
        assert json.loads(line)["type"].startswith("platform.")

    assert deployment.log_bytes("$context.status", "WARN") == 3 + deployment.LOG_EVENT_BYTES
    assert (
        deployment.log_bytes("$context.status", "INFO") == 3 + deployment.LOG_EVENT_BYTES + platform
    )


def test_every_name_of_the_access_log_has_a_value() -> None:
    access = deployment.access_format(deployment.template())

    for name in deployment.ACCESS_VALUES:
        assert name in access
        access = access.replace(name, "")
    assert "$" not in access


def test_the_template_says_how_large_the_functions_are() -> None:
    found = deployment.deployment_of(deployment.template())

    assert (found.architecture, found.grab_gb, found.payout_gb) == ("arm64", 1.0, 0.5)
    assert found.batch_size == 20


def test_measured_times_replace_longer_ones_that_were_assumed() -> None:
    assumed = BOOK["assumed"]

    assert cost.pace_of({}, assumed).grab_ms == assumed["grab_ms"]
    assert cost.pace_of({}, assumed).claims_per_transaction == 20
    measured = cost.pace_of({"p50_ms": 7.5, "transactions_per_claim": 0.1}, assumed)
    assert measured.grab_ms == 7.5
    assert measured.claims_per_transaction == pytest.approx(10)
    assert cost.pace_of({"p50_ms": 60}, assumed).grab_ms == assumed["grab_ms"]


def test_a_record_page_reads_the_packet_its_fates_and_the_profiles() -> None:
    # The packet, ten fates within one unit of 4 KB, and ten profiles read weakly.
    assert counts.record_read_units(10) == 1 + 1 + 5


def test_every_price_has_a_page() -> None:
    services = {name.split("_per_")[0] for name in BOOK["usd"]}
    services = {"lambda" if name.startswith("lambda_") else name for name in services}

    assert services == set(BOOK["pages"])


def test_a_rain_costs_its_grabs_its_claims_and_its_polls() -> None:
    rain = {"users": 1_000, "grabs_per_user": 2, "shares": 100, "polls_per_user": 0}
    once = cost.campaign_usd({**BOOK, "campaign": rain}, DEPLOYMENT, PACE)
    claims = counts.count_claims(INDEXES, 20, has_quota=True)
    grabs = cost.grabs_bill(BOOK, DEPLOYMENT, PACE, claims, 0.05)
    polled = cost.campaign_usd(
        {**BOOK, "campaign": {**rain, "polls_per_user": 5}}, DEPLOYMENT, PACE
    )

    assert once == pytest.approx(2_000 / 1e6 * cost.total(grabs))
    poll = cost.total(cost.poll_bill(BOOK, DEPLOYMENT, PACE))
    assert polled - once == pytest.approx(5_000 / 1e6 * poll)


def test_the_last_line_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    cost.main()

    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert sum(answer["by_service"].values()) == pytest.approx(
        answer["usd_per_million_grabs"], abs=0.005
    )
    assert answer["usd_per_million_grabs_with_polls"] > answer["usd_per_million_grabs"]


def test_a_small_architecture_has_a_price_too() -> None:
    other = replace(DEPLOYMENT, architecture="x86_64")

    dearer = cost.grabs_bill(BOOK, other, PACE, CLAIMS, 0.1)["lambda"]
    assert dearer > cost.grabs_bill(BOOK, DEPLOYMENT, PACE, CLAIMS, 0.1)["lambda"]


def test_a_poll_pays_for_the_lines_that_lambda_writes_of_it() -> None:
    found = deployment.deployment_of(deployment.template())

    # The grab function has them off.
    assert found.grab_log_bytes == deployment.log_bytes(
        deployment.access_format(deployment.template()), "WARN"
    )
    assert found.record_log_bytes > 2 * found.grab_log_bytes
