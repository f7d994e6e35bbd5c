"""KMS key that signs the log's heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redpacket.platform.aws.errors import translated

_DER_PREFIX = bytes.fromhex("302a300506032b6570032100")
"""Bytes before the key in its SubjectPublicKeyInfo."""


class KmsSigner:
    """KMS implementation of HeadSigner: Ed25519."""

    def __init__(self, connect: Callable[[], Any], key_id: str) -> None:
        self._connect = connect
        self._key_id = key_id
        self._client: Any = None
        self._public_key = b""

    def sign(self, message: bytes) -> bytes:
        with translated("the key service"):
            answer = self._open().sign(
                KeyId=self._key_id,
                Message=message,
                MessageType="RAW",
                SigningAlgorithm="ED25519_SHA_512",
            )
        signature: bytes = answer["Signature"]
        return signature

    def public_key(self) -> bytes:
        if not self._public_key:
            with translated("the key service"):
                answer = self._open().get_public_key(KeyId=self._key_id)
            self._public_key = answer["PublicKey"].removeprefix(_DER_PREFIX)
        return self._public_key

    def _open(self) -> Any:  # noqa: ANN401 - boto3's clients have no type at run time
        if self._client is None:
            self._client = self._connect()
        return self._client
