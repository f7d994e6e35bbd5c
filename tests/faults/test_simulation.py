"""The simulation finds nothing, its control finds a lot, and a seed means one story."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.faults.simulation import Schedule, run_schedules


def test_no_fault_makes_or_loses_a_fen() -> None:
    result = run_schedules(300, seed=1)

    assert result.first_differences == []
    assert result.faults > 300 * 20


def test_transactions_meet_others_that_hold_their_rows() -> None:
    schedules = [Schedule(seed) for seed in range(1, 21)]

    for schedule in schedules:
        schedule.run()

    assert sum(schedule.faults.contended_count for schedule in schedules) > 20


def test_the_usual_design_does_not_survive() -> None:
    assert run_schedules(100, seed=1, is_naive=True).violations > 50


def test_a_seed_is_one_story_whatever_the_hash_seed() -> None:
    code = (
        "from tests.faults.simulation import Schedule;"
        "one = Schedule(11); one.run(); print(one.steps, one.faults.count, one.story)"
    )

    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(told) == 1


def test_the_story_of_a_schedule_can_be_read() -> None:
    schedule = Schedule(1)

    schedule.run()

    assert any("was told share" in line for line in schedule.story)
