"""Reconciliation under fire tells nothing of a sound ledger, and finds each forgery."""

from __future__ import annotations

import pytest

from tests.faults.reconciling import (
    OF_DRAWS,
    OF_PACKETS,
    Forgery,
    ReconciledDraws,
    ReconciledPackets,
)

SEEDS = range(1, 41)


@pytest.mark.parametrize("kind", [ReconciledPackets, ReconciledDraws])
def test_money_that_moves_under_a_reconciliation_raises_no_false_alarm(
    kind: type[ReconciledPackets | ReconciledDraws],
) -> None:
    schedules = [kind(seed) for seed in SEEDS]

    for schedule in schedules:
        assert schedule.run() == []
        assert schedule.false_alarms() == [], schedule.seed

    # Runs were cut off and taken up under fire, and some came to their end there.
    assert sum(schedule.cut_off_count for schedule in schedules) > 100
    assert sum(schedule.finished_count for schedule in schedules) > 5


def _names(forgeries: dict[Forgery, set[str]]) -> list[Forgery]:
    return list(forgeries)


@pytest.mark.parametrize("forge", _names(OF_PACKETS), ids=lambda one: one.__name__)
def test_each_forgery_in_a_ledger_of_packets_is_found(forge: Forgery) -> None:
    for seed in SEEDS[:10]:
        schedule = ReconciledPackets(seed)
        schedule.run()

        assert OF_PACKETS[forge] & schedule.found_after(forge), seed


@pytest.mark.parametrize("forge", _names(OF_DRAWS), ids=lambda one: one.__name__)
def test_each_forgery_in_a_lottery_is_found(forge: Forgery) -> None:
    for seed in SEEDS[:10]:
        schedule = ReconciledDraws(seed)
        schedule.run()

        assert OF_DRAWS[forge] & schedule.found_after(forge), seed
