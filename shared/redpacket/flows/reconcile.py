"""Reconcile: compare everything that must agree - accounts, entries, packets, cache and queue.

Scans are no snapshot, since money moves meanwhile; so they only find candidates, and strong reads
of the single account, transfer or packet decide. Nothing is changed here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from redpacket.domain.checks import (
    Difference,
    PacketFacts,
    check_bounds,
    check_entries,
    check_packet,
    check_settled_in_time,
)
from redpacket.domain.errors import Unavailable
from redpacket.domain.ledger import Entry, escrow_account
from redpacket.domain.packet import PacketStatus
from redpacket.flows.audit_packet import LATE_AFTER_MS, audit_packet, read_account
from redpacket.ports import ClaimBoard, Clock, DeadLetters, Journal, Ledger, Packets


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
    result = Reconciliation()
    holders = _Holders(board, journal)
    escrows_fen = _reconcile_accounts(result, ledger=ledger, clock=clock, stop_at_ms=stop_at_ms)
    seen: set[str] = set()
    for facts in packets.scan_packets(escrows_fen):
        if clock.now_ms() >= stop_at_ms:
            result.is_complete = False
            break
        result.packet_count += 1
        seen.add(escrow_account(facts.packet.packet_id))
        late = check_settled_in_time(facts, clock.now_ms(), LATE_AFTER_MS)
        if check_packet(facts) + late:
            packet_id = facts.packet.packet_id
            result.differences += audit_packet(
                packet_id, packets=packets, ledger=ledger, clock=clock
            )
        result.differences += _reconcile_cache(facts, holders)
    if result.is_complete:
        result.differences += [
            Difference("I2", account, "money of a packet that does not exist", 0, fen)
            for account, fen in escrows_fen.items()
            if account.startswith(escrow_account(""))
            and fen
            and account not in seen
            # Sent after its page was scanned, perhaps.
            and packets.find_packet(account.removeprefix(escrow_account(""))) is None
        ]
    result.is_complete &= not holders.is_away
    result.differences += _reconcile_queue(result, dead_letters, journal)
    for found in result.differences:
        journal.event(
            "difference_found",
            rule=found.rule,
            subject=found.subject,
            what=found.what,
            expected=found.expected,
            actual=found.actual,
        )
    return result


def _reconcile_accounts(
    result: Reconciliation, *, ledger: Ledger, clock: Clock, stop_at_ms: int
) -> dict[str, int]:
    """Check balances against entries and entries against each other; return what escrows hold."""
    balances_fen: dict[str, int] = {}
    booked_fen: dict[str, int] = defaultdict(int)
    half_posted: dict[str, list[Entry]] = {}
    for row in ledger.scan():
        if clock.now_ms() >= stop_at_ms:
            result.is_complete = False
            break
        if not isinstance(row, Entry):
            balances_fen[row.account] = row.balance_fen
            continue
        result.entry_count += 1
        booked_fen[row.account] += row.amount_fen
        result.differences += check_bounds({}, [row])
        # Only transfers of which one side was seen are kept.
        sides = [*half_posted.pop(row.transfer_id, []), row]
        if sum(side.amount_fen for side in sides):
            half_posted[row.transfer_id] = sides
    result.account_count = len(balances_fen)
    if result.is_complete:
        for account in balances_fen.keys() | booked_fen.keys():
            if balances_fen.get(account, 0) != booked_fen.get(account, 0):
                result.differences += _confirmed_drift(account, ledger=ledger)
        for sides in half_posted.values():
            result.differences += _confirmed_half(sides, ledger=ledger)
        result.differences += check_bounds(balances_fen, [])
    return balances_fen


def _confirmed_drift(account: str, *, ledger: Ledger) -> list[Difference]:
    balance_fen, book = read_account(account, ledger=ledger)
    again_fen = ledger.balance_fen(account)
    if balance_fen != again_fen:
        return []  # it moves right now; the next run looks again
    found = check_entries({account: balance_fen}, book)
    return [difference for difference in found if difference.subject == account]


def _confirmed_half(sides: list[Entry], *, ledger: Ledger) -> list[Difference]:
    """Read both books again: the other side may have been written after its page was scanned."""
    transfer_id = sides[0].transfer_id
    accounts = {account for side in sides for account in (side.account, side.counterparty)}
    posted = [
        entry
        for account in accounts
        for entry in read_account(account, ledger=ledger)[1]
        if entry.transfer_id == transfer_id
    ]
    total_fen = sum(entry.amount_fen for entry in posted)
    if total_fen == 0:
        return []
    return [Difference("I1", transfer_id, "entries of a transfer", 0, total_fen)]


class _Holders:
    """Asks the cache who holds what until it fails once; the ledger is compared all the same."""

    def __init__(self, board: ClaimBoard, journal: Journal) -> None:
        self._board = board
        self._journal = journal
        self.is_away = False

    def of(self, packet_id: str) -> dict[str, int]:
        """Return the cache's holders, or none where it doesn't know the packet or is away."""
        if self.is_away:
            return {}
        try:
            return self._board.holders(packet_id)
        except Unavailable as error:
            self._journal.failure("cache_not_compared", error, packet_id=packet_id)
            self.is_away = True
            return {}


def _reconcile_queue(
    result: Reconciliation, dead_letters: DeadLetters, journal: Journal
) -> Iterator[Difference]:
    try:
        dead_count = dead_letters.count()
    except Unavailable as error:
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
