"""Public user tokens: the same for a user every time, telling nothing, forgeable by nobody.

A synthetic-IV construction on HMAC-SHA256: the tag is a keyed hash of the user id, and the id is
masked with a keystream of the tag: whoever has the key can read the id back, so tokens need no
storage. Ids are padded, so that lengths tell nothing about short ones.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Any

from redpacket.adapters.aws_errors import translated

_TAG_BYTES = 10
"""80 bits: guessing a token that is accepted takes 2^79 requests on average."""

_PADDED_BYTES = 20
"""Employee numbers and the like all get the same length; longer ids keep their own."""


class KeyedTokens:
    """Implements PublicTokens with one secret; another secret makes all other tokens."""

    def __init__(self, secret: str) -> None:
        self._tag_key = hashlib.sha256(b"redpacket-token-tag" + secret.encode()).digest()
        self._mask_key = hashlib.sha256(b"redpacket-token-mask" + secret.encode()).digest()

    def token_of(self, user_id: str) -> str:
        plain = user_id.encode().ljust(_PADDED_BYTES, b"\0")
        tag = self._tag(plain)
        masked = self._mask(tag, plain)
        return base64.urlsafe_b64encode(tag + masked).rstrip(b"=").decode()

    def find_user(self, token: str) -> str | None:
        try:
            data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
            tag, masked = data[:_TAG_BYTES], data[_TAG_BYTES:]
            user_id = self._mask(tag, masked).rstrip(b"\0").decode()
        except ValueError:
            return None
        # One form only: whatever decodes to the same bytes is not the token that was made.
        return user_id if hmac.compare_digest(self.token_of(user_id), token) else None

    def _tag(self, plain: bytes) -> bytes:
        return hmac.digest(self._tag_key, plain, "sha256")[:_TAG_BYTES]

    def _mask(self, tag: bytes, data: bytes) -> bytes:
        stream = hashlib.shake_256(self._mask_key + tag).digest(len(data))
        return bytes(left ^ right for left, right in zip(data, stream, strict=True))


def load_tokens(connect: Callable[[], Any], secret_arn: str) -> KeyedTokens:
    """Return the maker of tokens with the key in Secrets Manager. Raises Unavailable."""
    with translated("the store of the public tokens' key"):
        secret = connect().get_secret_value(SecretId=secret_arn)
    return KeyedTokens(secret["SecretString"])
