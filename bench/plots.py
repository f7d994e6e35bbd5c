"""Draws docs/performance.svg from docs/performance.json: the limit, the peers, the growth.

make bench
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from bench.report import PICTURE, PICTURED, Kept, is_pictured, read, stamp

OURS, THEIRS, LIMIT = "#c4392f", "#33658a", "#444444"
BY_COUNT = {"1": "#9db4c0", "4": "#33658a", "20": "#16324f"}
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "redpacket",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
}


def main() -> None:
    """Draw what there is."""
    kept = read()
    if is_pictured(kept):
        draw(kept)
    else:
        PICTURE.unlink(missing_ok=True)


def draw(kept: Kept) -> None:
    """Draw one panel for each bench that has figures."""
    mpl.use("svg")
    found = {name: kept[name]["figures"] for name in PICTURED if "figures" in kept.get(name, {})}
    panels = {"claim": _claim, "peers": _peers, "growth": _growth}
    with mpl.rc_context(STYLE):
        figure, row = plt.subplots(1, len(found), figsize=(3.7 * len(found), 2.6), squeeze=False)
        for axes, (name, line) in zip(row[0], found.items(), strict=True):
            panels[name](axes, line)
        figure.tight_layout()
        figure.savefig(PICTURE, metadata={"Date": None, "Description": stamp(kept)})


def _claim(axes: Axes, line: Mapping[str, Any]) -> None:
    names = {
        "repeat": "owner asks again",
        "sold_out": "loser",
        "win": "winner",
        "seed003": "script 003",
        "seed001": "script 001",
    }
    _bars(axes, {says: line.get(key) for key, says in names.items()}, ours=3)
    axes.axvline(1, color=LIMIT, linewidth=0.8, linestyle=":")
    axes.set_title("speed relative to an empty script")


def _peers(axes: Axes, line: Mapping[str, Any]) -> None:
    names = {
        "script": "one script",
        "adapter": "adapter",
        "separate": "three commands",
        "postgres_async": "PostgreSQL, async",
        "postgres": "PostgreSQL, durable",
        "lock": "lock",
        "watch": "WATCH",
    }
    # The line is of 4 processes; those of 1 and 20 are in it.
    by_count = {"1": line.get("with_1", {}), "4": line, "20": line.get("with_20", {})}
    drawn = {count: found for count, found in by_count.items() if found}
    says = [text for key, text in names.items() if line.get(key) is not None]
    height = 0.8 / len(drawn)
    for place, (count, found) in enumerate(drawn.items()):
        values = [found.get(key) or 0 for key in names if line.get(key) is not None]
        rows = [row + (place - (len(drawn) - 1) / 2) * height for row in range(len(says))]
        bars = axes.barh(rows, values, height=height * 0.9, color=BY_COUNT[count], label=count)
        axes.bar_label(bars, fmt="%.2f", padding=2, fontsize=6)
    axes.set_yticks(range(len(says)), says)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    if len(drawn) > 1:
        axes.legend(title="processes", frameon=False, fontsize=7, title_fontsize=7)
    axes.set_title("claims a second relative to one script")


def _bars(axes: Axes, values: Mapping[str, float | None], *, ours: int) -> None:
    drawn = [(says, value) for says, value in values.items() if value is not None]
    says = [name for name, _ in drawn]
    colours = [OURS if name in list(values)[:ours] else THEIRS for name in says]
    bars = axes.barh(says, [value for _, value in drawn], color=colours, height=0.6)
    axes.bar_label(bars, fmt="%.2f", padding=2, fontsize=7)
    axes.invert_yaxis()
    axes.margins(x=0.15)


def _growth(axes: Axes, line: Mapping[str, Any]) -> None:
    sizes = [size for size in (10_000, 100_000, 1_000_000) if str(size) in line]
    values = [line[str(size)] for size in sizes]
    axes.plot(sizes, values, marker="o", ms=4, lw=1.2, color=OURS)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(0, 1.3 * max(values))
    axes.set_title("server CPU of a claim in µs, by shares")


if __name__ == "__main__":
    main()
