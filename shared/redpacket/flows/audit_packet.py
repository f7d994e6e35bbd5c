"""Audit one packet: the invariants of domain/checks, on strong reads of the ledger."""

from __future__ import annotations

from collections.abc import Iterable

from redpacket.domain.checks import (
    Difference,
    PacketFacts,
    check_bounds,
    check_entries,
    check_packet,
    check_settled_in_time,
    check_takers,
)
from redpacket.domain.claim import Fate, ShareFate
from redpacket.domain.errors import PacketNotFound
from redpacket.domain.ledger import Entry, escrow_account
from redpacket.ports import Clock, Ledger, Packets

_ENTRIES_PER_PAGE = 500

LATE_AFTER_MS = 15 * 60_000
"""I8 in production: the sweep comes every minute, and tries again after 1, 2, 4 and 8."""


def audit_packet(
    packet_id: str, *, packets: Packets, ledger: Ledger, clock: Clock
) -> list[Difference]:
    """Return every broken rule; money that moves during the audit is read again, not reported."""
    now_ms = clock.now_ms()

    def differences() -> list[Difference]:
        facts, book = _read(packet_id, packets=packets, ledger=ledger)
        # A claim and its taker's row are one write, and never taken back: this is no race.
        takers = packets.list_takers(packet_id, user_ids_of(facts.shares))
        return _check(facts, book, now_ms) + check_takers(facts.shares, takers)

    # The reads are not one moment: a settlement in between looks like a difference.
    first = differences()
    return [found for found in differences() if found in first] if first else []


def user_ids_of(shares: Iterable[ShareFate]) -> list[str]:
    """Return who has claimed these shares; "" for a claim that names nobody."""
    claims = (share for share in shares if share.fate is Fate.CLAIMED)
    return [share.taker.user_id if share.taker else "" for share in claims]


def _read(packet_id: str, *, packets: Packets, ledger: Ledger) -> tuple[PacketFacts, list[Entry]]:
    packet = packets.find_packet(packet_id)
    if packet is None:
        msg = "no such packet"
        raise PacketNotFound(msg)
    account = escrow_account(packet_id)
    escrow_fen, book = read_account(account, ledger=ledger)
    return PacketFacts(packet, packets.list_shares(packet_id), escrow_fen), book


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


def _check(facts: PacketFacts, book: list[Entry], now_ms: int) -> list[Difference]:
    account = escrow_account(facts.packet.packet_id)
    escrow = {account: facts.escrow_fen}
    drift = [found for found in check_entries(escrow, book) if found.subject == account]
    late = check_settled_in_time(facts, now_ms, LATE_AFTER_MS)
    return check_packet(facts) + drift + check_bounds(escrow, book) + late
