"""Picture in docs/performance.md: bars for the speed of a claim and of other ways to claim."""

from collections.abc import Mapping
from typing import Any

OURS, THEIRS = "#c4392f", "#33658a"
PANELS = (
    (
        "claim",
        "speed relative to an empty script",
        {
            "repeat": "owner asks again",
            "sold_out": "loser",
            "win": "winner",
            "baseline": "the baseline",
            "baseline_b": "baseline B",
        },
    ),
    (
        "peers",
        "claims a second relative to one script",
        {
            "adapter": "adapter",
            "script": "one script",
            "separate": "three commands",
            "postgres_async": "PostgreSQL, async",
            "postgres": "PostgreSQL, durable",
            "watch": "WATCH",
            "lock": "lock",
        },
    ),
)
OUR_KEYS = {"repeat", "sold_out", "win", "adapter", "script"}
WIDTH, ROW, LABEL, BAR = 380, 20, 130, 200


def draw(kept: Mapping[str, Mapping[str, Any]]) -> str:
    """Return an SVG with one panel for each bench, side by side."""
    height = ROW * (2 + max(len(names) for _, _, names in PANELS))
    size = f'width="{WIDTH * len(PANELS)}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for number, (bench, title, names) in enumerate(PANELS):
        figures = kept.get(bench, {}).get("figures", {})
        values = {key: figures[key] for key in names if figures.get(key) is not None}
        scale = BAR / max(values.values(), default=1)
        left = WIDTH * number
        lines.append(f'<text x="{left + LABEL}" y="{ROW - 5}">{title}</text>')
        for row, (key, value) in enumerate(values.items(), 1):
            top, bar = ROW * row + 4, round(value * scale)
            color = OURS if key in OUR_KEYS else THEIRS
            says = f'y="{top + 12}" text-anchor="end">{names[key]}'
            area = f'y="{top}" width="{bar}" height="{ROW - 4}" fill="{color}"'
            lines += [
                f'<text x="{left + LABEL - 6}" {says}</text>',
                f'<rect x="{left + LABEL}" {area}/>',
                f'<text x="{left + LABEL + bar + 4}" y="{top + 12}">{value:.2f}</text>',
            ]
    return "\n".join([*lines, "</svg>", ""])
