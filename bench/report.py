"""Runs the benches, keeps their last lines, and writes docs/performance.md from them.

make bench                      all of them, then the page
make bench ONLY="claim memory"  these; the others keep the lines that they have
python -m bench.report --write  the page alone
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from bench.targets import BENCHES, QUOTED, Bench, Figure, Line, Value
from local.places import ROOT, cache_server

LINES = ROOT / "docs" / "performance.json"
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "performance.svg"
READMES = {"en": ROOT / "README.md", "zh": ROOT / "README.zh-CN.md"}
BEGIN, END = "<!-- speed:begin -->", "<!-- speed:end -->"

PICTURED = ("claim", "peers", "growth")

_COLUMNS = {"en": "| Figure | Measured | Target |", "zh": "| 指标 | 实测 | 目标 |"}
_NOTHING = {
    "en": "Nothing is measured yet: `make bench`.\n",
    "zh": "尚未测量：`make bench`。\n",
}

Kept: TypeAlias = dict[str, dict[str, Any]]
"""docs/performance.json: by bench, when and where it ran, and its line or how it failed."""


def main(words: Sequence[str]) -> int:
    """Run what is asked for, and write; 1 where a bench failed."""
    names = [bench.name for bench in BENCHES]
    asked = argparse.ArgumentParser(description=__doc__)
    how = asked.add_mutually_exclusive_group(required=True)
    how.add_argument("--run", nargs="*", choices=names, metavar="bench")
    how.add_argument("--write", action="store_true")
    given = asked.parse_args(words)
    kept = read()
    failed = []
    for name in names if given.run == [] else given.run or ():
        print(f"\n== bench-{name}", flush=True)
        kept[name] = _run(name)
        failed += [name] if "failed" in kept[name] else []
        _keep(kept)
    write(kept)
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def read() -> Kept:
    """Return the lines that are kept."""
    found: Kept = json.loads(LINES.read_text(encoding="utf-8")) if LINES.exists() else {}
    return found


def write(kept: Kept) -> None:
    """Write the page, the figures that both READMEs quote, and the prices in docs/capacity.md."""
    from bench import capacity  # not where plots are drawn: it needs the package

    PAGE.write_text(page(kept), encoding="utf-8")
    for language, readme in READMES.items():
        before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        text = f"{before}{BEGIN}\n{quotes(kept, language)}{END}{after}"
        readme.write_text(text, encoding="utf-8")
    capacity.main()


def _keep(kept: Kept) -> None:
    ordered = {bench.name: kept[bench.name] for bench in BENCHES if bench.name in kept}
    LINES.write_text(json.dumps(ordered, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _run(name: str) -> dict[str, Any]:
    where = {"on": datetime.now(UTC).date().isoformat(), "machine": machine()}
    last = ""
    with subprocess.Popen(
        ["make", "--no-print-directory", f"bench-{name}"],  # noqa: S607 - whatever make there is
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as bench:
        for line in bench.stdout or ():
            print(line, end="", flush=True)
            last = line if line.strip() else last
    found: dict[str, Any] = dict(where)
    if bench.returncode:
        found["failed"] = f"it ended with status {bench.returncode}"
    try:
        found["figures"] = json.loads(last)
    except ValueError:
        found.setdefault("failed", "its last line is not JSON")
    return found


def machine() -> str:
    """Describe this machine by what matters for speed; no names."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parts = [
        f"{os.cpu_count()} cores of {_processor()}",
        f"{memory_gb:.0f} GB",
        _system(),
        f"Python {platform.python_version()}",
        _cache(),
    ]
    return ", ".join(parts)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if not info.exists():
        return platform.machine()
    found = re.search(r"^model name\s*: (.*)$", info.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return f"{platform.system()} {platform.release()}"


def _cache() -> str:
    said = subprocess.run(
        [cache_server(), "--version"], capture_output=True, text=True, check=True
    ).stdout
    name, _, rest = said.partition(" ")
    version = re.search(r"v=(\S+)", rest)
    return f"{name} {version[1]}" if version else name


# The page.


def page(kept: Kept) -> str:
    """Return docs/performance.md."""
    sections = [_head(kept), *(_section(bench, kept.get(bench.name)) for bench in BENCHES)]
    return "\n".join(sections)


def _head(kept: Kept) -> str:
    lines = [
        "# Performance",
        "",
        "Written by `make bench`, from the last lines of the benches in `docs/performance.json`.",
        "Ratios are of one run, in interleaved rounds; absolute figures are that machine's and no",
        "other's. [capacity.md](capacity.md) says what they mean for a deployment, and `make cost`",
        "what it costs.",
        "",
        *_places(kept),
        *_verdict(kept),
    ]
    if is_pictured(kept):
        lines += [
            "![A claim's speed beside the limit, its peers and its growth](performance.svg)",
            "",
        ]
    return "\n".join(lines)


def _places(kept: Kept) -> Iterator[str]:
    """Say where and when each was measured, once for all that share it."""
    places: dict[tuple[str, str], list[str]] = {}
    for bench in BENCHES:
        if found := kept.get(bench.name):
            places.setdefault((found["on"], found["machine"]), []).append(bench.name)
    for (day, where), names in places.items():
        yield f"- {', '.join(names)}: on {day}, on {where}."
    if missing := [bench.name for bench in BENCHES if bench.name not in kept]:
        yield f"- Not measured yet: {', '.join(missing)}."
    if failed := [bench.name for bench in BENCHES if "failed" in kept.get(bench.name, {})]:
        yield f"- Failed: {', '.join(failed)}."
    yield ""


def _verdict(kept: Kept) -> Iterator[str]:
    judged = [
        (figure.target.is_reached(value), f"{figure.says} (`bench-{bench.name}`)")
        for bench in BENCHES
        for figure, value in _values(bench, kept.get(bench.name))
        if figure.target and value is not None
    ]
    if not judged:
        return
    missed = [says for is_reached, says in judged if not is_reached]
    yield f"Of {len(judged)} targets that were measured {len(judged) - len(missed)} are reached."
    if missed:
        yield f"Missed: {'; '.join(missed)}."
    yield ""


def _section(bench: Bench, found: dict[str, Any] | None) -> str:
    lines = [f"## {bench.title}", "", f"`make bench ONLY={bench.name}`. {bench.says}", ""]
    if found is None:
        return "\n".join([*lines, "Not measured yet.", ""])
    if "failed" in found:
        lines += [f"Failed: {found['failed']}.", ""]
    if "figures" not in found:
        return "\n".join(lines)
    lines += ["| Figure | Measured | Target | Reached |", "| --- | --: | --: | :-: |"]
    for figure, value in _values(bench, found):
        target = figure.target
        bound = target.says if target else ""
        reached = _said(target.is_reached(value)) if target and value is not None else ""
        lines.append(f"| {figure.says} | {_said(value)} | {bound} | {reached} |")
    shown = {figure.key for figure in bench.figures}
    others = {key: value for key, value in found["figures"].items() if key not in shown}
    if others:
        lines += ["", f"Also in its line: {', '.join(_others(others))}."]
    return "\n".join([*lines, ""])


def _others(others: Line) -> Iterator[str]:
    for key, value in others.items():
        if isinstance(value, Mapping):
            yield from (f"{key} {text}" for text in _others(value))
        elif not isinstance(value, list):
            yield f"{key} {_said(value)}"


def _values(bench: Bench, found: dict[str, Any] | None) -> list[tuple[Figure, Value]]:
    if not found or "figures" not in found:
        return []
    line = {**found["figures"], **bench.derive(found["figures"])}
    return [(figure, line.get(figure.key)) for figure in bench.figures]


def _said(value: object) -> str:
    if value is None:
        return "not here"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - digits
    return str(value)


def is_pictured(kept: Kept) -> bool:
    """Tell whether there is anything to draw."""
    return any("figures" in kept.get(name, {}) for name in PICTURED)


def stamp(kept: Kept) -> str:
    """Return what tells a picture of these figures from one of others."""
    drawn = [kept.get(name, {}).get("figures") for name in PICTURED]
    return hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()[:16]


def quotes(kept: Kept, language: str = "en") -> str:
    """Return a few figures of the page, in the words of the README of *language*."""
    by_name = {bench.name: bench for bench in BENCHES}
    rows = []
    for (name, key), chinese in QUOTED.items():
        bench = by_name[name]
        for figure, value in _values(bench, kept.get(name)):
            if figure.key == key and value is not None:
                says = chinese if language == "zh" else f"{bench.title}: {figure.says}"
                bound = figure.target.says if figure.target else ""
                if language == "zh":
                    bound = bound.replace("at least", "不低于").replace("at most", "不高于")
                rows.append(f"| {says} | {_said(value)} | {bound} |")
    if not rows:
        return _NOTHING[language]
    return "\n".join([_COLUMNS[language], "|---|--:|--:|", *rows, ""])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
