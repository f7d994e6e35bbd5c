"""Audit one packet: the invariants of domain/checks and domain/postings, on strong reads.

Shares are written by the functions of the crowd. So every settled or refunded one is compared with
the entry and the receipt of its money, which those functions can't write, and the packet row with
its sender's entry.
"""

from __future__ import annotations

from collections.abc import Iterable

from redpacket.domain.checks import (
    Difference,
    PacketFacts,
    check_bounds,
    check_packet,
    check_settled_in_time,
    check_takers,
)
from redpacket.domain.claim import Fate, ShareFate, ShareRef
from redpacket.domain.errors import PacketNotFound
from redpacket.domain.ledger import Entry
from redpacket.domain.postings import check_postings, check_receipts, expected_entries
from redpacket.ports import Clock, Ledger, Packets

_ENTRIES_PER_PAGE = 500

LATE_AFTER_MS = 15 * 60_000
"""I8 in production: the sweep comes every minute, and tries again after 1, 2, 4 and 8."""


def audit_packet(
    packet_id: str, *, packets: Packets, ledger: Ledger, clock: Clock
) -> list[Difference]:
    """Return every broken rule; money that moves during the audit is read again, not reported.

    Raises PacketNotFound.
    """
    now_ms = clock.now_ms()

    def differences() -> list[Difference]:
        return _differences(packet_id, packets=packets, ledger=ledger, now_ms=now_ms)

    # The reads are not one moment: a settlement in between looks like a difference.
    first = differences()
    return [found for found in differences() if found in first] if first else []


def _differences(
    packet_id: str, *, packets: Packets, ledger: Ledger, now_ms: int
) -> list[Difference]:
    packet = packets.find_packet(packet_id)
    if packet is None:
        msg = "no such packet"
        raise PacketNotFound(msg)
    facts = PacketFacts(packet, packets.list_shares(packet_id))
    find_takers = packets.list_winners if packet.rules.prize_id else packets.list_takers
    takers = find_takers(packet_id, user_ids_of(facts.shares))
    posted = ledger.list_postings(expected_entries(facts))
    found = check_packet(facts) + check_takers(facts.shares, takers)
    found += check_postings(facts, posted) + check_bounds({}, posted)
    refs = [ShareRef(packet_id, share.share_no) for share in facts.shares]
    receipts = ledger.list_receipts(refs)
    if receipts is not None:
        found += check_receipts(facts, receipts)
    return found + check_settled_in_time(facts, now_ms, LATE_AFTER_MS)


def user_ids_of(shares: Iterable[ShareFate]) -> list[str]:
    """Return who has claimed these shares; "" for a claim that names nobody."""
    claims = (share for share in shares if share.fate is Fate.CLAIMED)
    return [share.taker.user_id if share.taker else "" for share in claims]


def read_account(account: str, *, ledger: Ledger) -> tuple[int, list[Entry]]:
    """Return an account's balance and its whole book, both read strongly."""
    balance_fen = ledger.balance_fen(account)
    book: list[Entry] = []
    cursor: str | None = None
    while True:
        page, cursor = ledger.list_entries(account, cursor, _ENTRIES_PER_PAGE)
        book += page
        if cursor is None:
            return balance_fen, book
