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
from redpacket.domain.ledger import Entry
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
    escrows_fen = _reconcile_accounts(result, ledger=ledger, clock=clock, stop_at_ms=stop_at_ms)
    for facts in packets.scan_packets(escrows_fen):
        if clock.now_ms() >= stop_at_ms:
            result.is_complete = False
            break
        result.packet_count += 1
        late = check_settled_in_time(facts, clock.now_ms(), LATE_AFTER_MS)
        if check_packet(facts) + late:
            packet_id = facts.packet.packet_id
            result.differences += audit_packet(
                packet_id, packets=packets, ledger=ledger, clock=clock
            )
        result.differences += _reconcile_cache(facts, board=board)
    if dead_count := dead_letters.count():
        result.differences.append(
            Difference("queue", "payout DLQ", "claims that could not be settled", 0, dead_count)
        )
    for found in result.differences:
        journal.event("difference_found", rule=found.rule, subject=found.subject)
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


def _reconcile_cache(facts: PacketFacts, *, board: ClaimBoard) -> Iterator[Difference]:
    """Compare what the cache tells takers of an open packet with what they own."""
    packet_id = facts.packet.packet_id
    if facts.packet.status is not PacketStatus.OPEN:
        return
    holders = board.holders(packet_id)
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
