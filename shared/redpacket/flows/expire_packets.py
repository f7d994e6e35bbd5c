"""Expire and refund (退款): close due packets and give what was left back to their senders.

The order makes it safe at any moment: the ledger says "closing", the cache stops handing out
shares, claims in flight get a grace, then every share without a fate becomes "refunded" together
with the sender's credit. A share that is claimed meanwhile cancels its chunk, which is then read
anew. May run twice, late, or be cut off anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redpacket.domain.claim import Fate, ShareFate, luckiest
from redpacket.domain.errors import CacheAway, InvariantViolated, Unavailable
from redpacket.domain.ledger import Transfer, TransferKind, escrow_account, user_account
from redpacket.domain.packet import Kind, Packet
from redpacket.domain.split import amounts_fen
from redpacket.flows.attempt_each import attempt_each
from redpacket.ports import ClaimBoard, Clock, Journal, Ledger, Packets

SHARES_PER_TRANSACTION = 90
"""DynamoDB takes 100 operations: these, the packet row, two balances and two entries."""

PACKETS_PER_SWEEP = 800
"""More than a sweep of 55 s gets done; the oldest come first, the rest wait a minute."""


@dataclass(frozen=True, slots=True)
class ExpireReport:
    """What one run did; packets that failed, or wait for a settlement, are due again."""

    closed_count: int
    refunded_fen: int
    failed_count: int


class ImpatientCache:
    """The board until it is away: a sweep has no time to wait for it with every packet.

    What fails for one packet, like a full memory or a slot that nobody serves, says nothing of the
    next one.
    """

    def __init__(self, board: ClaimBoard) -> None:
        self._board = board
        self._is_away = False

    def close(self, packet_id: str) -> None:
        """Close a packet. Raises Unavailable."""
        self._try(lambda: self._board.close(packet_id))

    def load(self, packet: Packet, shares: Sequence[ShareFate]) -> None:
        """Load a packet. Raises Unavailable."""
        self._try(lambda: self._board.load(packet, shares))

    def _try(self, do: Callable[[], None]) -> None:
        if self._is_away:
            raise CacheAway("the cache did not answer before in this sweep")
        try:
            do()
        except CacheAway:
            self._is_away = True
            raise


def expire_packets(
    *,
    packets: Packets,
    board: ClaimBoard,
    ledger: Ledger,
    clock: Clock,
    journal: Journal,
    grace_ms: int,
    stop_at_ms: int,
    may_go_on: Callable[[], bool] = lambda: True,
) -> ExpireReport:
    """Close and refund what is due, the grace once for all of them; stop at *stop_at_ms*.

    Stops as well where *may_go_on* says no: refunds were switched off, and what is due waits.
    """
    cache = ImpatientCache(board)

    def begin(packet_id: str) -> Packet:
        return _begin_close(
            packet_id, packets=packets, cache=cache, journal=journal, now_ms=clock.now_ms()
        )

    def finish(packet: Packet) -> tuple[int, bool]:
        refunded_fen, shares = _refund(
            packet,
            packets=packets,
            ledger=ledger,
            clock=clock,
            stop_at_ms=stop_at_ms,
            may_go_on=may_go_on,
        )
        if len(shares) < packet.terms.count or not _tell_cache(packet, shares, cache, journal):
            return refunded_fen, False
        best = luckiest(shares)
        if best and packet.kind is Kind.LUCKY:
            packets.mark_luckiest(best)
        # Not closed while a claim waits for its settlement: the next sweep asks again.
        return refunded_fen, ledger.close(packet, clock.now_ms())

    due = packets.list_due(clock.now_ms(), PACKETS_PER_SWEEP)
    closing = attempt_each(
        due,
        begin,
        name="close_failed",
        clock=clock,
        journal=journal,
        stop_at_ms=stop_at_ms,
        may_go_on=may_go_on,
    )
    if closing.results:
        clock.sleep_ms(grace_ms)
    refunds = attempt_each(
        closing.results,
        finish,
        name="refund_failed",
        clock=clock,
        journal=journal,
        stop_at_ms=stop_at_ms,
        may_go_on=may_go_on,
    )
    return ExpireReport(
        closed_count=sum(is_closed for _, is_closed in refunds.results),
        refunded_fen=sum(refunded_fen for refunded_fen, _ in refunds.results),
        failed_count=closing.failed_count + refunds.failed_count,
    )


def _begin_close(
    packet_id: str, *, packets: Packets, cache: ImpatientCache, journal: Journal, now_ms: int
) -> Packet:
    packet = packets.find_packet(packet_id)
    if packet is None:
        msg = f"packet {packet_id} is due and does not exist"
        raise LookupError(msg)
    closing = packets.begin_close(packet, now_ms)
    if packet.rules.prize_id:
        return closing  # the cache has never heard of it
    try:
        cache.close(packet_id)
    except Unavailable as error:
        # It refuses by its own clock; and what it hands out nevertheless meets a fate.
        journal.failure("cache_not_closed", error, packet_id=packet_id)
    return closing


def _tell_cache(
    packet: Packet, shares: Sequence[ShareFate], cache: ImpatientCache, journal: Journal
) -> bool:
    """Bring the cache up to the end: owners hear of their shares, whatever it had forgotten.

    False where it is away; the money is back by then, and the packet stays closing for it.
    """
    if packet.rules.prize_id:
        return True  # draws know by the units' fates
    try:
        cache.load(packet, shares)
    except Unavailable as error:
        journal.failure("cache_not_closed", error, packet_id=packet.packet_id)
        return False
    return True


def _refund(
    packet: Packet,
    *,
    packets: Packets,
    ledger: Ledger,
    clock: Clock,
    stop_at_ms: int,
    may_go_on: Callable[[], bool],
) -> tuple[int, Sequence[ShareFate]]:
    """Refund every share without a fate, in chunks, until the time is up or refunds are off.

    Returns the fen that went back, and the shares that have a fate now.
    """
    refunded_fen = 0
    shares = packets.list_shares(packet.packet_id)
    while missing := _without_fate(packet, shares):
        for start in range(0, len(missing), SHARES_PER_TRANSACTION):
            if clock.now_ms() >= stop_at_ms or not may_go_on():
                return refunded_fen, packets.list_shares(packet.packet_id)
            now_ms = clock.now_ms()
            fates = [
                ShareFate(packet.packet_id, share_no, Fate.REFUNDED, amount_fen, now_ms)
                for share_no, amount_fen in missing[start : start + SHARES_PER_TRANSACTION]
            ]
            transfer = _transfer(packet, fates, now_ms)
            if not ledger.refund(packet, fates, transfer, now_ms):
                break  # a claim came in between: read again
            refunded_fen += transfer.amount_fen
        before, shares = shares, packets.list_shares(packet.packet_id)
        if len(shares) == len(before):
            msg = f"the ledger refuses to refund {packet.packet_id}, and no claim is the reason"
            raise InvariantViolated(msg)
    return refunded_fen, shares


def _without_fate(packet: Packet, shares: Sequence[ShareFate]) -> list[tuple[int, int]]:
    taken = {share.share_no for share in shares}
    if len(taken) == packet.terms.count:
        return []
    numbered = enumerate(amounts_fen(packet.terms), start=1)
    return [(share_no, amount) for share_no, amount in numbered if share_no not in taken]


def _transfer(packet: Packet, fates: Sequence[ShareFate], now_ms: int) -> Transfer:
    return Transfer(
        transfer_id=f"refund:{packet.packet_id}:{fates[0].share_no}",
        kind=TransferKind.REFUND,
        debit=escrow_account(packet.packet_id),
        credit=user_account(packet.sender.user_id),
        amount_fen=sum(fate.amount_fen for fate in fates),
        at_ms=now_ms,
    )
