"""Pictures that users upload as covers of their packets."""

from __future__ import annotations

import re
from dataclasses import dataclass

PICTURE_BYTES_MAX = 300 * 1024
PICTURE_ID = re.compile(r"[A-Za-z0-9_-]{22}")
RANDOM_BYTES = 16
"""Bytes of an id, which names nobody."""
PICTURES_PATH = "/pictures/"
"""Path of pictures on the page's own origin and on the API's."""

_TYPES = {
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.DOTALL),
}
"""Allowed media types by the first bytes of a file; none of them runs scripts."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Content of an uploaded file, whose type its first bytes say."""

    content: bytes
    media_type: str


def picture_of(content: bytes) -> Picture | None:
    """Return the picture that *content* is, or None if it is no picture that users may upload."""
    types = (name for name, head in _TYPES.items() if head.match(content))
    media_type = next(types, None)
    return Picture(content, media_type) if media_type else None


def picture_id_of(cover_url: str | None) -> str | None:
    """Return the id in the URL or path of an uploaded picture, or None for any other cover."""
    head, _, picture_id = (cover_url or "").rpartition(PICTURES_PATH)
    return picture_id if "?" not in head and PICTURE_ID.fullmatch(picture_id) else None
