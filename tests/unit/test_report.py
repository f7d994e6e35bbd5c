"""docs/performance.md is what bench/report.py makes of the benches' last lines."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bench import report
from bench.report import PICTURE, Kept
from bench.targets import BENCHES, QUOTED

ROOT = Path(__file__).parents[2]
WHERE = {"on": "2026-11-21", "machine": "2 cores of something, 4 GB"}
CLAIM = {"limit_rps": 1_000_000, "win": 0.29, "win_over_seed003": 1.2, "sold_out": 0.45}


def _kept(**lines: Any) -> Kept:
    return {name: {**WHERE, "figures": line} for name, line in lines.items()}


def _row(page: str, says: str) -> list[str]:
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {says} |")]
    return [cell.strip() for cell in row.strip("|").split("|")][1:]


def test_the_page_is_what_the_lines_say() -> None:
    assert report.PAGE.read_text(encoding="utf-8") == report.page(report.read())


@pytest.mark.parametrize("language", report.READMES)
def test_both_readmes_quote_the_lines(language: str) -> None:
    readme = report.READMES[language].read_text(encoding="utf-8")
    _, _, rest = readme.partition(f"{report.BEGIN}\n")

    assert rest.partition(report.END)[0] == report.quotes(report.read(), language)


def test_the_picture_is_of_these_lines() -> None:
    kept = report.read()

    assert PICTURE.exists() == report.is_pictured(kept)
    if PICTURE.exists():
        assert report.stamp(kept) in PICTURE.read_text(encoding="utf-8")


def test_every_bench_is_in_the_report_and_in_the_tables() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = re.findall(r"^bench-([a-z]+):", makefile, re.MULTILINE)

    assert targets
    assert set(targets) <= {bench.name for bench in BENCHES}
    assert [name for name in targets if f"`make bench-{name}`" not in contributing] == []


def test_a_figure_stands_beside_its_target() -> None:
    page = report.page(_kept(claim=CLAIM))

    assert _row(page, "a winner, relative to a usual script (003)") == [
        "1.2",
        "at least 1.1",
        "yes",
    ]
    assert _row(page, "a loser of an emptied packet") == ["0.45", "at least 0.5", "no"]
    assert _row(page, "a winner's script") == ["0.29", "", ""]


def test_a_missed_target_is_said_at_the_top() -> None:
    head = report.page(_kept(claim=CLAIM)).partition("\n## ")[0]

    assert "Of 2 targets that were measured 1 are reached." in head
    assert "Missed: a loser of an emptied packet (`bench-claim`)." in head


def test_what_a_machine_lacks_is_neither_reached_nor_missed() -> None:
    page = report.page(_kept(peers={"script": 1.0, "separate": 0.3, "postgres": None}))

    assert _row(page, "peer: PostgreSQL, SKIP LOCKED; durable") == ["not here", "below 1", ""]
    assert "Of 1 targets" in page


def test_the_best_peer_is_compared_with_the_adapter() -> None:
    line = {"script": 1.0, "adapter": 0.5, "separate": 0.25, "lock": 0.1, "postgres": None}

    page = report.page(_kept(peers=line))

    assert _row(page, "the fastest of these peers, relative to the adapter") == [
        "0.5",
        "below 1",
        "yes",
    ]
    assert _row(page, "the adapter, all that a claim asks; not durable")[-1] == "no"


def test_a_bench_that_failed_says_so_and_hides_no_other() -> None:
    kept = _kept(claim=CLAIM)
    kept["peers"] = {**WHERE, "failed": "it ended with status 2"}

    page = report.page(kept)

    assert "\n- Failed: peers.\n" in page
    assert "Failed: it ended with status 2." in page
    assert _row(page, "a winner's script")[0] == "0.29"


def test_a_bench_whose_own_bound_fails_shows_its_figures_all_the_same() -> None:
    kept = _kept(cold={"grab_ms": 170.0})
    kept["cold"]["failed"] = "it ended with status 1"

    page = report.page(kept)

    assert "Failed: it ended with status 1." in page
    assert _row(page, "milliseconds of CPU, grab of a loser: the cache's client") == [
        "170",
        "at most 200",
        "yes",
    ]


def test_what_is_not_measured_is_said() -> None:
    page = report.page({})

    assert page.count("Not measured yet.") == len(BENCHES)
    assert "- Not measured yet: claim, peers" in page
    assert "performance.svg" not in page


def test_splitting_and_loading_are_judged_together() -> None:
    page = report.page(_kept(send={"split_s": 0.7, "load_s": 0.4}))

    assert _row(page, "seconds for both") == ["1.1", "at most 1.0", "no"]


def test_a_line_may_say_more_than_the_table() -> None:
    page = report.page(_kept(memory={"bytes_per_claim": 58, "by_length": {"36": 61.25}}))

    assert "Also in its line: by_length 36 61.2" in page


def test_machines_are_told_apart() -> None:
    kept = _kept(claim=CLAIM, memory={"bytes_per_claim": 58})
    kept["memory"]["machine"] = "8 cores of another"

    page = report.page(kept)

    assert "- claim: on 2026-11-21, on 2 cores of something, 4 GB." in page
    assert "- memory: on 2026-11-21, on 8 cores of another." in page


def test_every_quoted_figure_is_one_of_its_bench() -> None:
    figures = {(bench.name, figure.key) for bench in BENCHES for figure in bench.figures}

    assert set(QUOTED) <= figures


def test_the_readme_quotes_only_what_was_measured() -> None:
    quoted = report.quotes(_kept(claim={**CLAIM, "whole_win_over_003": 1.1}))

    assert "| A claim in the cache: a loser of an emptied packet | 0.45 | at least 0.5 |" in quoted
    assert quoted.count("\n") == 4
    assert report.quotes({}) == "Nothing is measured yet: `make bench`.\n"


def test_the_machine_is_described_without_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "a-secret-name")

    assert "cores of" in report.machine()
    assert "a-secret-name" not in report.machine()
