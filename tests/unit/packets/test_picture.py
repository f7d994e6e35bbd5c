"""Uploaded pictures: they lose their metadata, and damaged or very large ones are refused."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redpacket.packets.model.picture import (
    PICTURE_ID,
    PICTURE_SIDE_MAX,
    PICTURES_PATH,
    picture_of,
)
from redpacket.platform.image_url import UPLOADED
from testing.pictures import (
    exif_segment,
    jpeg,
    jpeg_segment,
    png,
    png_chunk,
    webp,
    webp_canvas,
    webp_chunk,
    webp_lossless,
)

EXIF_DIRECTORY_AT = 18
"""Number of bytes in an EXIF segment before its first directory."""
SECRET = b"31.2304N 121.4737E"
JFIF_THUMBNAIL = b"JFXX\0" + SECRET
PROFILE = jpeg_segment(0xE2, b"ICC_PROFILE\0\1\1colors")
ADOBE = jpeg_segment(0xEE, b"Adobe\0d\0\0\0\0\1")


@pytest.mark.parametrize(
    ("given_file", "kept"),
    [
        (
            png(3, 2, *(png_chunk(n, SECRET) for n in (b"eXIf", b"tEXt", b"zTXt", b"iTXt"))),
            png(3, 2),
        ),
        (png(3, 2, png_chunk(b"acTL", bytes(8)), png_chunk(b"prVW", SECRET)), png(3, 2)),
        (
            png(3, 2, png_chunk(b"gAMA", b"\0\0\xb1\x8f")),
            png(3, 2, png_chunk(b"gAMA", b"\0\0\xb1\x8f")),
        ),
        (png() + SECRET, png()),
        (jpeg(3, 2, jpeg_segment(0xE1, b"Exif\0\0" + SECRET)), jpeg(3, 2)),
        (jpeg(3, 2, jpeg_segment(0xED, SECRET), jpeg_segment(0xFE, SECRET)), jpeg(3, 2)),
        (jpeg(3, 2, jpeg_segment(0xE0, JFIF_THUMBNAIL)), jpeg(3, 2)),
        (jpeg(3, 2, jpeg_segment(0xE2, b"MPF\0" + SECRET), PROFILE), jpeg(3, 2, PROFILE)),
        (jpeg(3, 2, ADOBE), jpeg(3, 2, ADOBE)),
        (jpeg() + jpeg(1, 1, jpeg_segment(0xE1, SECRET)), jpeg()),
        (jpeg()[:-2] + jpeg_segment(0xE1, SECRET) + b"\xff\xd9", jpeg()),
        (
            webp(3, 2, webp_canvas(3, 2, flags=0x3C), webp_chunk(b"EXIF", SECRET + b"!")),
            webp(3, 2, webp_canvas(3, 2, flags=0x30)),
        ),
        (webp(3, 2, webp_chunk(b"XMP ", SECRET), webp_chunk(b"????", SECRET)), webp(3, 2)),
        (webp() + SECRET, webp()),
    ],
)
def test_only_the_image_remains(given_file: bytes, kept: bytes) -> None:
    assert picture_of(given_file).content == kept
    assert picture_of(kept).content == kept


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("orientation", range(9))
def test_a_photo_stays_upright(order: str, orientation: int) -> None:
    exif = exif_segment(orientation, order, secret=SECRET)
    kept = exif_segment(orientation, ">") if orientation > 1 else b""

    picture = picture_of(jpeg(3, 2, exif))

    assert picture.content == jpeg(3, 2, kept)
    assert picture_of(picture.content) == picture


@pytest.mark.parametrize("order", ["<", ">"])
def test_only_the_first_directory_turns_a_photo(order: str) -> None:
    """The second directory belongs to a thumbnail, and a text may contain any bytes."""
    thumbnail = exif_segment(6, order)[EXIF_DIRECTORY_AT:]

    picture = picture_of(jpeg(3, 2, exif_segment(1, order, secret=thumbnail)))

    assert picture.content == jpeg(3, 2)


def test_only_the_first_exif_segment_turns_a_photo() -> None:
    first, second = exif_segment(6, ">"), exif_segment(3, ">")

    assert picture_of(jpeg(3, 2, first, second, second)).content == jpeg(3, 2, first)


@pytest.mark.parametrize("length", range(len(exif_segment(6, ">")) - 4))
def test_a_damaged_exif_segment_is_dropped(length: int) -> None:
    segment = jpeg_segment(0xE1, exif_segment(6, ">")[4 : 4 + length])

    assert picture_of(jpeg(3, 2, segment)).content in {jpeg(3, 2), jpeg(3, 2, exif_segment(6, ">"))}


@pytest.mark.parametrize("make", [png, jpeg, webp, webp_lossless])
def test_each_side_is_bounded(make: Callable[[int, int], bytes]) -> None:
    for width, height in ((PICTURE_SIDE_MAX, 1), (1, PICTURE_SIDE_MAX)):
        picture_of(make(width, height))
    for width, height in ((PICTURE_SIDE_MAX + 1, 1), (1, 16_000)):
        with pytest.raises(ValueError, match=r"has a side of \d+ pixels; the limit is 4096"):
            picture_of(make(width, height))


def test_each_stated_size_counts() -> None:
    frame = jpeg_segment(0xC2, b"\x08\x3e\x80\x3e\x80\x01\x01\x11\x00")
    for large in (jpeg(1, 1, frame), webp(1, 1, webp_canvas(16_000, 16_000))):
        with pytest.raises(ValueError, match="has a side of 16000 pixels"):
            picture_of(large)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is not a JPEG"),
        (b"<svg onload='x'/>", "is not a JPEG"),
        (b"<!-- RIFF\x24\x00\x00\x00WEBP", "is not a JPEG"),
        (png(0, 1), "is damaged"),
        (jpeg(1, 0), "is damaged"),
        (b"\xff\xd8\xff\xd9", "is damaged"),
        (webp(1, 1, webp_canvas(1, 1, flags=0x02)), "or animated"),
        (webp().replace(b"VP8 ", b"ANMF"), "or animated"),
    ],
)
def test_another_file_is_refused_with_the_reason(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        picture_of(content)


@pytest.mark.parametrize("whole", [png(), jpeg(), webp()])
def test_each_truncated_file_is_refused(whole: bytes) -> None:
    for length in range(len(whole)):
        with pytest.raises(ValueError, match="is "):
            picture_of(whole[:length])


@given(st.sampled_from([png(), jpeg(), webp(), webp_lossless(1, 1)]), st.data())
def test_damaged_files_never_crash_the_reader(whole: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(2, len(whole)))
    damaged = (
        whole[:at] + data.draw(st.binary(max_size=24)) + whole[at + data.draw(st.integers(0, 24)) :]
    )
    try:
        picture = picture_of(damaged)
    except ValueError:
        return
    assert picture_of(picture.content) == picture


def test_covers_and_prizes_accept_exactly_the_paths_of_uploaded_pictures() -> None:
    # The pattern has two copies, because GrabFunction imports `image_url` without `picture`.
    assert PICTURES_PATH + PICTURE_ID.pattern == UPLOADED
