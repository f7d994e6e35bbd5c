"""Tiles of the log: the layout of C2SP tlog-tiles, from which clients compute every proof."""

from __future__ import annotations

import re
from dataclasses import dataclass

TILE_WIDTH = 256
"""Hashes of a full tile, and entries of a full bundle."""

TILE_LEVELS = 8
"""Levels of the tree between two levels of tiles."""

TILE_PATTERN = r"(entries|0|[1-9]|[1-5]\d|6[0-3])/((?:x\d{3}/){0,3}\d{3})(?:\.p/([1-9]\d{0,2}))?"
"""Level, index in parts of three digits, and the width of a partial tile."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A range of hashes of one level of the tree, or of entries."""

    is_bundle: bool
    level: int
    first: int
    width: int

    @property
    def nodes(self) -> list[tuple[int, int]]:
        """The nodes of the tree whose hashes make the tile."""
        return [(self.level, number) for number in range(self.first, self.first + self.width)]

    def is_in(self, size: int) -> bool:
        """Return whether a log of *size* has the whole tile."""
        return self.first + self.width <= size >> self.level


def tile_of(path: str) -> Tile | None:
    """Return the tile of a path below `/tile/`, or None if the layout has no such path."""
    found = re.fullmatch(TILE_PATTERN, path, re.ASCII)
    if not found or found[2].startswith("x000"):
        return None
    index, width = int(re.sub("[x/]", "", found[2])), int(found[3] or TILE_WIDTH)
    if found[3] and width >= TILE_WIDTH:
        return None
    is_bundle = found[1] == "entries"
    level = 0 if is_bundle else TILE_LEVELS * int(found[1])
    return Tile(is_bundle, level, index * TILE_WIDTH, width)


def bundle_of(texts: list[str]) -> bytes:
    """Return entries as a bundle: each after its length in two bytes."""
    return b"".join(len(text.encode()).to_bytes(2) + text.encode() for text in texts)
