"""Settle the claims of a batch and keep the way back to their takers, unless payouts are off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from redpacket.domain.claim import ShareFate, ShareRef
from redpacket.domain.switches import Switch
from redpacket.flows.accounts.note_people import note_people
from redpacket.flows.packets.delay_claims import delay_claims
from redpacket.flows.packets.settle_claims import settle_claims
from redpacket.ports.accounts import Ledger, Profiles
from redpacket.ports.packets import Packets, Pages, PayoutQueue
from redpacket.ports.runtime import Clock, InParallel, Journal


def settle_or_delay(
    refs: Iterable[ShareRef],
    *,
    is_on: Callable[[Switch], bool],
    ledger: Ledger,
    packets: Packets,
    pages: Pages,
    profiles: Profiles,
    payouts: PayoutQueue,
    clock: Clock,
    journal: Journal,
    in_parallel: InParallel,
    announce: Callable[[Sequence[ShareFate]], None] | None = None,
) -> set[ShareRef]:
    """Return the claims whose messages must come again; none while payouts are off."""
    refs = list(refs)
    if not is_on(Switch.PAYOUT):
        return delay_claims(refs, payouts=payouts, journal=journal)
    unpaid = settle_claims(
        refs,
        ledger=ledger,
        packets=packets,
        pages=pages,
        payouts=payouts,
        clock=clock,
        journal=journal,
        in_parallel=in_parallel,
        announce=announce,
    )
    # Money first; a message that is repeated for a name's sake finds its claim paid.
    return unpaid | note_people(refs, profiles=profiles, journal=journal, in_parallel=in_parallel)
