"""Long texts of a row, compressed: a campaign's prizes, and the claims of a final page."""

from __future__ import annotations

import json
from typing import Any

_PLAIN_BYTES_MAX = 400
"""A shorter text stays readable in the console, and would hardly be shorter packed."""


def json_text(value: Any) -> str:  # noqa: ANN401 - any JSON
    """Return *value* as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def packed(text: str) -> str | bytes:
    """Return *text* as it is where it is short, else compressed: its type tells which."""
    plain = text.encode()
    if len(plain) <= _PLAIN_BYTES_MAX:
        return text
    import lzma

    return lzma.compress(plain, format=lzma.FORMAT_RAW, filters=_filters())


def unpacked(text: str | bytes) -> str:
    """Return what `packed` was given."""
    if isinstance(text, str):
        return text
    import lzma

    return lzma.decompress(text, format=lzma.FORMAT_RAW, filters=_filters()).decode()


def _filters() -> list[dict[str, int]]:
    """Return how packed texts are compressed, for ever.

    The smallest window is enough: a hundred prizes are some 40 KB of text. Chinese is three bytes a
    sign and aligned to nothing, so that contexts by position only cost.
    """
    import lzma

    lzma2 = lzma.FILTER_LZMA2
    return [{"id": lzma2, "dict_size": 1 << 18, "lc": 0, "lp": 0, "pb": 0, "nice_len": 273}]
