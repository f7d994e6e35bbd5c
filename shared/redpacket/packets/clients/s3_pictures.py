"""Picture store in the stack's bucket, whose lifecycle rule deletes unused pictures."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from redpacket.packets.model.picture import PICTURE_TYPES, Picture
from redpacket.platform.aws.errors import translated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_STATE, _NEW, _KEPT = "state", "new", "kept"
"""Object tag and its values. The bucket's lifecycle rule deletes `new` objects after a day."""
_OWNER = "owner"


class S3Pictures:
    """AWS implementation of Pictures: the key is the id, and the metadata has the owner's id."""

    def __init__(self, connect: Callable[[], Any], bucket: str) -> None:
        self._connect = connect
        self._bucket = bucket

    @cached_property
    def _s3(self) -> Any:  # noqa: ANN401 - boto3's clients have no type at run time
        return self._connect()

    def put(
        self, picture_id: str, picture: Picture, owner_id: str, *, is_kept: bool = False
    ) -> None:
        state = _KEPT if is_kept else _NEW
        self._put(picture_id, picture, {_OWNER: owner_id}, state)

    def find(self, picture_id: str) -> Picture | None:
        answer = self._call("get_object", Key=picture_id)
        content = answer["Body"].read() if answer else b""
        # Allow only picture types, because a compromised function could store a web page.
        is_picture = answer and answer["ContentType"] in PICTURE_TYPES
        return (
            Picture(content, answer["ContentType"]) if answer and is_picture and content else None
        )

    def owner_of(self, picture_id: str) -> str | None:
        answer = self._call("head_object", Key=picture_id)
        return answer["Metadata"].get(_OWNER) if answer else None

    def list_ids(self, prefix: str) -> Iterator[str]:
        place = {"Prefix": prefix}
        while answer := self._call("list_objects_v2", **place):
            listed = answer.get("Contents", [])
            # A removed picture remains as an empty object until the lifecycle rule deletes it.
            yield from (each["Key"] for each in listed if each["Size"])
            if not answer["IsTruncated"]:
                return
            place["StartAfter"] = listed[-1]["Key"]

    def keep(self, picture_id: str) -> None:
        tags = {"TagSet": [{"Key": _STATE, "Value": _KEPT}]}
        self._call("put_object_tagging", Key=picture_id, Tagging=tags)

    def blank(self, picture_id: str) -> None:
        # No function may delete objects. The lifecycle rule deletes the empty object as unused.
        self._put(picture_id, Picture(b"", "application/octet-stream"), {}, _NEW)

    def _put(self, picture_id: str, picture: Picture, metadata: dict[str, str], state: str) -> None:
        self._call(
            "put_object",
            Key=picture_id,
            Body=picture.content,
            ContentType=picture.media_type,
            Metadata=metadata,
            Tagging=f"{_STATE}={state}",
        )

    def _call(self, operation: str, **arguments: object) -> dict[str, Any] | None:
        """Return S3's response, or None if the object does not exist. Raises Unavailable."""
        with translated("the bucket of pictures"):
            call = getattr(self._s3, operation)
            try:
                answer: dict[str, Any] = call(Bucket=self._bucket, **arguments)
            except self._s3.exceptions.ClientError as error:
                # HeadObject's response has no body, so its error code is the HTTP status.
                if error.response["Error"]["Code"] in {"NoSuchKey", "404"}:
                    return None
                raise
        return answer
