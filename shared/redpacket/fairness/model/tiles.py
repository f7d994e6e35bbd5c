"""Tiles of the log: the layout of C2SP tlog-tiles, from which clients compute every proof."""

from __future__ import annotations

import re
from typing import NamedTuple

TILE_WIDTH = 256
TILE_LEVELS = 8
"""Levels of the tree between two levels of tiles."""

TILE_PATTERN = r"(entries|0|[1-9]|[1-5]\d|6[0-3])/((?:x\d{3}/){0,3}\d{3})(?:\.p/([1-9]\d{0,2}))?"
"""Level, index in parts of three digits, and the width of a partial tile."""


class Tile(NamedTuple):
    """Range of entries, or of hashes on one level of the tree, including *last*."""

    is_bundle: bool
    level: int
    first: int
    last: int


def tile_of(path: str) -> Tile | None:
    """Return the tile at a path below `/tile/`, or None if the layout has no such path."""
    matched = re.fullmatch(TILE_PATTERN, path, re.ASCII)
    if not matched or matched[2].startswith("x000") or int(matched[3] or 1) >= TILE_WIDTH:
        return None
    is_bundle = matched[1] == "entries"
    first = int(re.sub("[x/]", "", matched[2])) * TILE_WIDTH
    last = first + int(matched[3] or TILE_WIDTH) - 1
    return Tile(is_bundle, 0 if is_bundle else TILE_LEVELS * int(matched[1]), first, last)
