"""Audit of one packet: strongly consistent reads, compared by the checks in reconciliation/checks.

Grab functions write shares, so the audit compares each share with its entry and receipt, which grab
functions cannot write. Memory use is bounded, whatever the packet's size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from redpacket.ledger.model import Entry
from redpacket.packets.errors import PacketNotFound
from redpacket.packets.model.claim import ShareRef, ShareStatus
from redpacket.packets.model.packet import shard_count
from redpacket.packets.ports import Ledger, PacketReader
from redpacket.platform.difference import Difference
from redpacket.platform.runtime import Clock
from redpacket.reconciliation.checks.packets import (
    PacketFacts,
    Tally,
    check_late_claims,
    check_late_close,
    check_once_per_user,
    check_shares,
    check_takers,
    check_tally,
)
from redpacket.reconciliation.checks.postings import (
    check_bounds,
    check_posted,
    check_receipts,
    refund_entries,
    sent_entries,
    settled_entries,
)

LATE_AFTER_MS = 15 * 60_000
"""Limit for I8 in ms. The sweep runs every minute, and retries wait 1, 2, 4, and 8 minutes."""

FOUND_MAX = 200

_SHARES_AT_ONCE = 500

BETWEEN_LOOKS_MS = 300
"""Milliseconds between two reads; a transaction may be partly visible while it commits."""


@dataclass(frozen=True, slots=True)
class PacketAudit:
    """Audit result: at most FOUND_MAX differences, and sums of the examined shares."""

    differences: Sequence[Difference]
    tally: Tally


def audit_packet(
    packet_id: str, *, packets: PacketReader, ledger: Ledger, clock: Clock
) -> PacketAudit:
    """Audit a packet. Raises PacketNotFound."""
    now_ms, tally = clock.now_ms(), Tally()

    def look() -> Iterable[Difference]:
        nonlocal tally
        tally = Tally()
        return islice(_differences(packet_id, tally, packets, ledger, now_ms), FOUND_MAX)

    return PacketAudit(seen_twice(look, clock, BETWEEN_LOOKS_MS), tally)


def seen_twice(
    look: Callable[[], Iterable[Difference]], clock: Clock, pause_ms: int
) -> list[Difference]:
    """Return differences that two reads find, because a write during a read may look like one."""
    if first := list(look()):
        clock.sleep_ms(pause_ms)
        return [difference for difference in look() if difference in first]
    return []


def _differences(
    packet_id: str, tally: Tally, packets: PacketReader, ledger: Ledger, now_ms: int
) -> Iterator[Difference]:
    packet = packets.find_packet(packet_id)
    if packet is None:
        raise PacketNotFound
    shards = range(shard_count(packet_id))
    shares = chain.from_iterable(packets.scan_shard_shares(packet_id, shard) for shard in shards)
    while page := list(islice(shares, _SHARES_AT_ONCE)):
        tally.add(page)
        yield from _of_shares(PacketFacts(packet, page), packets, ledger)
        yield from check_late_claims(page, now_ms, LATE_AFTER_MS)
    yield from check_late_close(packet, now_ms, LATE_AFTER_MS)
    yield from check_tally(packet, tally)
    expected = [*sent_entries(packet), *refund_entries(packet, tally)]
    yield from _of_entries(packet_id, expected, ledger)


def _of_shares(facts: PacketFacts, packets: PacketReader, ledger: Ledger) -> Iterator[Difference]:
    packet_id, shares = facts.packet.packet_id, facts.shares
    find_claimers = packets.list_winners if facts.packet.rules.prize_id else packets.list_claimers
    claims = (share for share in shares if share.status is ShareStatus.CLAIMED)
    users = [share.claimer.user_id if share.claimer else "" for share in claims]
    claimers = find_claimers(packet_id, users)
    if facts.packet.rules.prize_id:
        numbers = {share.share_no for share in shares}
        claimers = [claimer for claimer in claimers if claimer.share_no in numbers]
    yield from check_shares(facts)
    yield from check_once_per_user(facts)
    yield from check_takers(shares, claimers)
    yield from _of_entries(packet_id, settled_entries(shares), ledger)
    receipts = ledger.list_receipts([ShareRef(packet_id, share.share_no) for share in shares])
    if receipts is not None:
        yield from check_receipts(facts, receipts)


def _of_entries(packet_id: str, expected: list[Entry], ledger: Ledger) -> Iterator[Difference]:
    posted = ledger.list_postings(expected)
    yield from check_posted(packet_id, expected, posted)
    yield from check_bounds({}, posted)
