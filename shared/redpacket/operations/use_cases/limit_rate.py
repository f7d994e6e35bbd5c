"""Checks of rate limits; the errors contain the time to wait."""

from __future__ import annotations

from collections.abc import Callable

from redpacket.operations.model.limits import Limit
from redpacket.operations.ports import Limits
from redpacket.platform.errors import RateLimited, Unavailable
from redpacket.platform.runtime import Clock, EventLogger

AWAY_MS = 5_000
"""Milliseconds without checks after a cache failure, so that calls do not wait for the cache."""


def limit_rate(limit: Limit, subject: str, *, limits: Limits, logger: EventLogger) -> None:
    """Count one call by *subject*, unless the cache is down. Raises RateLimited."""
    try:
        require_rate(limit, subject, limits=limits)
    except Unavailable as error:
        logger.failure("limit_not_checked", error, limit=limit.name)


def require_rate(limit: Limit, subject: str, *, limits: Limits) -> None:
    """Count one call by *subject*. Raises RateLimited, or Unavailable if the cache can't count."""
    retry_after_ms = limits.take(limit, subject)
    if retry_after_ms:
        raise too_fast(limit, retry_after_ms)


def limit_guesses(
    limit: Limit, subject: str, group_limit: Limit, group: str, *, is_spent: bool, limits: Limits
) -> None:
    """Count *subject*'s guess at *group*'s secret before the caller reveals whether it is right.

    The error must not reveal whether the guess is right. If *is_spent*, the guess also uses up one
    of the group's attempts. Raises RateLimited, or Unavailable if the cache can't count.
    """
    retry_after_ms = limits.take_within(limit, subject, group_limit, group, is_spent=is_spent)
    if retry_after_ms:
        raise _wait("Too many attempts at this passphrase. Try again later.", retry_after_ms)


class UserLimit:
    """Rate limit per user; for AWAY_MS after a cache failure it allows every call.

    Each check also calls *find_limit*, because operators can change the limit.
    """

    def __init__(
        self, find_limit: Callable[[], Limit], *, limits: Limits, clock: Clock, logger: EventLogger
    ) -> None:
        self._find_limit = find_limit
        self._limits = limits
        self._clock = clock
        self._logger = logger
        self._away_at_ms = -AWAY_MS

    def count(self, user_id: str) -> None:
        """Count one call. Raises RateLimited."""
        now_ms = self._clock.now_ms()
        if 0 <= now_ms - self._away_at_ms < AWAY_MS:
            return
        limit = self._find_limit()
        try:
            retry_after_ms = self._limits.take(limit, user_id)
        except Unavailable as error:
            self._away_at_ms = now_ms
            self._logger.failure("limit_not_checked", error, limit=limit.name)
            return
        if retry_after_ms:
            raise too_fast(limit, retry_after_ms)


def too_fast(limit: Limit, retry_after_ms: int) -> RateLimited:
    """Return the error for a subject that exceeds *limit*."""
    return _wait(
        f"The limit is {limit.burst} requests at once and {limit.per_minute} a minute.",
        retry_after_ms,
    )


def _wait(message: str, retry_after_ms: int) -> RateLimited:
    # Round up, so that a caller who waits this long is allowed.
    return RateLimited(message, retry_after_s=-(-retry_after_ms // 1000))
