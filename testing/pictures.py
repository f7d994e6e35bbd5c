"""Small PNG, JPEG and WebP pictures, with optional parts and any declared size."""

import struct
import zlib
from base64 import b64decode

_RIFF_HEAD = 12
_JPEG_1X1 = b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////"
    "////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAA"
    "AAAAAAAAAAD/2gAIAQEAAD8AN//Z"
)
_JPEG_JFIF_END = 20
_WEBP_1X1 = b64decode("UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAgA0JaQAA3AA/vuUAAA=")


def png_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(width: int = 1, height: int = 1, *parts: bytes) -> bytes:
    """Return a black picture with *parts* before its data."""
    data = zlib.compress(bytes((1 + width) * height) if width * height < 10**6 else b"")
    head = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    end = png_chunk(b"IDAT", data) + png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(parts) + end


def jpeg_segment(marker: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(data) + 2) + data


def exif_segment(orientation: int, order: str, *, secret: bytes = b"") -> bytes:
    """Return an Exif segment with an *orientation*, in byte *order* (`>` is big-endian), followed
    by *secret* bytes.
    """
    tiff = (b"MM\0*" if order == ">" else b"II*\0") + struct.pack(f"{order}I", 8)
    entries = struct.pack(f"{order}HHHIHH", 1, 0x0112, 3, 1, orientation, 0) + bytes(4)
    return jpeg_segment(0xE1, b"Exif\0\0" + tiff + entries + secret)


def jpeg(width: int = 1, height: int = 1, *parts: bytes) -> bytes:
    """Return a picture with *parts* after its first segment."""
    size = _JPEG_1X1.replace(b"\x08\x00\x01\x00\x01", struct.pack(">BHH", 8, height, width))
    return size[:_JPEG_JFIF_END] + b"".join(parts) + size[_JPEG_JFIF_END:]


def webp_chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)


def webp(width: int = 1, height: int = 1, *parts: bytes) -> bytes:
    """Return a picture with *parts* before its data."""
    size = b"\x9d\x01\x2a"
    at = _WEBP_1X1.index(size) + len(size)
    frame = _WEBP_1X1[_RIFF_HEAD:at] + struct.pack("<HH", width, height) + _WEBP_1X1[at + 4 :]
    body = b"WEBP" + b"".join(parts) + frame
    return b"RIFF" + struct.pack("<I", len(body)) + body


def webp_lossless(width: int, height: int) -> bytes:
    bits = struct.pack("<BI", 0x2F, (width - 1) | (height - 1) << 14)
    return webp(1, 1, webp_chunk(b"VP8L", bits))


def webp_canvas(width: int, height: int, *, flags: int = 0) -> bytes:
    """Return the chunk that declares a canvas size."""
    low = struct.pack("<I", flags)
    return webp_chunk(
        b"VP8X", low + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    )
