"""Plots of the lucky splits in docs/gallery.webp, and their figures in docs/reference/splits.md.

`make docs` runs this module.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from redpacket.packets.split import Split
from testing.fairness.splits import LUCKY, PACKETS, SIZES, Fairness, measure, packets_of

DOCS = Path(__file__).parents[1] / "docs"
PICTURE = DOCS / "gallery.webp"
PAGE = DOCS / "reference" / "splits.md"
BEGIN, END = "<!-- gallery:begin -->", "<!-- gallery:end -->"

COLOURS = {"100 yuan": "#c4392f", "0.20 yuan": "#33658a"}
BINS = 60
STYLE = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
}


def main() -> None:
    """Measure, draw and write."""
    mpl.use("agg")
    with mpl.rc_context(STYLE):
        figure, rows = plt.subplots(len(LUCKY), 4, figsize=(11, 2 * len(LUCKY) + 0.4))
        lines = []
        for row, split in zip(rows, LUCKY, strict=True):
            by_size = {}
            for size, (total_fen, count) in SIZES.items():
                packets = list(packets_of(split, total_fen, count, PACKETS))
                by_size[size] = measure(packets)
                amounts = Counter(amount for packet in packets for amount in packet)
                axes = row[0] if size == "100 yuan" else row[1]
                _draw_amounts(axes, amounts, COLOURS[size], is_fine=size == "100 yuan")
                lines.append(_line(split, size, by_size[size]))
            row[0].set_ylabel(split.value, fontsize=9, fontweight="bold")
            means = {size: fair.means for size, fair in by_size.items()}
            _draw_positions(row[2], means, (0.95, 1.05))
            chances = {size: fair.luckiest for size, fair in by_size.items()}
            _draw_positions(row[3], chances, (0.06, 0.14))
            print(f"Drew {split}")
        titles = (
            "share in yuan, of 100 yuan / 10",
            "share in fen, of 0.20 yuan / 10",
            "mean of a position / fair share",
            "chance to be the luckiest",
        )
        for axes, title in zip(rows[0], titles, strict=True):
            axes.set_title(title)
        rows[0][2].legend(frameon=False, ncols=2, loc="upper center", fontsize=7)
        figure.tight_layout()
        figure.savefig(PICTURE, dpi=120, pil_kwargs={"lossless": True, "method": 6})
    _write("\n".join(lines))


def _draw_amounts(axes: Axes, amounts: Counter[int], colour: str, *, is_fine: bool) -> None:
    total = amounts.total()
    if not is_fine:
        axes.bar(
            list(amounts), [times / total for times in amounts.values()], color=colour, width=0.7
        )
        axes.set_xlim(0.3, 10.7)
        axes.set_xticks(range(1, 11))
    else:
        # Leave out the largest thousandth of the shares, because a few are far out.
        last = max(amount for amount in amounts if _share_above(amounts, amount) >= total / 1_000)
        first = min(amounts)
        width = max(1, (last - first) // BINS)
        bins = Counter((amount - first) // width for amount in amounts.elements())
        kept = range((last - first) // width)
        axes.stairs(
            [bins[number] / total for number in kept],
            [(first + width * number) / 100 for number in range(len(kept) + 1)],
            fill=True,
            color=colour,
        )
        axes.axvline(10, color="#444444", linewidth=0.8, linestyle=":")
    axes.set_yticks([])
    axes.set_ylim(bottom=0)


def _share_above(amounts: Counter[int], bound: int) -> int:
    return sum(times for amount, times in amounts.items() if amount >= bound)


def _draw_positions(
    axes: Axes, lines: Mapping[str, Sequence[float]], bounds: tuple[float, float]
) -> None:
    for size, values in lines.items():
        axes.plot(range(1, 11), values, marker="o", ms=3, lw=1, color=COLOURS[size], label=size)
    axes.axhline(sum(bounds) / 2, color="#444444", linewidth=0.8, linestyle=":")
    axes.set_ylim(*bounds)
    axes.set_xticks(range(1, 11))


def _line(split: Split, size: str, fairness: Fairness) -> str:
    means = f"{min(fairness.means):.4f} to {max(fairness.means):.4f}"
    luckiest = f"{min(fairness.luckiest):.4f} to {max(fairness.luckiest):.4f}"
    middle = sum(fairness.luckiest[3:7]) / 4
    ends = ", ".join(f"{chance:.3f}" for chance in fairness.luckiest[-2:])
    return f"| `{split}` | {size} / 10 | {means} | {luckiest} | {middle:.3f} | {ends} |"


def _write(lines: str) -> None:
    head = "| Split | Packet | Mean / fair | Chance to be the luckiest | Middle four | Last two |"
    text = f"{head}\n| --- | --- | --- | --- | --: | --: |\n{lines}\n"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
