"""Sign-in to ElastiCache by IAM."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from redis.exceptions import ConnectionError as NoConnection

from redpacket.platform.aws.cache_token import cache_token
from redpacket.platform.aws.errors import AwsSilent
from redpacket.platform.aws.signature import Keys


def token_maker(
    resource: str, user_id: str, region: str, keys: Callable[[], Keys]
) -> Callable[[], str]:
    """Return a password provider, which signs a token for each connection."""
    return partial(_token, resource, user_id, region, keys)


def _token(resource: str, user_id: str, region: str, keys: Callable[[], Keys]) -> str:
    try:
        return cache_token(resource, user_id, region, keys())
    except AwsSilent as error:
        raise NoConnection("no credentials to sign in to the cache with") from error
