"""Load model of a stack: halving a limit causes refusals only in that limit's row."""

from dataclasses import replace

import pytest

from bench.cells import CELL_B, DEFAULT, PREPARED, Limits, Rush, Stack

AMPLE = Limits(
    api_per_s=1e9,
    api_burst=1e9,
    environments=1e6,
    warm_environments=1e6,
    table_units=1e9,
    warm_units=1e9,
    settling_units=1e9,
    shards=1e3,
    work_shards=1e4,
    payouts=1e4,
    log_per_s=1e6,
)
# Smallest limits that sustain 10,000 grabs a second, a tenth of which win. An on-demand table needs
# only the capacity for the first load step, because it sustains twice its previous peak.
LEAST: dict[str, dict[str, float]] = {
    "api_per_s": {"api_per_s": 10_000, "api_burst": 1_000},
    "environments": {"environments": 1_000, "warm_environments": 1_000},
    "warm_environments": {"warm_environments": 1_000},
    "shards": {"shards": 0.24},
    "work_shards": {"work_shards": 2},
    "table_units": {"table_units": 8_000, "warm_units": 8_000},
    "warm_units": {"warm_units": 100},
}


def _play(limits: Limits) -> Stack:
    return Rush(10_000, 0.1, limits).play()


@pytest.mark.parametrize("line", LEAST)
def test_a_halved_limit_refuses_in_its_own_row(line: str) -> None:
    whole = replace(AMPLE, **LEAST[line])
    halved = replace(AMPLE, **{name: value / 2 for name, value in LEAST[line].items()})

    assert _play(whole).refused == {}
    assert _play(halved).refused.keys() == {line}


@pytest.mark.parametrize(
    ("name", "value", "queue"),
    [
        ("payouts", 4, "unsettled_max"),
        ("settling_units", 4_000, "unsettled_max"),
        ("log_per_s", 100, "unlogged_max"),
    ],
)
def test_a_queue_that_is_drained_half_as_fast_grows(name: str, value: int, queue: str) -> None:
    whole, halved = (
        getattr(_play(replace(AMPLE, **{name: each})), queue) for each in (value, value / 2)
    )

    assert halved > 2 * whole + 1_000


def test_a_lost_cell_refuses_in_its_own_row_and_settles_afterwards() -> None:
    lost = Rush(10_000, 0.1, PREPARED, lost_s=(30, 60)).play()

    assert lost.refused.keys() == {"lost"}
    assert lost.unsettled < 1


def test_the_limits_are_those_of_the_template_and_of_the_log() -> None:
    built = (DEFAULT.api_per_s, DEFAULT.work_shards, DEFAULT.payouts, DEFAULT.warm_units)
    large = (CELL_B.work_shards, CELL_B.payouts, CELL_B.warm_units, CELL_B.settling_units)

    assert built == (10_000, 32, 20, 4_000)
    assert large == (128, 200, 400_000, 300_000)
    assert DEFAULT.log_per_s >= 5_000
