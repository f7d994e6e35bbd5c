"""Text skeletons from Unicode's table of confusable characters (UTS #39)."""

from __future__ import annotations

import unicodedata
from functools import cache


def skeleton_of(text: str) -> str:
    """Return the text with each character replaced by the representative of its look-alikes."""
    return "".join(map(_stand_in, unicodedata.normalize("NFKC", text)))


@cache
def _stand_in(letter: str) -> str:
    # Import lazily: the import takes 0.1 s, and few requests need a skeleton.
    from confusable_homoglyphs.confusables import confusables_data

    alike, remaining = {letter}, [letter]
    while remaining:
        others = {entry["c"] for entry in confusables_data.get(remaining.pop(), ())}
        remaining += [other for other in others - alike if len(other) == 1]
        alike.update(remaining)
    return min(alike, key=_rank)


def _rank(letter: str) -> tuple[bool, bool, str]:
    """Return a rank that prefers lowercase, then uppercase Latin letters: l for 1, I and |."""
    return not "a" <= letter <= "z", not "A" <= letter <= "Z", letter
