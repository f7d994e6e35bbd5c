"""Reconcile: compare everything that must agree - accounts, entries, packets, cache and queue.

Scans are no snapshot, since money moves meanwhile; so they only find candidates, and strong reads
of the single account, transfer or packet decide. Nothing is changed here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from redpacket.domain.checks import (
    Difference,
    PacketFacts,
    check_bounds,
    check_entries,
    check_packet,
    check_packet_exists,
    check_settled_in_time,
    check_takers,
)
from redpacket.domain.claim import Fate, ShareFate, Taker
from redpacket.domain.errors import CacheAway, Unavailable
from redpacket.domain.ledger import Entry, escrow_account
from redpacket.domain.packet import PacketStatus
from redpacket.flows.audit_packet import (
    LATE_AFTER_MS,
    audit_packet,
    read_account,
    user_ids_of,
)
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
    try:
        escrows_fen = _reconcile_accounts(result, ledger=ledger, clock=clock, stop_at_ms=stop_at_ms)
        _reconcile_packets(
            result,
            escrows_fen,
            holders,
            packets=packets,
            ledger=ledger,
            clock=clock,
            stop_at_ms=stop_at_ms,
        )
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


def _reconcile_packets(
    result: Reconciliation,
    escrows_fen: Mapping[str, int],
    holders: _Holders,
    *,
    packets: Packets,
    ledger: Ledger,
    clock: Clock,
    stop_at_ms: int,
) -> None:
    """Check every packet, every claim against its taker's row, and what belongs to no packet."""
    seen: set[str] = set()
    strays: list[ShareFate] = []
    pairs = _Pairs()
    for found in packets.scan_packets(escrows_fen):
        if clock.now_ms() >= stop_at_ms:
            result.is_complete = False
            return  # what was not scanned yet would look missing
        if isinstance(found, Taker):
            pairs.add_taker(found)
            continue
        if isinstance(found, ShareFate):
            strays.append(found)
            pairs.add_claims([found])
            continue
        packet_id = found.packet.packet_id
        result.packet_count += 1
        seen.add(escrow_account(packet_id))
        pairs.add_claims(found.shares)
        if check_packet(found) + check_settled_in_time(found, clock.now_ms(), LATE_AFTER_MS):
            result.differences += audit_packet(
                packet_id, packets=packets, ledger=ledger, clock=clock
            )
        result.differences += _reconcile_cache(found, holders)
    if result.is_complete:
        result.differences += _confirmed_ownerless(escrows_fen, seen, packets)
    result.differences += _confirmed_strays(strays, packets)
    for packet_id, user_ids in pairs.unequal().items():
        if clock.now_ms() >= stop_at_ms:
            result.is_complete = False
            return
        # An audit of its packet may have told it already.
        result.differences += [
            found
            for found in _confirmed_takers(packet_id, user_ids, packets)
            if found not in result.differences
        ]


class _Pairs:
    """Pairs claims with their takers' rows, which a scan brings in any order.

    Keeps only what has not met its other half yet.
    """

    def __init__(self) -> None:
        # By share, too: a user may have won several of a prize's packet.
        self._waiting: dict[tuple[str, str, int], tuple[bool, int]] = {}
        self._unequal: set[tuple[str, str, int]] = set()

    def add_claims(self, shares: Sequence[ShareFate]) -> None:
        """Take the claims among *shares*."""
        claims = (share for share in shares if share.fate is Fate.CLAIMED)
        for share, user_id in zip(claims, user_ids_of(shares), strict=True):
            self._add((share.packet_id, user_id, share.share_no), (True, share.amount_fen))

    def add_taker(self, taker: Taker) -> None:
        """Take a taker's row."""
        self._add((taker.packet_id, taker.user_id, taker.share_no), (False, taker.amount_fen))

    def unequal(self) -> dict[str, list[str]]:
        """Return by packet whose claim and row differ, or are alone."""
        found: dict[str, list[str]] = defaultdict(list)
        for packet_id, user_id, _ in sorted(self._unequal | self._waiting.keys()):
            if user_id not in found[packet_id]:
                found[packet_id].append(user_id)
        return found

    def _add(self, key: tuple[str, str, int], half: tuple[bool, int]) -> None:
        is_claim, amount_fen = half
        other = self._waiting.pop(key, None)
        if other is None:
            self._waiting[key] = half
        elif other != (not is_claim, amount_fen):
            self._unequal.add(key)


def _confirmed_ownerless(
    escrows_fen: Mapping[str, int], seen: Container[str], packets: Packets
) -> list[Difference]:
    return [
        Difference("I2", account, "money of a packet that does not exist", 0, fen)
        for account, fen in escrows_fen.items()
        if account.startswith(escrow_account(""))
        and fen
        and account not in seen
        # Sent after its page was scanned, perhaps.
        and packets.find_packet(account.removeprefix(escrow_account(""))) is None
    ]


def _confirmed_strays(strays: Sequence[ShareFate], packets: Packets) -> list[Difference]:
    found = {
        packet_id
        for packet_id in {share.packet_id for share in strays}
        if packets.find_packet(packet_id)
    }
    return check_packet_exists(strays, found)


def _confirmed_takers(
    packet_id: str, user_ids: Sequence[str], packets: Packets
) -> list[Difference]:
    """Read both halves twice: a claim between two reads would look like a difference."""
    wanted = set(user_ids)

    def differences() -> list[Difference]:
        theirs = [
            share
            for share in packets.list_shares(packet_id)
            if (share.taker.user_id if share.taker else "") in wanted
        ]
        return check_takers(theirs, packets.list_takers(packet_id, user_ids))

    first = differences()
    return [found for found in differences() if found in first] if first else []


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
