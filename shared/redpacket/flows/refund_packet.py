"""Refund (退款): give back what is left of packets that are closing, and end them.

Every share without a fate becomes "refunded" together with the sender's credit. A share that is
claimed meanwhile cancels its chunk, which is then read anew. It goes part by part, and no more than
one is in memory. A fate is for ever, so a part that has all of them needs no second look: the
packet row knows how far a packet of several parts has come, and the next sweep goes on there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

from redpacket.domain.claim import Fate, ShareFate
from redpacket.domain.errors import InvariantViolated, Unavailable
from redpacket.domain.ledger import (
    Transfer,
    TransferKind,
    packet_account,
    refund_id,
    user_account,
)
from redpacket.domain.packet import Packet, PacketEnd, is_cut, part_count, share_numbers
from redpacket.domain.split import amounts_fen
from redpacket.flows.close_packet import close_if_ended, end_part
from redpacket.flows.impatient_cache import ImpatientCache
from redpacket.ports import Clock, Journal, Ledger, Packets, Pages

OPERATIONS_PER_TRANSACTION = 100
"""DynamoDB's own limit."""

SHARES_PER_TRANSACTION = 45
"""A fate and a receipt of each, the sender's balance and entry."""

_share_no = attrgetter("share_no")


@dataclass(frozen=True, slots=True)
class ClosingDesk:
    """What it takes to end packets; *is_over* says that the rest waits for the next sweep."""

    packets: Packets
    pages: Pages
    cache: ImpatientCache
    ledger: Ledger
    clock: Clock
    journal: Journal
    is_over: Callable[[], bool]


class Closing:
    """A packet on its way to its end: first every part is refunded, then every part is told."""

    def __init__(self, packet: Packet, desk: ClosingDesk) -> None:
        self.packet = packet
        self.refunded_fen = 0
        self._desk = desk
        self._end = PacketEnd()
        # All fates of a packet of one part, once each share has one.
        self._known: Sequence[ShareFate] | None = None

    def go_on(self) -> bool:
        """Go on until the packet is closed or the time is up; tell whether it is closed."""
        parts = part_count(self.packet.packet_id)
        while (step := self.packet.closing_step) < 2 * parts:
            do = self._refund if step < parts else self._tell
            if self._desk.is_over() or not do(step % parts):
                return False
            self.packet = replace(self.packet, closing_step=step + 1)
            if parts > 1:
                self._desk.packets.mark_step(self.packet)
        return close_if_ended(
            self.packet,
            self._end,
            ledger=self._desk.ledger,
            packets=self._desk.packets,
            clock=self._desk.clock,
        )

    def draft(self, now_ms: int) -> tuple[list[ShareFate], list[ShareFate]]:
        """Return the fates that there are of a packet of one part, and those that it lacks."""
        fates = self._desk.packets.list_part_shares(self.packet.packet_id, 0)
        return fates, self._refunded(self._missing(fates, 0), now_ms)

    def adopt(self, fates: Sequence[ShareFate], refunded: Sequence[ShareFate]) -> None:
        """Take a draft for true: *refunded* are in the ledger now."""
        self.refunded_fen += sum(share.amount_fen for share in refunded)
        self._know([*fates, *refunded])

    def _refund(self, part: int) -> bool:
        """Refund every share of a part that has no fate, in chunks; False where the time is up."""
        if self._known is not None:
            return True
        fates = self._desk.packets.list_part_shares(self.packet.packet_id, part)
        while missing := self._missing(fates, part):
            refunded: list[ShareFate] = []
            for start in range(0, len(missing), SHARES_PER_TRANSACTION):
                if self._desk.is_over():
                    return False
                now_ms = self._desk.clock.now_ms()
                chunk = self._refunded(missing[start : start + SHARES_PER_TRANSACTION], now_ms)
                transfer = transfer_of(self.packet, chunk)
                if not self._desk.ledger.refund([(chunk, transfer)], now_ms):
                    break  # a claim came in between: read again
                self.refunded_fen += transfer.amount_fen
                refunded += chunk
            else:
                fates = [*fates, *refunded]
                break
            before, fates = (
                fates,
                self._desk.packets.list_part_shares(self.packet.packet_id, part),
            )
            if len(fates) == len(before):
                msg = (
                    f"the ledger refuses to refund {self.packet.packet_id},"
                    " and no claim is the reason"
                )
                raise InvariantViolated(msg)
        if not is_cut(self.packet.packet_id):
            self._know(fates)
        return True

    def _tell(self, part: int) -> bool:
        """Bring the cache up to the end, and write the part's sums.

        Owners hear of their shares, whatever the cache had forgotten. False where the cache is away
        or a claim waits for its settlement: the money is back by then, and the next sweep goes on.
        """
        packet, desk = self.packet, self._desk
        shares = self._known
        if shares is None:
            shares = desk.packets.list_part_shares(packet.packet_id, part)
        # Draws know what is won by the units' fates.
        if not packet.rules.prize_id:
            try:
                desk.cache.load(packet, shares, part)
            except Unavailable as error:
                desk.journal.failure("cache_not_closed", error, packet_id=packet.packet_id)
                return False
        end = end_part(packet, part, shares, packets=desk.packets, pages=desk.pages)
        self._end = end or self._end
        return end is not None

    def _know(self, fates: Iterable[ShareFate]) -> None:
        self._known = sorted(fates, key=_share_no)

    def _missing(self, fates: Iterable[ShareFate], part: int) -> list[int]:
        taken = {share.share_no for share in fates}
        return [no for no in share_numbers(self.packet, part) if no not in taken]

    def _refunded(self, numbers: Sequence[int], now_ms: int) -> list[ShareFate]:
        return [
            ShareFate(
                self.packet.packet_id,
                no,
                Fate.REFUNDED,
                self._amounts[no - 1],
                now_ms,
                refund_no=numbers[0],
            )
            for no in numbers
        ]

    @cached_property
    def _amounts(self) -> Sequence[int]:
        # Of all parts at once, and only where something is left.
        return amounts_fen(self.packet.terms)


def refund_together(closings: Sequence[Closing], desk: ClosingDesk) -> None:
    """Refund what is left of a `batches` of one sender's packets in one transaction.

    Where that fails nothing has happened: each is then refunded by itself, and fails by itself.
    """
    if len(closings) < 2 or desk.is_over():  # noqa: PLR2004 - alone is not together
        return
    now_ms = desk.clock.now_ms()
    try:
        drafts = [(closing, *closing.draft(now_ms)) for closing in closings]
        refunds = [
            (refunded, transfer_of(closing.packet, refunded))
            for closing, _, refunded in drafts
            if refunded
        ]
        if refunds and not desk.ledger.refund(refunds, now_ms):
            return  # a claim came in between
    except Exception:  # noqa: BLE001 - one bad packet must not keep others from refunds
        return
    for closing, fates, refunded in drafts:
        closing.adopt(fates, refunded)


def batches(packets: Iterable[Packet]) -> Iterator[list[Packet]]:
    """Yield packets of one sender in groups that one transaction can refund; large ones alone."""
    batch: list[Packet] = []
    used = 1  # the sender's balance
    for packet in packets:
        # A fate and a receipt of each share, and the sender's entry.
        needed = 2 * packet.terms.count + 1
        if is_cut(packet.packet_id):
            needed = OPERATIONS_PER_TRANSACTION
        if batch and used + needed > OPERATIONS_PER_TRANSACTION:
            yield batch
            batch, used = [], 1
        batch.append(packet)
        used += needed
    if batch:
        yield batch


def transfer_of(packet: Packet, refunded: Sequence[ShareFate]) -> Transfer:
    """Return the transfer that gives shares back to their sender."""
    return Transfer(
        transfer_id=refund_id(packet.packet_id, refunded[0].share_no),
        kind=TransferKind.REFUND,
        debit=packet_account(packet.packet_id),
        credit=user_account(packet.sender.user_id),
        amount_fen=sum(share.amount_fen for share in refunded),
        at_ms=refunded[0].decided_at_ms,
    )
