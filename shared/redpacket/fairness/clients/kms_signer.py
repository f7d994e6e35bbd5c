"""Signer that signs the log's heads with a KMS key."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from redpacket.platform.aws.errors import translated

_DER_PREFIX = bytes.fromhex("302a300506032b6570032100")
"""Bytes that precede the key in its SubjectPublicKeyInfo encoding."""


class KmsSigner:
    """KMS implementation of HeadSigner: Ed25519."""

    def __init__(self, connect: Callable[[], Any], key_id: str) -> None:
        self._connect = connect
        self._key = {"KeyId": key_id}

    @cached_property
    def _client(self) -> Any:  # noqa: ANN401 - boto3's clients have no type at run time
        return self._connect()

    def sign(self, message: bytes) -> bytes:
        terms = {"MessageType": "RAW", "SigningAlgorithm": "ED25519_SHA_512"}
        with translated("the key service"):
            signature: bytes = self._client.sign(Message=message, **terms, **self._key)["Signature"]
        return signature

    @cached_property
    def _public_key(self) -> bytes:
        with translated("the key service"):
            der: bytes = self._client.get_public_key(**self._key)["PublicKey"]
        return der.removeprefix(_DER_PREFIX)

    def public_key(self) -> bytes:
        return self._public_key
