"""docs/capacity.md reckons with what the code and the template say, and with safe figures."""

from __future__ import annotations

import pytest

from bench import capacity, report
from bench.capacity import RUSHES, ledger
from redpacket.adapters.keys import WORK_SHARDS
from redpacket.domain.packet import PARTS_MAX

COMPANY, APP, EVE = RUSHES
PAGE = capacity.PAGE.read_text(encoding="utf-8")


def test_the_table_is_what_the_code_says() -> None:
    _, _, rest = PAGE.partition(f"{capacity.BEGIN}\n")

    assert rest.partition(capacity.END)[0] == capacity.table()


def test_a_claim_costs_what_the_page_says() -> None:
    found = ledger()

    assert found.claims_per_partition == 500
    assert found.settled_per_packet == pytest.approx(476, abs=1)
    assert found.payouts_per_s == pytest.approx(2_667, abs=1)
    assert "500 claims a second" in PAGE
    assert "476 claims a second" in PAGE
    assert "2,667 claims a second" in PAGE


def test_the_page_knows_the_limits_of_the_code() -> None:
    assert f"`by_work` has {WORK_SHARDS} partitions" in PAGE
    assert f"bears {WORK_SHARDS * 500:,} claims a second" in PAGE
    assert f"at most {PARTS_MAX * 500:,} with {PARTS_MAX}" in PAGE


def test_the_page_knows_how_many_packets_a_sweep_closes() -> None:
    closed = capacity.closed_per_minute()
    assert f"The sweeps close {closed:,} packets a minute" in PAGE
    assert f"{closed // 60} packets a second, {closed * 60 * 24 // 10_000 * 10_000:,} a day" in PAGE
    assert capacity.closing_minutes(EVE) == 143


def test_a_company_needs_nothing_special() -> None:
    assert capacity.shards(COMPANY) == 1
    assert capacity.parts(COMPANY, ledger()) == 1
    assert capacity.scaling_s(COMPANY) == 0
    assert capacity.settling_s(COMPANY, ledger()) < 1


def test_an_app_has_parts_enough() -> None:
    assert capacity.parts(APP, ledger()) <= PARTS_MAX
    assert capacity.work_partitions(APP) <= WORK_SHARDS


def test_the_page_says_what_does_not_reach() -> None:
    assert capacity.work_partitions(EVE) > WORK_SHARDS
    assert "not as it is" in PAGE


def test_one_packet_is_settled_no_faster_than_its_escrow() -> None:
    assert capacity.settling_s(APP, ledger()) == pytest.approx(210)


def test_the_planning_figures_are_no_better_than_the_measured_ones() -> None:
    figures = report.read().get("claim", {}).get("figures", {})
    if not figures:
        pytest.skip("bench-claim is not measured yet")
    call_s = 1 / figures["limit_rps"]

    assert call_s / figures["sold_out"] <= capacity.LOSER_CPU_S
    assert call_s / figures["sold_out"] + call_s / figures["win"] <= capacity.WINNER_CPU_S
