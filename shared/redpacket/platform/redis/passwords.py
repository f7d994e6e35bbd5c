"""Cache passwords: a secret from Secrets Manager, or an IAM token."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from redis.exceptions import ConnectionError as NoConnection

from redpacket.platform.aws.errors import AwsSilent, translated
from redpacket.platform.aws.signature import Keys
from redpacket.platform.errors import Unavailable

_ASKED_AGAIN_S = 5.0
"""Seconds to wait after a failed read, so that other connections don't wait for a timeout."""


class CacheSecret:
    """Password provider that reads the secret for each connection, to follow rotations."""

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
        """Return the current or last known password. Raises redis-py's ConnectionError."""
        if self._now_s() >= self._silent_until_s:
            try:
                self._read()
            except Unavailable:
                self._silent_until_s = self._now_s() + _ASKED_AGAIN_S
        if not self._known:
            # Callers treat a cache without a password as unavailable.
            raise NoConnection("the store of the cache's password does not answer")
        return self._known

    def _read(self) -> None:
        with translated("the store of the cache's password"):
            self._client = self._client or self._connect()
            response = self._client.get_secret_value(SecretId=self._secret_arn)
        self._known = str(response["SecretString"])


def token_maker(
    resource: str, user_id: str, region: str, keys: Callable[[], Keys]
) -> Callable[[], str]:
    """Return a password provider that signs a token for each connection."""
    return partial(_token, resource, user_id, region, keys)


def _token(resource: str, user_id: str, region: str, keys: Callable[[], Keys]) -> str:
    from redpacket.platform.aws.cache_token import cache_token

    try:
        return cache_token(resource, user_id, region, keys())
    except AwsSilent as error:
        raise NoConnection("no credentials to sign in to the cache with") from error
