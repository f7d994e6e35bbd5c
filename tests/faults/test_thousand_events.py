"""Events to receivers that fail: `make faults OF=webhooks`, smaller."""

from __future__ import annotations

import json

import pytest

from tests.faults import thousand_events
from tests.faults.thousand_events import run, run_naively

COUNT = 200


def test_no_event_is_lost_and_repeats_are_the_same_event() -> None:
    town, figures = run(COUNT, seed=7)

    assert town.died_count > 10
    assert figures.claims == COUNT
    assert (figures.lost, figures.changed_repeats, figures.dead) == (0, 0, 0)
    assert figures.repeated > 0
    # The receiver that was up had all of it while the other one was still down.
    assert figures.live_late == 0


def test_a_control_that_posts_once_loses_events() -> None:
    assert run_naively(50, seed=7) > 0


def test_the_last_line_is_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["thousand_events", "--count", "100"])

    thousand_events.main()

    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["lost"] == 0
    assert figures["naive_lost"] > 0
