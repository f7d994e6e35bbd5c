"""Reconcile: compare everything that must agree - accounts, entries, packets, cache and queue.

Scans are no snapshot, since money moves meanwhile; so they only find candidates, and strong reads
of the single account, transfer or packet decide. Nothing is changed here.

Fates and books are compared by sums (flows/compare_books.py), so that memory does not grow with the
claims that there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from redpacket.domain.checks import (
    Difference,
    PacketFacts,
    check_packet,
    check_packet_exists,
    check_settled_in_time,
    check_takers,
)
from redpacket.domain.claim import ShareFate, Taker
from redpacket.domain.errors import (
    CacheAway,
    InvariantViolated,
    PacketNotFound,
    Unavailable,
)
from redpacket.domain.ledger import Entry, Receipt, packet_of
from redpacket.domain.packet import PacketStatus
from redpacket.domain.postings import expected_entries
from redpacket.flows.audit_packet import LATE_AFTER_MS, audit_packet
from redpacket.flows.compare_books import Comparison
from redpacket.flows.reconcile_accounts import Accounts
from redpacket.ports import (
    ClaimBoard,
    Clock,
    DeadLetters,
    Journal,
    Ledger,
    Packets,
    Unreadable,
)

MOVING_MS = LATE_AFTER_MS
"""What was posted later than this before the start may still be on its way into the other table."""


@dataclass(slots=True)
class Reconciliation:
    """What was compared, and every difference; not *is_complete* where the time was up."""

    differences: list[Difference] = field(default_factory=list)
    account_count: int = 0
    entry_count: int = 0
    packet_count: int = 0
    is_complete: bool = True


def reconcile(
    *,
    packets: Packets,
    ledger: Ledger,
    board: ClaimBoard,
    dead_letters: DeadLetters,
    clock: Clock,
    journal: Journal,
    stop_at_ms: int,
) -> Reconciliation:
    """Compare all there is, until it is done or *stop_at_ms*; journal every difference."""
    run = _Run(packets, ledger, clock, stop_at_ms)
    result = run.result
    holders = _Holders(board, journal)
    try:
        run.scan_books()
        run.scan_packets(holders)
        run.scan_shares()
        run.confirm()
        result.is_complete &= holders.has_answered
        result.differences += _reconcile_queue(result, dead_letters, journal)
    finally:
        # What was found is told, also where a later step fails.
        for found in result.differences:
            journal.event(
                "difference_found",
                rule=found.rule,
                subject=found.subject,
                what=found.what,
                expected=found.expected,
                actual=found.actual,
            )
    if result.is_complete:
        journal.event("reconcile_complete")
    else:
        journal.event("reconcile_incomplete")
    return result


class _Run:
    """One run over all tables; it looks at no more of them once the time is up."""

    def __init__(self, packets: Packets, ledger: Ledger, clock: Clock, stop_at_ms: int) -> None:
        self.result = Reconciliation()
        self._packets = packets
        self._ledger = ledger
        self._clock = clock
        self._stop_at_ms = stop_at_ms
        self._until_ms = clock.now_ms() - MOVING_MS
        self._accounts = Accounts(ledger)
        self._comparison = Comparison(self._until_ms)

    def scan_books(self) -> None:
        """Check balances against entries; add the entries of packets to the comparison."""
        result = self.result
        for row in self._ledger.scan():
            if self._is_over():
                return
            if isinstance(row, Receipt):
                self._comparison.add_receipt(row)
                continue
            result.differences += self._accounts.add(row)
            if isinstance(row, Entry):
                result.entry_count += 1
                self._comparison.add_entry(row)
        result.account_count = self._accounts.count
        result.differences += self._accounts.confirm()

    def scan_packets(self, holders: _Holders) -> None:
        """Check every packet by itself, and what the cache tells its takers."""
        for packet in self._packets.scan_packets():
            if self._is_over():
                return
            self.result.packet_count += 1
            try:
                facts = PacketFacts(packet, self._packets.list_shares(packet.packet_id))
            except InvariantViolated as error:
                # Its rows are told by `scan_shares`; the other packets are compared all the same.
                self.result.differences.append(
                    Difference("I3", packet.packet_id, "fates that can be read", "all", str(error))
                )
                continue
            self._comparison.add_fates(facts)
            late = check_settled_in_time(facts, self._clock.now_ms(), LATE_AFTER_MS)
            if check_packet(facts) or late:
                self.result.differences += self._audited(packet.packet_id)
            self.result.differences += _reconcile_cache(facts, holders)

    def scan_shares(self) -> None:
        """Compare what is in the table of shares with what the packets have of it."""
        for row in self._packets.scan_shares():
            if self._is_over():
                return
            if isinstance(row, Unreadable):
                self.result.differences.append(
                    Difference("I3", row.key, "row that can be read", "yes", "no")
                )
            else:
                self._comparison.add_row(row)

    def confirm(self) -> None:
        """Look again at what is not equal, by strong reads of its packet."""
        if not self.result.is_complete:
            return  # what was not scanned yet would look missing
        suspects = self._comparison.suspects()
        if not suspects:
            return
        candidates: set[str] = set()
        books: dict[str, list[Entry]] = {}
        strays: list[ShareFate | Taker] = []
        for entry in self._ledger.scan():
            packet_id = packet_of(entry.counterparty) if isinstance(entry, Entry) else None
            if isinstance(entry, Entry) and packet_id and suspects.has(packet_id):
                books.setdefault(packet_id, []).append(entry)
            elif isinstance(entry, Receipt) and suspects.has(entry.packet_id):
                candidates.add(entry.packet_id)
        for row in self._packets.scan_shares():
            if not isinstance(row, Unreadable) and suspects.has(row.packet_id):
                candidates.add(row.packet_id)
                strays.append(row)
        candidates |= books.keys()
        for packet_id in sorted(candidates):
            if self._is_over():
                return
            self._tell(packet_id, books.get(packet_id, []), strays)

    def _tell(self, packet_id: str, book: list[Entry], rows: list[ShareFate | Taker]) -> None:
        """Add what an audit finds, and what an audit of the packet alone can't see."""
        own = [row for row in rows if row.packet_id == packet_id]
        fates = [row for row in own if isinstance(row, ShareFate)]
        if self._packets.find_packet(packet_id) is None:
            found = check_packet_exists(fates, ())
            found += check_takers(fates, [row for row in own if isinstance(row, Taker)])
            found += [
                Difference(
                    "I1", packet_id, f"entry {entry.transfer_id} of no packet", 0, entry.amount_fen
                )
                for entry in book
            ]
        else:
            found = self._audited(packet_id) + self._strangers(packet_id, book, own)
        self.result.differences += [
            one for one in dict.fromkeys(found) if one not in self.result.differences
        ]

    def _strangers(
        self, packet_id: str, book: list[Entry], rows: list[ShareFate | Taker]
    ) -> list[Difference]:
        """Return entries and takers' rows that no fate of the packet asks for."""
        packet = self._packets.find_packet(packet_id)
        if packet is None:
            return []
        try:
            facts = PacketFacts(packet, self._packets.list_shares(packet_id))
        except InvariantViolated:
            return []  # told by its rows
        wanted = {(entry.transfer_id, entry.account) for entry in expected_entries(facts)}
        found = [
            Difference(
                "I1",
                packet_id,
                f"entry {entry.transfer_id} of {entry.account}",
                0,
                entry.amount_fen,
            )
            for entry in book
            if (entry.transfer_id, entry.account) not in wanted
        ]
        takers = [row for row in rows if isinstance(row, Taker)]
        return found + check_takers(facts.shares, takers)

    def _audited(self, packet_id: str) -> list[Difference]:
        try:
            return audit_packet(
                packet_id, packets=self._packets, ledger=self._ledger, clock=self._clock
            )
        except (PacketNotFound, InvariantViolated):
            return []  # the one is told as an entry or a share of no packet, the other by its rows

    def _is_over(self) -> bool:
        is_over = self._clock.now_ms() >= self._stop_at_ms
        if is_over:
            self.result.is_complete = False
        return is_over


class _Holders:
    """Asks the cache who holds what until it is away; the ledger is compared all the same."""

    def __init__(self, board: ClaimBoard, journal: Journal) -> None:
        self._board = board
        self._journal = journal
        self._is_away = False
        self.has_answered = True

    def of(self, packet_id: str) -> dict[str, int]:
        """Return the cache's holders, or none where it doesn't know the packet or fails."""
        if self._is_away:
            return {}
        try:
            return self._board.holders(packet_id)
        except Unavailable as error:
            self._journal.failure("cache_not_compared", error, packet_id=packet_id)
            self._is_away = isinstance(error, CacheAway)
            self.has_answered = False
            return {}


def _reconcile_queue(
    result: Reconciliation, dead_letters: DeadLetters, journal: Journal
) -> Iterator[Difference]:
    try:
        dead_count = dead_letters.count()
    except Exception as error:  # noqa: BLE001 - a missing permission, too, hides nothing of the ledger
        journal.failure("queue_not_compared", error)
        result.is_complete = False
        return
    if dead_count:
        yield Difference("queue", "payout DLQ", "claims that could not be settled", 0, dead_count)


def _reconcile_cache(facts: PacketFacts, cache: _Holders) -> Iterator[Difference]:
    """Compare what the cache tells takers of an open packet with what they own."""
    packet_id = facts.packet.packet_id
    if facts.packet.status is not PacketStatus.OPEN:
        return
    holders = cache.of(packet_id)
    if not holders:
        return
    for share in facts.shares:
        user_id = share.taker.user_id if share.taker else ""
        if share.taker and holders.get(user_id) != share.share_no:
            # Harmless: the next grab corrects it. But it tells of a failover that lost its tail.
            held = holders.get(user_id)
            yield Difference(
                "cache", packet_id, f"number of share {share.share_no}", share.share_no, held or 0
            )
