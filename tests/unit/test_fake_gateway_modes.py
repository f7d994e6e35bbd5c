"""How the local gateway misbehaves is drawn by a seed, and by nothing else."""

from __future__ import annotations

import random

import pytest

from local.gateway.modes import ANY_CALL, BILL, CREATING_CALL, NOTIFICATION, Mode, Modes

SHARES = {"pays_and_times_out": 0.1, "times_out": 0.05, "duplicate_notifications": 0.3}


def _drawn(seed: int, subjects: list[str]) -> dict[str, list[Mode]]:
    modes = Modes.of({"shares": SHARES, "seed": seed})
    drawn: dict[str, list[Mode]] = {}
    for subject in subjects:
        drawn.setdefault(subject, []).append(modes.draw(CREATING_CALL, subject))
    return drawn


def test_a_seed_draws_the_same_whatever_the_order_is() -> None:
    subjects = [f"bill{index}" for index in range(50)] * 3
    shuffled = random.Random(1).sample(subjects, len(subjects))

    assert _drawn(7, subjects) == _drawn(7, shuffled)
    assert _drawn(7, subjects) != _drawn(8, subjects)


def test_shares_are_kept() -> None:
    modes = Modes.of({"shares": SHARES, "seed": 1})

    drawn = [modes.draw(CREATING_CALL, f"bill{index}") for index in range(5_000)]

    assert drawn.count(Mode.PAYS_AND_TIMES_OUT) == pytest.approx(500, abs=75)
    assert drawn.count(Mode.TIMES_OUT) == pytest.approx(250, abs=60)
    assert Mode.DUPLICATE_NOTIFICATIONS not in drawn


def test_each_kind_of_mode_applies_where_it_belongs() -> None:
    modes = Modes.of({"mode": "no_notifications"})

    assert modes.draw(NOTIFICATION, "order") is Mode.NO_NOTIFICATIONS
    assert {modes.draw(among, "order") for among in (ANY_CALL, CREATING_CALL, BILL)} == {Mode.OK}


def test_every_mode_belongs_somewhere() -> None:
    assert set(Mode) == {Mode.OK} | CREATING_CALL | NOTIFICATION | BILL


@pytest.mark.parametrize(
    "wanted", [None, [], {}, {"mode": "evil"}, {"mode": "ok", "shares": {}}, {"other": 1}]
)
def test_a_mode_that_is_not_known_is_refused(wanted: object) -> None:
    with pytest.raises(ValueError, match=r"mode|object|Mode"):
        Modes.of(wanted)
