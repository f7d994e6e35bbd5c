"""Reconciliation under faults: it reports nothing about a correct ledger."""

import pytest

from tests.faults.reconciling import ReconciledDraws, ReconciledPackets


@pytest.mark.parametrize("kind", [ReconciledPackets, ReconciledDraws])
def test_reconciliation_during_transfers_raises_no_false_alarm(
    kind: type[ReconciledPackets | ReconciledDraws],
) -> None:
    schedules = [kind(seed) for seed in range(1, 9)]
    for schedule in schedules:
        assert schedule.run() == []
        assert schedule.false_alarms() == [], schedule.seed

    assert sum(schedule.examined for schedule in schedules) > 1_000
