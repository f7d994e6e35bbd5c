"""Refuse whoever is too fast, and say when they may ask again."""

from __future__ import annotations

from redpacket.domain.errors import RateLimited, Unavailable
from redpacket.domain.limits import Limit
from redpacket.ports import Journal, Limits


def limit_rate(limit: Limit, subject: str, *, limits: Limits, journal: Journal) -> None:
    """Count one more of *subject*. Raises RateLimited.

    Where the limits are away everybody is let through: they spare the ledger, they don't guard it.
    """
    try:
        retry_after_ms = limits.take(limit, subject)
    except Unavailable as error:
        journal.failure("limit_not_checked", error, limit=limit.name)
        return
    if retry_after_ms:
        msg = f"at most {limit.burst} at once and {limit.per_minute} a minute"
        # Whole seconds, rounded up: whoever waits that long is let through.
        raise RateLimited(msg, retry_after_s=-(-retry_after_ms // 1000))
