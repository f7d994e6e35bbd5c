"""Compression for long attributes, such as a campaign's prizes or the claims on a final page."""

from __future__ import annotations

import json
from typing import Any

_PLAIN_BYTES_MAX = 450
"""Maximum bytes of text that is stored plain, because compression would hardly shorten it."""


def json_text(value: Any) -> str:  # noqa: ANN401 - any JSON
    """Return *value* as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def packed(text: str) -> str | bytes:
    """Return short *text* unchanged and long text compressed; the type shows which."""
    plain = text.encode()
    if len(plain) <= _PLAIN_BYTES_MAX:
        return text
    import lzma

    return lzma.compress(plain, format=lzma.FORMAT_RAW, filters=_filters())


def unpacked(text: str | bytes) -> str:
    """Return the text that `packed` received."""
    if isinstance(text, str):
        return text
    import lzma

    return lzma.decompress(text, format=lzma.FORMAT_RAW, filters=_filters()).decode()


def _filters() -> list[dict[str, int]]:
    """Return LZMA filters for Chinese text up to 40 KB. Stored rows depend on these filters."""
    import lzma

    lzma2 = lzma.FILTER_LZMA2
    return [{"id": lzma2, "dict_size": 1 << 18, "lc": 0, "lp": 0, "pb": 0, "nice_len": 273}]
