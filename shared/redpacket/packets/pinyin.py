"""Conversion of phrases to simplified characters, and their similarity in writing and pinyin."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opencc import OpenCC


def simplified(text: str) -> str:
    """Return *text* in simplified characters."""
    return text if text.isascii() else _converter().convert(text)


def similarity(entered: str, phrase: str) -> int:
    """Return the similarity of two normalized phrases, from 0 to 100, rounded down."""
    # Import lazily: the imports take 0.2 s, and most users enter the exact passphrase.
    from pypinyin import lazy_pinyin
    from rapidfuzz.fuzz import ratio

    # Compare whole phrases, because part of a long transcript must not pass.
    # Join the syllables, so that pinyin without spaces (gongxifacai) matches.
    written = ratio(entered, phrase)
    spoken = ratio("".join(lazy_pinyin(entered)), "".join(lazy_pinyin(phrase)))
    return int(max(written, spoken))  # Round down: 79.9 is less than 80.


@cache
def _converter() -> OpenCC:
    # Import lazily: the import takes 50 ms.
    from opencc import OpenCC

    return OpenCC("t2s")
