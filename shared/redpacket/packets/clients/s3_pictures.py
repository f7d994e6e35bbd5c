"""Pictures in the stack's bucket; its lifecycle deletes those that no packet uses."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from redpacket.packets.model.picture import Picture
from redpacket.platform.aws.errors import translated

if TYPE_CHECKING:
    from collections.abc import Callable

_NEW = "state=new"
"""Tag of objects that the bucket's lifecycle rule deletes after a day."""
_KEPT = {"TagSet": [{"Key": "state", "Value": "kept"}]}
_OWNER = "owner"


class S3Pictures:
    """AWS implementation of Pictures: the key is the id, and the metadata has the owner's id."""

    def __init__(self, connect: Callable[[], Any], bucket: str) -> None:
        self._connect = connect
        self._bucket = bucket

    @cached_property
    def _s3(self) -> Any:  # noqa: ANN401 - boto3's clients have no type at run time
        return self._connect()

    def put(self, picture_id: str, picture: Picture, owner_id: str) -> None:
        self._put(picture_id, picture, {_OWNER: owner_id})

    def find(self, picture_id: str) -> Picture | None:
        answer = self._call("get_object", picture_id)
        content = answer["Body"].read() if answer else b""
        return Picture(content, answer["ContentType"]) if answer and content else None

    def owner_of(self, picture_id: str) -> str | None:
        answer = self._call("head_object", picture_id)
        return answer["Metadata"].get(_OWNER) if answer else None

    def keep(self, picture_id: str) -> None:
        self._call("put_object_tagging", picture_id, Tagging=_KEPT)

    def blank(self, picture_id: str) -> None:
        # No function may delete. The rule for unused pictures deletes the empty object.
        self._put(picture_id, Picture(b"", "application/octet-stream"), {})

    def _put(self, picture_id: str, picture: Picture, metadata: dict[str, str]) -> None:
        self._call(
            "put_object",
            picture_id,
            Body=picture.content,
            ContentType=picture.media_type,
            Metadata=metadata,
            Tagging=_NEW,
        )

    def _call(self, operation: str, picture_id: str, **arguments: object) -> dict[str, Any] | None:
        """Return S3's answer, or None for an object that does not exist. Raises Unavailable."""
        with translated("the bucket of pictures"):
            call = getattr(self._s3, operation)
            try:
                answer: dict[str, Any] = call(Bucket=self._bucket, Key=picture_id, **arguments)
            except self._s3.exceptions.ClientError as error:
                # HeadObject has no body, so its code is the status.
                if error.response["Error"]["Code"] in {"NoSuchKey", "404"}:
                    return None
                raise
        return answer
