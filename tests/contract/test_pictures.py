"""Suite for users' uploaded pictures: the fake, and the bucket on the emulator."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from redpacket.packets.clients.s3_pictures import S3Pictures
from redpacket.packets.model.picture import Picture
from redpacket.packets.ports import Pictures
from testing.fakes import FakePictures
from testing.platform.cloud import Cloud

PICTURE = Picture(b"\xff\xd8\xff\xe0", "image/jpeg")


@dataclass
class Shelf:
    """Implementation under test, and a way to see whether it keeps a picture beyond a day."""

    pictures: Pictures
    is_kept: Callable[[str], bool]


@pytest.fixture(params=["fake", "bucket"])
def shelf(request: pytest.FixtureRequest) -> Iterator[Shelf]:
    if request.param == "fake":
        fake = FakePictures()
        yield Shelf(fake, lambda picture_id: picture_id in fake.kept)
        return
    cloud: Cloud = request.getfixturevalue("cloud")
    s3, bucket = cloud.aws("s3"), f"pictures-{uuid.uuid4().hex[:8]}"
    s3.create_bucket(Bucket=bucket)

    def is_kept(picture_id: str) -> bool:
        (tag,) = s3.get_object_tagging(Bucket=bucket, Key=picture_id)["TagSet"]
        assert tag["Key"] == "state"
        return tag["Value"] != "new"

    yield Shelf(S3Pictures(lambda: s3, bucket), is_kept)


def test_pictures_are_listed_by_the_prefix_of_their_ids(shelf: Shelf) -> None:
    pictures = shelf.pictures
    for picture_id in ("ann-1", "ann-2", "bob-1"):
        pictures.put(picture_id, PICTURE, "any")

    assert sorted(pictures.list_ids("ann-")) == ["ann-1", "ann-2"]
    pictures.blank("ann-1")
    assert list(pictures.list_ids("ann-")) == ["ann-2"]
    assert list(pictures.list_ids("cat-")) == []


def test_a_picture_belongs_to_its_owner_until_it_is_blanked(shelf: Shelf) -> None:
    pictures = shelf.pictures
    pictures.keep("one")
    assert (pictures.find("one"), pictures.owner_of("one")) == (None, None)

    pictures.put("one", PICTURE, "ann")
    assert (pictures.find("one"), pictures.owner_of("one")) == (PICTURE, "ann")
    assert not shelf.is_kept("one")
    pictures.keep("one")
    pictures.keep("one")
    assert shelf.is_kept("one")
    assert (pictures.find("one"), pictures.owner_of("one")) == (PICTURE, "ann")

    pictures.put("page", Picture(b"<p>", "text/html"), "ann")
    assert pictures.find("page") is None
    pictures.put("two", PICTURE, "ann", is_kept=True)
    assert shelf.is_kept("two")
    assert pictures.owner_of("two") == "ann"

    pictures.blank("one")
    assert (pictures.find("one"), pictures.owner_of("one")) == (None, None)
    assert not shelf.is_kept("one")
