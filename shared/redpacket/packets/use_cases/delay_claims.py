"""Requeue claims while payouts are off; a new message starts with a fresh receive count."""

from __future__ import annotations

from collections.abc import Iterable

from redpacket.packets.model.claim import ShareRef
from redpacket.packets.ports import PayoutQueue
from redpacket.platform.runtime import EventLogger

_DELAY_S_MIN = 10
_DELAY_S_MAX = 900
"""Longest delay of a message in SQS, in seconds."""


def delay_claims(
    refs: Iterable[ShareRef], *, payouts: PayoutQueue, logger: EventLogger, now_ms: int
) -> set[ShareRef]:
    """Queue *refs* for later, before the old messages are acknowledged, and return no failures.

    The delay equals the wait of the youngest claim so far, so a long pause costs few calls.
    """
    pending = list(dict.fromkeys(refs))
    age_s = min((now_ms - (ref.said_at_ms or now_ms)) // 1000 for ref in pending)
    payouts.put(pending, delay_s=min(max(_DELAY_S_MIN, age_s), _DELAY_S_MAX))
    logger.event("payouts_paused", claim_count=len(pending))
    return set()
