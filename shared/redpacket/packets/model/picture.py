"""Uploaded pictures: still, bounded in size, and without metadata except a JPEG's orientation."""

from __future__ import annotations

import re
import struct
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

PICTURE_BYTES_MAX = 300 * 1024
PICTURE_SIDE_MAX = 4096
"""Maximum pixels per side. On a phone, a decoded picture takes 4 bytes per pixel, regardless of the
file size.
"""
PICTURE_TYPES = frozenset(("image/png", "image/jpeg", "image/webp"))
PICTURE_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_OWNER_LETTERS = 11
"""Length of the prefix that the ids of one user's pictures share; 11 random characters follow."""
PICTURES_PATH = "/pictures/"
"""Path of pictures on the page's origin and on the API's origin."""

_JPEG_START, _JPEG_MARK, _JPEG_SCAN, _JPEG_END = b"\xff\xd8", 0xFF, 0xDA, 0xD9
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_KEPT = re.compile(
    rb"\xff([\xc0-\xc7\xc9-\xcf\xd9-\xdb\xdd]|\xe0..JFIF\0|\xe2..ICC_PROFILE\0|\xee..Adobe)",
    re.DOTALL,
)
_JPEG_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""Marker that ends the data of a scan."""
_JPEG_EXIF = re.compile(rb"\xff\xe1..Exif\0\0", re.DOTALL)
_EXIF_ORIENTATION, _EXIF_TURNED = 0x0112, range(2, 9)
_EXIF_OF_ORIENTATION = b"\xff\xe1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0%b" + bytes(6)
_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_KEPT = frozenset(
    b"IHDR PLTE IDAT IEND tRNS bKGD gAMA cHRM sRGB iCCP sBIT pHYs".split(),
)
_WEBP_START = re.compile(rb"RIFF.{4}WEBP", re.DOTALL)
_WEBP_KEPT = frozenset((b"VP8X", b"VP8 ", b"VP8L", b"ALPH", b"ICCP"))
_WEBP_ANIMATION, _WEBP_FLAGS_KEPT = 0x02, 0x30

_Parts = Iterator[tuple[bytes, Sequence[int]]]
"""Parts to keep from a file, each with the width and height that the part contains, if any."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Content of an uploaded file; its first bytes identify its type."""

    content: bytes
    media_type: str


def picture_of(content: bytes) -> Picture:
    """Return *content* as a picture without metadata, except the orientation of a JPEG.

    Raises ValueError with the reason if the file is not a picture, or is damaged, animated or too
    large.
    """
    if content.startswith(_PNG_START):
        media_type, chunks = "image/png", _png_parts(content)
    elif content.startswith(_JPEG_START):
        media_type, chunks = "image/jpeg", _jpeg_parts(content)
    elif _WEBP_START.match(content):
        media_type, chunks = "image/webp", _webp_parts(content)
    else:
        raise ValueError("is not a JPEG, PNG or WebP file")
    kept, sides = list[bytes](), list[int]()
    try:
        for part, stated in chunks:
            kept.append(part)
            sides += stated
    except (struct.error, IndexError):
        sides = []
    if not sides or 0 in sides:
        raise ValueError("is damaged or animated. Save it as a still picture")
    if max(sides) > PICTURE_SIDE_MAX:
        raise ValueError(f"has a side of {max(sides)} pixels; the limit is {PICTURE_SIDE_MAX}")
    body = b"".join(kept)
    if media_type == "image/webp":
        body = struct.pack("<4sI4s", b"RIFF", len(body) + 4, b"WEBP") + body
    return Picture(body, media_type)


def owner_prefix(owner_id: str) -> str:
    """Return the prefix of a user's picture ids, so that an erasure can find the pictures."""
    return urlsafe_b64encode(sha256(owner_id.encode()).digest()).decode()[:_OWNER_LETTERS]


def picture_id_of(cover_url: str | None) -> str | None:
    """Return the id in the URL or path of an uploaded picture, or None for any other cover."""
    head, _, picture_id = (cover_url or "").rpartition(PICTURES_PATH)
    return picture_id if "?" not in head and PICTURE_ID.fullmatch(picture_id) else None


def _cut(content: bytes, start: int, end: int) -> bytes:
    if end > len(content):
        raise IndexError
    return content[start:end]


def _png_parts(content: bytes) -> _Parts:
    at, name = len(_PNG_START), b""
    yield _PNG_START, ()
    while name != b"IEND":
        length, name = struct.unpack_from(">I4s", content, at)
        part = _cut(content, at, at + 12 + length)
        if name in _PNG_KEPT:
            yield part, struct.unpack_from(">II", part, 8) if name == b"IHDR" else ()
        at += len(part)


def _jpeg_parts(content: bytes) -> _Parts:
    at, marker, orientation = len(_JPEG_START), 0, 0
    yield _JPEG_START, ()
    while marker != _JPEG_END:
        start, marker = struct.unpack_from(">BB", content, at)
        if start != _JPEG_MARK:
            raise IndexError
        end = at + 2
        if marker != _JPEG_END:
            end += struct.unpack_from(">H", content, end)[0]
        if marker == _JPEG_SCAN:
            following = _JPEG_MARKER.search(content, end)
            end = following.start() if following else len(content) + 1
        part = _cut(content, at, end)
        if not orientation and (exif := _JPEG_EXIF.match(part)):
            orientation = _orientation(part[exif.end() :])
            if orientation in _EXIF_TURNED:
                yield _EXIF_OF_ORIENTATION % bytes((orientation,)), ()
        elif _JPEG_KEPT.match(part):
            yield part, struct.unpack_from(">HH", part, 5) if marker in _JPEG_FRAMES else ()
        at = end


def _orientation(exif: bytes) -> int:
    """Return the orientation from the first EXIF directory, or 1 (upright)."""
    order = "<" if exif.startswith(b"II") else ">"
    try:
        (start,) = struct.unpack_from(f"{order}I", exif, 4)
        (count,) = struct.unpack_from(f"{order}H", exif, start)
        for each in range(count):
            tag, _, _, value = struct.unpack_from(f"{order}HHIH", exif, start + 2 + 12 * each)
            if tag == _EXIF_ORIENTATION:
                return int(value) or 1
    except struct.error:
        pass
    return 1


def _webp_parts(content: bytes) -> _Parts:
    at, end = 12, 8 + int(struct.unpack_from("<I", content, 4)[0])
    while at < end:
        name, length = struct.unpack_from("<4sI", content, at)
        part = _cut(content, at, at + 8 + length + length % 2)
        if name == b"VP8X":
            flags = part[8]
            if flags & _WEBP_ANIMATION:
                raise IndexError
            part = part[:8] + bytes((flags & _WEBP_FLAGS_KEPT,)) + part[9:]
        if name in _WEBP_KEPT:
            yield part, _webp_sides(name, part)
        at += len(part)


def _webp_sides(name: bytes, part: bytes) -> tuple[int, ...]:
    if name == b"VP8X":
        low, high, low_y, high_y = struct.unpack_from("<HBHB", part, 12)
        return low + (high << 16) + 1, low_y + (high_y << 16) + 1
    if name == b"VP8L":
        (bits,) = struct.unpack_from("<I", part, 9)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if name == b"VP8 ":
        return tuple(side & 0x3FFF for side in struct.unpack_from("<HH", part, 14))
    return ()
