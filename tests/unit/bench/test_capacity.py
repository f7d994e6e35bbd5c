"""Figures of docs/capacity.md, computed from code and template and rounded conservatively."""

import pytest

from bench import capacity, report
from bench.capacity import RUSHES, ledger
from bench.deployment import RATINGS, ledger_of
from local.template import read_template
from redpacket.ledger.dynamodb.keys import WORK_SHARDS
from redpacket.packets.model.packet import SHARDS_MAX

COMPANY, APP = RUSHES
PAGE = capacity.PAGE.read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())


def test_the_tables_match_the_code() -> None:
    tables = {
        (capacity.BEGIN, capacity.END): capacity.table(),
        capacity.READINGS: capacity.readings(report.read()),
    }

    for (begin, end), table in tables.items():
        assert PAGE.partition(f"{begin}\n")[2].partition(end)[0] == table


def test_a_claim_has_the_cost_stated_on_the_page() -> None:
    measured = ledger()

    assert measured.claims_per_partition == 500
    assert measured.settled_per_partition == 250
    assert measured.payouts_per_s == pytest.approx(5_000)
    assert "500 claims a second" in PROSE
    assert "250 if payouts keep up" in PROSE


def test_the_page_states_the_limits_of_the_code() -> None:
    assert f"at most {SHARDS_MAX * 250:,} with {SHARDS_MAX}" in PROSE


def test_the_page_states_how_many_packets_the_sweeps_close() -> None:
    sweeps = capacity.sweeps()

    assert WORK_SHARDS % sweeps.side_by_side == 0
    assert f"{sweeps.side_by_side} sweeps run in parallel" in PROSE
    assert f"close {sweeps.packets_per_minute:,} packets a minute" in PROSE
    assert capacity.closing_minutes(capacity.DUE) == 8
    assert f"{capacity.DUE:,} packets that expire in one minute are closed within 15" in PROSE


@pytest.mark.parametrize("rating", RATINGS)
def test_a_rating_covers_what_its_claims_need(rating: str) -> None:
    row, measured, claims = ledger_of(read_template(), rating), ledger(rating), int(rating)
    receipt, index, quota = 2, 2, 2

    assert measured.payouts_per_s >= claims
    assert row["WorkShards"] * capacity.PARTITION_WRITE_UNITS / index >= claims
    is_default = rating == RATINGS[0]
    assert (
        capacity.TABLE_UNITS_QUOTA if is_default else row["SharesUnits"]
    ) >= claims * measured.shares
    if not is_default:
        assert row["AccountsUnits"] >= claims * (measured.accounts + receipt)
        assert row["OtherUnits"] >= claims * quota


def test_a_large_ledger_closes_fifty_million_packets_a_day() -> None:
    assert capacity.sweeps(RATINGS[-1]).packets_per_minute * 1_440 >= 50_000_000


def test_a_sweep_with_less_cpu_closes_fewer_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = capacity.sweeps()
    deployed = read_template()
    deployed["Resources"]["ExpireFunction"]["Properties"]["MemorySize"] = 512
    monkeypatch.setattr(capacity, "read_template", lambda: deployed)

    assert capacity.sweeps().packets_per_s < whole.packets_per_s / 3


def test_a_company_needs_no_changed_setting() -> None:
    assert capacity.shards(COMPANY) == 1
    assert capacity.partitions(COMPANY, ledger()) == 1
    assert capacity.scaling_s(COMPANY) == 0
    assert capacity.settling_s(COMPANY, ledger()) < 1


def test_an_app_has_enough_shards() -> None:
    assert capacity.partitions(APP, ledger()) <= SHARDS_MAX
    assert capacity.work_partitions(APP) <= WORK_SHARDS


def test_one_packet_is_settled_as_fast_as_many() -> None:
    measured = ledger()

    assert measured.settled_per_packet > measured.payouts_per_s
    assert capacity.settling_s(APP, measured) == pytest.approx(20)


def test_planning_figures_do_not_exceed_the_measured_ones() -> None:
    figures = report.read().get("claim", {}).get("figures", {})
    if not figures:
        pytest.skip("claim is not measured yet")
    call_s = 1 / figures["limit_rps"]

    assert call_s / figures["sold_out"] <= capacity.LOSER_CPU_S
    assert call_s / figures["sold_out"] + call_s / figures["win"] <= capacity.WINNER_CPU_S
