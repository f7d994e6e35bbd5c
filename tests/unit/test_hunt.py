"""A hunt for a mutant counts a failed test, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.mutants.hunt import Copy, Outcome, Way
from tests.faults.mutants.likely import LIKELY, likely_tests
from tests.faults.mutants.mutant import Mutant


def _way(code: str, timeout_s: int = 60) -> Way:
    return Way("a way", ("-c", code), timeout_s)


@pytest.mark.parametrize(
    ("code", "timeout_s", "outcome"),
    [
        ("raise SystemExit(1)", 60, Outcome.CAUGHT),
        ("", 60, Outcome.SURVIVED),
        # So pytest says that tests could not be collected.
        ("raise SystemExit(2)", 60, Outcome.NOT_RUN),
        ("import time; time.sleep(60)", 0, Outcome.TIMED_OUT),
    ],
)
def test_only_a_failure_is_a_catch(
    tmp_path: Path, code: str, timeout_s: int, outcome: Outcome
) -> None:
    assert _way(code, timeout_s).run(tmp_path)[0] is outcome


def test_the_test_that_failed_is_named(tmp_path: Path) -> None:
    way = _way("print('FAILED tests/unit/test_a.py::test_b[1] - no'); raise SystemExit(1)")

    assert way.run(tmp_path) == (Outcome.CAUGHT, "tests/unit/test_a.py::test_b")


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copy:
    (tmp_path / "tree").mkdir()
    monkeypatch.setattr("tests.faults.mutants.hunt.ROOT", tmp_path / "tree")
    return Copy(tmp_path / "copy")


def test_a_copy_has_the_tools_of_the_tree(copy: Copy, tmp_path: Path) -> None:
    tool = tmp_path / "tree" / ".local" / "venv" / "sam"
    tool.mkdir(parents=True)

    assert (copy.folder / ".local" / "venv" / "sam").is_dir()


def test_a_way_that_does_not_end_leaves_the_others_their_turn(copy: Copy) -> None:
    slow, caught, passed = _way("while True: pass", 0), _way("raise SystemExit(1)"), _way("")

    assert copy.hunt(None, iter([slow, caught]))[0] is Outcome.CAUGHT
    assert copy.hunt(None, iter([slow, passed]))[0] is Outcome.TIMED_OUT
    assert copy.hunt(None, iter([passed, passed]))[0] is Outcome.SURVIVED


def test_the_ways_after_the_one_that_caught_are_not_tried(copy: Copy) -> None:
    def ways() -> Iterator[Way]:
        yield _way("raise SystemExit(1)")
        pytest.fail("another way")

    assert copy.hunt(None, ways())[0] is Outcome.CAUGHT


def test_the_likeliest_tests_share_the_words_of_a_mutant() -> None:
    mutant = Mutant(
        "a campaign is remembered for ever", "CachedCampaigns.recall", "KEPT_MS", "read_at_ms"
    )

    found = likely_tests(mutant)

    assert len(found) == LIKELY
    assert found[0].startswith("tests/unit/test_campaign_quota.py::")
