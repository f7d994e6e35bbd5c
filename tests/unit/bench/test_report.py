"""Page docs/performance.md, which bench/report.py builds from the last lines of the benches."""

from importlib import util
from typing import Any

import pytest

from bench import plots, report
from bench.report import BENCHES, QUOTED, Kept

WHERE = {"on": "2026-11-21", "machine": "2 cores of something, 4 GB"}
CLAIM = {"limit_rps": 1_000_000, "win": 0.29, "win_over_baseline": 1.2, "sold_out": 0.45}


def _kept(**lines: Any) -> Kept:
    return {name: {**WHERE, "figures": line} for name, line in lines.items()}


def _row(page: str, says: str) -> list[str]:
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {says} |")]
    return [cell.strip() for cell in row.strip("|").split("|")][1:]


def test_the_page_and_its_picture_match_the_lines() -> None:
    assert report.PAGE.read_text(encoding="utf-8") == report.page(report.read())
    assert report.PICTURE.read_text(encoding="utf-8") == plots.draw(report.read())


@pytest.mark.parametrize("language", report.READMES)
def test_both_readmes_quote_the_lines(language: str) -> None:
    readme = report.READMES[language].read_text(encoding="utf-8")
    _, _, rest = readme.partition(f"{report.BEGIN}\n")

    assert rest.partition(report.END)[0] == report.quotes(report.read(), language)


def test_every_bench_is_a_module_and_every_quoted_figure_belongs_to_its_bench() -> None:
    figures = {
        f"{bench.name}.{figure.key}" for bench in BENCHES.values() for figure in bench.figures
    }

    assert [name for name in BENCHES if not util.find_spec(f"bench.{name}")] == []
    assert set(QUOTED) <= figures


def test_a_figure_is_shown_beside_its_target_and_missed_ones_are_listed_first() -> None:
    page = report.page(_kept(claim=CLAIM))

    compared = "winner's script, relative to the baseline"
    assert _row(page, compared) == ["1.2", "at least 1.1", "yes"]
    assert _row(page, "losing grab, which runs no script, relative to an empty script") == [
        "0.45",
        "at least 0.5",
        "no",
    ]
    assert _row(page, "winner's script") == ["0.29", "", ""]
    head = page.partition("\n## ")[0]
    assert "1 of 2 measured targets are reached." in head
    assert (
        "Missed: losing grab, which runs no script, relative to an empty script (`claim`)." in head
    )


def test_a_machine_without_a_peer_neither_reaches_nor_misses_its_target() -> None:
    page = report.page(_kept(peers={"script": 1.0, "separate": 0.3, "postgres": None}))

    assert _row(page, "peer: PostgreSQL, SKIP LOCKED; durable") == ["not here", "below 1", ""]
    assert "of 1 measured targets" in page


def test_a_failed_bench_is_reported_and_hides_no_figure() -> None:
    kept = _kept(claim=CLAIM, cold={"grab_ms": 170.0})
    kept["peers"] = {**WHERE, "failed": "it ended with status 2"}
    kept["cold"]["failed"] = "a bound does not hold: grab_over_boto3"

    page = report.page(kept)

    assert "\n- Failed: peers, cold.\n" in page
    assert "Failed: it ended with status 2." in page
    assert _row(page, "winner's script")[0] == "0.29"
    assert _row(page, "losing grab until its first cache command (CPU ms)")[0] == "170"


def test_a_page_without_lines_states_that_nothing_is_measured() -> None:
    page = report.page({})

    assert page.count("Not measured yet.") == len(BENCHES)
    assert "- Not measured yet: claim, peers" in page
    assert report.quotes({}) == "Nothing is measured yet: `make bench`.\n"


def test_cold_starts_have_bounds_and_controls_that_must_miss_them() -> None:
    bounds = {each.key: each for each in BENCHES["cold"].figures if each.is_bound}

    assert len(bounds) == 9
    assert bounds["grab_over_boto3"].is_reached(1.3)
    assert not bounds["grab_over_boto3"].is_reached(1.31)
    assert not bounds["heavy_grab_over_boto3"].is_reached(1.3)


def test_machines_are_distinguished_without_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.node", lambda: "a-secret-name")
    kept = _kept(claim=CLAIM, memory={"bytes_per_claim": 58})
    kept["memory"]["machine"] = "8 cores of another"

    page = report.page(kept)

    assert "- claim: on 2026-11-21, on 2 cores of something, 4 GB." in page
    assert "- memory: on 2026-11-21, on 8 cores of another." in page
    assert "cores of" in report.machine()
    assert "a-secret-name" not in report.machine()
