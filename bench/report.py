"""Writer of docs/performance.md, from bench/figures.toml and the values in performance.json."""

import json
import operator
import os
import platform
import re
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from bench import capacity, plots
from local.places import ROOT, cache_server

LINES = ROOT / "docs" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "performance.svg"
READMES = {"en": ROOT / "README.md", "zh": ROOT / "README.zh-CN.md"}
BEGIN, END = "<!-- speed:begin -->", "<!-- speed:end -->"

_COLUMNS = {"en": "| Figure | Measured | Target |", "zh": "| 指标 | 实测 | 目标 |"}
_NOTHING = {"en": "Nothing is measured yet: `make bench`.\n", "zh": "尚未测量：`make bench`。\n"}
_BOUNDS = {
    ">=": (operator.ge, {"en": "at least", "zh": "不低于"}),
    "<=": (operator.le, {"en": "at most", "zh": "不高于"}),
    ">": (operator.gt, {"en": "above", "zh": "高于"}),
    "<": (operator.lt, {"en": "below", "zh": "低于"}),
}

Value: TypeAlias = float | bool | None
"""Value of a figure, or None if the machine lacks a requirement, such as PostgreSQL."""

Line: TypeAlias = Mapping[str, Any]
"""Last line that a bench prints, parsed from JSON."""

Kept: TypeAlias = dict[str, dict[str, Any]]
"""Content of docs/performance.json: each bench's day, machine, and figures or failure."""


@dataclass(frozen=True, slots=True)
class Figure:
    """Figure that a bench reports under *key*. *target* is like `must <= 1.5`, or empty."""

    key: str
    says: str
    target: str = ""

    @property
    def is_bound(self) -> bool:
        """Return whether the bench fails if the target is missed."""
        return self.target.startswith("must ")

    def bound(self, language: str = "en") -> str:
        """Return the target in words."""
        if not self.target:
            return ""
        sign, number = self.target.removeprefix("must ").split()
        return f"{_BOUNDS[sign][1][language]} {number}"

    def is_reached(self, value: Value) -> bool | None:
        """Return whether *value* reaches the target, or None if there is nothing to compare."""
        if not self.target or value is None:
            return None
        sign, number = self.target.removeprefix("must ").split()
        return bool(_BOUNDS[sign][0](value, float(number.replace(",", ""))))


@dataclass(frozen=True, slots=True)
class Bench:
    """A bench, `bench/<name>.py`."""

    name: str
    title: str
    says: str
    figures: tuple[Figure, ...]

    def values(self, record: Mapping[str, Any] | None) -> list[tuple[Figure, Value]]:
        """Return each figure with its value in a stored record."""
        line = (record or {}).get("figures")
        return [(figure, line.get(figure.key)) for figure in self.figures] if line else []


_FIGURES = tomllib.loads((ROOT / "bench" / "figures.toml").read_text(encoding="utf-8"))
QUOTED: dict[str, str] = _FIGURES.pop("quoted")
"""Figures that README.md quotes, with their names in README.zh-CN.md."""

BENCHES = {
    name: Bench(
        name, bench["title"], bench["says"], tuple(Figure(*row) for row in bench["figures"])
    )
    for name, bench in _FIGURES.items()
}


def read() -> Kept:
    """Return the stored records."""
    kept: Kept = json.loads(LINES.read_text(encoding="utf-8")) if LINES.exists() else {}
    return kept


def write(kept: Kept) -> None:
    """Write the records, the page, its picture, the READMEs' figures, and capacity.md's tables."""
    ordered = {name: kept[name] for name in BENCHES if name in kept}
    LINES.write_text(json.dumps(ordered, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(kept), encoding="utf-8")
    PICTURE.write_text(plots.draw(kept), encoding="utf-8")
    for language, readme in READMES.items():
        replace_between(readme, BEGIN, END, quotes(kept, language))
    replace_between(capacity.PAGE, capacity.BEGIN, capacity.END, capacity.table())
    replace_between(capacity.PAGE, *capacity.READINGS, capacity.readings(kept))


def replace_between(path: Path, begin: str, end: str, text: str) -> None:
    """Replace the text between two marks of a document."""
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    path.write_text(f"{before}{begin}\n{text}{end}{rest.partition(end)[2]}", encoding="utf-8")


def machine() -> str:
    """Describe this machine by the properties that affect speed, without its host name."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.exists() else ""
    processor = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    command = [cache_server(), "--version"]
    cache = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    version = re.search(r"v=(\S+)", cache)
    facts = [
        f"{os.cpu_count()} cores of {processor[1] if processor else platform.machine()}",
        f"{memory_gb:.0f} GB",
        _system(),
        f"Python {platform.python_version()}",
        f"{cache.split()[0]} {version[1] if version else ''}".strip(),
    ]
    return ", ".join(facts)


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def page(kept: Kept) -> str:
    """Return docs/performance.md."""
    lines = [
        "# Performance",
        "",
        "`make bench` writes this page from `docs/performance.json`. Ratios compare interleaved",
        "rounds of one run. Absolute figures hold only for the machine below.",
        "[capacity.md](capacity.md) applies them to a deployment.",
        "",
        *_places(kept),
        *_verdict(kept),
        "![A claim's speed beside an empty script and its peers](performance.svg)",
        "",
    ]
    for bench in BENCHES.values():
        lines += [f"## {bench.title}", "", f"`make bench ONLY={bench.name}`. {bench.says}", ""]
        lines += [*_section(bench, kept.get(bench.name)), ""]
    return "\n".join(lines)


def _places(kept: Kept) -> Iterator[str]:
    """Yield a line for each day and machine, and lines for benches that did not run or failed."""
    places: dict[tuple[str, str], list[str]] = {}
    for name in BENCHES:
        if record := kept.get(name):
            places.setdefault((record["on"], record["machine"]), []).append(name)
    for (day, where), names in places.items():
        yield f"- {', '.join(names)}: on {day}, on {where}."
    if missing := [name for name in BENCHES if name not in kept]:
        yield f"- Not measured yet: {', '.join(missing)}."
    if failed := [name for name in BENCHES if "failed" in kept.get(name, {})]:
        yield f"- Failed: {', '.join(failed)}."
    yield ""


def _verdict(kept: Kept) -> Iterator[str]:
    results = [
        (reached, f"{figure.says} (`{bench.name}`)")
        for bench in BENCHES.values()
        for figure, value in bench.values(kept.get(bench.name))
        if (reached := figure.is_reached(value)) is not None
    ]
    missed = [says for reached, says in results if not reached]
    if results:
        reached_count = len(results) - len(missed)
        yield f"{reached_count} of {len(results)} measured targets are reached."
    if missed:
        yield f"Missed: {'; '.join(missed)}."
    yield ""


def _section(bench: Bench, record: Mapping[str, Any] | None) -> Iterator[str]:
    if record is None:
        yield "Not measured yet."
    elif "failed" in record:
        yield f"Failed: {record['failed']}.\n"
    rows = bench.values(record)
    if rows:
        yield "| Figure | Measured | Target | Reached |"
        yield "| --- | --: | --: | :-: |"
    for figure, value in rows:
        reached = {True: "yes", False: "no", None: ""}[figure.is_reached(value)]
        yield f"| {figure.says} | {formatted(value)} | {figure.bound()} | {reached} |"


def formatted(value: Value) -> str:
    """Format a figure with three significant digits, or as a whole number if it is large."""
    if value is None:
        return "not here"
    if isinstance(value, float) and abs(value) < 100:  # noqa: PLR2004 - digits
        return f"{value:.3g}"
    return f"{value:,.0f}"


def quotes(kept: Kept, language: str = "en") -> str:
    """Return a table of the figures that the README in *language* quotes."""
    rows = []
    for path, chinese in QUOTED.items():
        name, _, key = path.partition(".")
        bench = BENCHES[name]
        for figure, value in bench.values(kept.get(name)):
            if figure.key == key and value is not None:
                says = chinese if language == "zh" else f"{bench.title}: {figure.says}"
                rows.append(f"| {says} | {formatted(value)} | {figure.bound(language)} |")
    return (
        "\n".join([_COLUMNS[language], "|---|--:|--:|", *rows, ""]) if rows else _NOTHING[language]
    )
