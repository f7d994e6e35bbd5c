"""Delay claims that arrive while payouts are off: a new message has all its receives."""

from __future__ import annotations

from collections.abc import Iterable

from redpacket.domain.claim import ShareRef
from redpacket.ports.packets import PayoutQueue
from redpacket.ports.runtime import Journal

_DELAY_S = 60
"""How long a claim waits that came while payouts are off: a message a minute costs little."""


def delay_claims(
    refs: Iterable[ShareRef], *, payouts: PayoutQueue, journal: Journal
) -> set[ShareRef]:
    """Queue *refs* for later and return the empty set: none of them failed.

    They are queued before the old messages are acknowledged. Cut off in between, a claim is queued
    twice and settled once.
    """
    waiting = list(dict.fromkeys(refs))
    payouts.put(waiting, delay_s=_DELAY_S)
    journal.event("payouts_paused", claim_count=len(waiting))
    return set()
