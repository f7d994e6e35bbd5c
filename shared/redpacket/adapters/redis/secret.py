"""The password of a cache whose owner keeps it in Secrets Manager."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from redis.exceptions import ConnectionError as NoConnection

from redpacket.adapters.aws.errors import translated
from redpacket.domain.errors import Unavailable

_ASKED_AGAIN_S = 5.0
"""After a failure: a request that waits for two connections must not wait for two time-outs."""


class CacheSecret:
    """Read at each connection, so that a password that rotates is followed."""

    def __init__(
        self,
        connect: Callable[[], Any],
        secret_arn: str,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._secret_arn = secret_arn
        self._now_s = now_s
        self._client: Any = None
        self._known = ""
        self._silent_until_s = 0.0

    def __call__(self) -> str:
        """Return the password, or the last one that was known. Raises redis-py's error."""
        if self._now_s() >= self._silent_until_s:
            try:
                self._read()
            except Unavailable:
                self._silent_until_s = self._now_s() + _ASKED_AGAIN_S
        if not self._known:
            # To all that asks, a cache that can't be signed in to is a cache that is away.
            raise NoConnection("the store of the cache's password does not answer")
        return self._known

    def _read(self) -> None:
        with translated("the store of the cache's password"):
            self._client = self._client or self._connect()
            found = self._client.get_secret_value(SecretId=self._secret_arn)
        self._known = str(found["SecretString"])
