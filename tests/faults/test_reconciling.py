"""Reconciliation under fire tells nothing of a sound ledger, and finds each forgery."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import pytest

from tests.faults.reconciling import (
    OF_DRAWS,
    OF_PACKETS,
    Forgery,
    ReconciledDraws,
    ReconciledPackets,
)

SEEDS = range(1, 21)
FORGED = SEEDS[:5]

_Kind: TypeAlias = Callable[[int], ReconciledPackets | ReconciledDraws]


@cache
def _ran(kind: _Kind, seed: int) -> ReconciledPackets | ReconciledDraws:
    """Return a schedule that has run; a forger gets a copy of its ledger."""
    schedule = kind(seed)
    assert schedule.run() == []
    return schedule


@pytest.mark.parametrize("kind", [ReconciledPackets, ReconciledDraws])
def test_money_that_moves_under_a_reconciliation_raises_no_false_alarm(kind: _Kind) -> None:
    schedules = [_ran(kind, seed) for seed in SEEDS]

    for schedule in schedules:
        assert schedule.false_alarms() == [], schedule.seed

    # Runs were cut off and taken up under fire, and some came to their end there.
    assert sum(schedule.cut_off_count for schedule in schedules) > 50
    assert sum(schedule.finished_count for schedule in schedules) > 2


def _names(forgeries: dict[Forgery, set[str]]) -> list[Forgery]:
    return list(forgeries)


@pytest.mark.parametrize("forge", _names(OF_PACKETS), ids=lambda one: one.__name__)
def test_each_forgery_in_a_ledger_of_packets_is_found(forge: Forgery) -> None:
    for seed in FORGED:
        assert OF_PACKETS[forge] & _ran(ReconciledPackets, seed).found_after(forge), seed


@pytest.mark.parametrize("forge", _names(OF_DRAWS), ids=lambda one: one.__name__)
def test_each_forgery_in_a_lottery_is_found(forge: Forgery) -> None:
    for seed in FORGED:
        assert OF_DRAWS[forge] & _ran(ReconciledDraws, seed).found_after(forge), seed
