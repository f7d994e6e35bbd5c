"""Reconciliation under fire tells nothing of a sound ledger, and finds each forgery."""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import pytest

from tests.faults import reconciling

SEEDS = range(1, 9)
FORGED = SEEDS[:3]

_Kind: TypeAlias = Callable[[int], reconciling.ReconciledPackets | reconciling.ReconciledDraws]


@cache
def _ran(kind: _Kind, seed: int) -> reconciling.ReconciledPackets | reconciling.ReconciledDraws:
    """Return a schedule that has run; a forger gets a copy of its ledger."""
    schedule = kind(seed)
    assert schedule.run() == []
    return schedule


@pytest.mark.parametrize("kind", [reconciling.ReconciledPackets, reconciling.ReconciledDraws])
def test_money_that_moves_under_a_reconciliation_raises_no_false_alarm(kind: _Kind) -> None:
    schedules = [_ran(kind, seed) for seed in SEEDS]

    for schedule in schedules:
        assert schedule.false_alarms() == [], schedule.seed

    assert sum(schedule.examined for schedule in schedules) > 1_000


def _names(forgeries: dict[reconciling.Forgery, set[str]]) -> list[reconciling.Forgery]:
    return list(forgeries)


@pytest.mark.parametrize("forge", _names(reconciling.OF_PACKETS), ids=lambda one: one.__name__)
def test_each_forgery_in_a_ledger_of_packets_is_found(forge: reconciling.Forgery) -> None:
    for seed in FORGED:
        assert reconciling.OF_PACKETS[forge] & _ran(
            reconciling.ReconciledPackets, seed
        ).found_after(forge), seed


@pytest.mark.parametrize("forge", _names(reconciling.OF_DRAWS), ids=lambda one: one.__name__)
def test_each_forgery_in_a_lottery_is_found(forge: reconciling.Forgery) -> None:
    for seed in FORGED:
        assert reconciling.OF_DRAWS[forge] & _ran(reconciling.ReconciledDraws, seed).found_after(
            forge
        ), seed
