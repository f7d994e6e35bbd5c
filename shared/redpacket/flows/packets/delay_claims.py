"""Requeue claims while payouts are off; a new message starts with a fresh receive count."""

from __future__ import annotations

from collections.abc import Iterable

from redpacket.domain.claim import ShareRef
from redpacket.ports.packets import PayoutQueue
from redpacket.ports.runtime import Journal

_DELAY_S = 10
"""Seconds after which payouts that are on again also pay what waited."""


def delay_claims(
    refs: Iterable[ShareRef], *, payouts: PayoutQueue, journal: Journal
) -> set[ShareRef]:
    """Queue *refs* for later, before the old messages are acknowledged, and return no failures."""
    waiting = list(dict.fromkeys(refs))
    payouts.put(waiting, delay_s=_DELAY_S)
    journal.event("payouts_paused", claim_count=len(waiting))
    return set()
