"""Expire and refund (退款): close due packets and give what was left back to their senders.

The order makes it safe at any moment: the ledger says "closing", the cache stops handing out
shares, claims in flight get a grace, then every share without a fate becomes "refunded" together
with the sender's credit. A share that is claimed meanwhile cancels its chunk, which is then read
anew. May run twice, late, or be cut off anywhere.

It goes part by part, and no more than one is in memory. A fate is for ever, so a part that has all
of them needs no second look: the packet row knows how far a packet of several parts has come, and
the next sweep goes on there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from redpacket.domain.claim import Fate, ShareFate
from redpacket.domain.errors import CacheAway, InvariantViolated, Unavailable
from redpacket.domain.ledger import (
    Transfer,
    TransferKind,
    packet_account,
    refund_id,
    user_account,
)
from redpacket.domain.packet import Packet, PacketEnd, PacketStatus, part_count, share_numbers
from redpacket.domain.split import amounts_fen
from redpacket.flows.attempt_each import attempt_each
from redpacket.flows.close_packet import close_if_ended, end_part
from redpacket.ports import ClaimBoard, Clock, Journal, Ledger, Packets, Pages

SHARES_PER_TRANSACTION = 45
"""DynamoDB takes 100 operations: a fate and a receipt of each, the sender's balance and entry."""

PACKETS_PER_SWEEP = 800
"""About what a sweep of 55 s gets done; the oldest come first, the rest wait a minute."""


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

    def load(self, packet: Packet, shares: Sequence[ShareFate], part: int) -> None:
        """Load a part of a packet. Raises Unavailable."""
        self._try(lambda: self._board.load(packet, shares, part))

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
    pages: Pages,
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
        if packet.status is not PacketStatus.CLOSING:
            return 0, packet.status is PacketStatus.CLOSED
        closing = _Closing(
            packet,
            packets=packets,
            pages=pages,
            cache=cache,
            ledger=ledger,
            clock=clock,
            journal=journal,
            is_over=lambda: clock.now_ms() >= stop_at_ms or not may_go_on(),
        )
        is_closed = closing.go_on()
        return closing.refunded_fen, is_closed

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
    if packet.rules.prize_id or closing.status is not PacketStatus.CLOSING:
        # The cache doesn't have a prize's packet. Others were closed, or got a later end meanwhile.
        return closing
    try:
        cache.close(packet_id)
    except Unavailable as error:
        # It refuses by its own clock; and what it hands out nevertheless meets a fate.
        journal.failure("cache_not_closed", error, packet_id=packet_id)
    return closing


class _Closing:
    """A packet on its way to its end: first every part is refunded, then every part is told."""

    def __init__(
        self,
        packet: Packet,
        *,
        packets: Packets,
        pages: Pages,
        cache: ImpatientCache,
        ledger: Ledger,
        clock: Clock,
        journal: Journal,
        is_over: Callable[[], bool],
    ) -> None:
        self.refunded_fen = 0
        self._packet = packet
        self._packets = packets
        self._pages = pages
        self._cache = cache
        self._ledger = ledger
        self._clock = clock
        self._journal = journal
        self._is_over = is_over
        self._end = PacketEnd()

    def go_on(self) -> bool:
        """Go on until the packet is closed or the time is up; tell whether it is closed."""
        parts = part_count(self._packet.packet_id)
        while (step := self._packet.closing_step) < 2 * parts:
            do = self._refund if step < parts else self._tell
            if self._is_over() or not do(step % parts):
                return False
            self._packet = replace(self._packet, closing_step=step + 1)
            if parts > 1:
                self._packets.mark_step(self._packet)
        return close_if_ended(
            self._packet,
            self._end,
            ledger=self._ledger,
            packets=self._packets,
            clock=self._clock,
        )

    def _refund(self, part: int) -> bool:
        """Refund every share of a part that has no fate, in chunks; False where the time is up."""
        packet, ledger = self._packet, self._ledger
        taken = self._taken(part)
        while missing := [no for no in share_numbers(packet, part) if no not in taken]:
            for start in range(0, len(missing), SHARES_PER_TRANSACTION):
                if self._is_over():
                    return False
                now_ms = self._clock.now_ms()
                chunk = missing[start : start + SHARES_PER_TRANSACTION]
                fates = [
                    ShareFate(
                        packet.packet_id,
                        no,
                        Fate.REFUNDED,
                        self._amounts[no - 1],
                        now_ms,
                        refund_no=chunk[0],
                    )
                    for no in chunk
                ]
                transfer = _transfer(packet, fates, now_ms)
                if not ledger.refund(fates, transfer, now_ms):
                    break  # a claim came in between: read again
                self.refunded_fen += transfer.amount_fen
            else:
                break
            before, taken = taken, self._taken(part)
            if len(taken) == len(before):
                msg = f"the ledger refuses to refund {packet.packet_id}, and no claim is the reason"
                raise InvariantViolated(msg)
        return True

    def _tell(self, part: int) -> bool:
        """Bring the cache up to the end, and write the part's sums.

        Owners hear of their shares, whatever the cache had forgotten. False where the cache is away
        or a claim waits for its settlement: the money is back by then, and the next sweep goes on.
        """
        packet = self._packet
        shares = self._packets.list_part_shares(packet.packet_id, part)
        # Draws know what is won by the units' fates.
        if not packet.rules.prize_id:
            try:
                self._cache.load(packet, shares, part)
            except Unavailable as error:
                self._journal.failure("cache_not_closed", error, packet_id=packet.packet_id)
                return False
        end = end_part(packet, part, shares, packets=self._packets, pages=self._pages)
        self._end = end or self._end
        return end is not None

    def _taken(self, part: int) -> set[int]:
        shares = self._packets.list_part_shares(self._packet.packet_id, part)
        return {share.share_no for share in shares}

    @cached_property
    def _amounts(self) -> Sequence[int]:
        # Of all parts at once, and only where something is left.
        return amounts_fen(self._packet.terms)


def _transfer(packet: Packet, fates: Sequence[ShareFate], now_ms: int) -> Transfer:
    return Transfer(
        transfer_id=refund_id(packet.packet_id, fates[0].share_no),
        kind=TransferKind.REFUND,
        debit=packet_account(packet.packet_id),
        credit=user_account(packet.sender.user_id),
        amount_fen=sum(fate.amount_fen for fate in fates),
        at_ms=now_ms,
    )
