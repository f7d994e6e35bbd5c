"""Refund (退款): returning closing packets' remaining shares to their senders, then closing them.

One transaction marks a chunk of shares as "refunded" and credits the sender. A concurrent claim
cancels the transaction, and the shares are read again. The packet row stores the progress
(docs/adr/0023).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from operator import attrgetter
from threading import Lock

from redpacket.ledger.model import Transfer, TransferKind, packet_account, refund_id, user_account
from redpacket.packets.model.claim import Share, ShareStatus
from redpacket.packets.model.closing import RecoveryPoint, recovery_point
from redpacket.packets.model.packet import Packet, PacketEnd, is_sharded, shard_count, share_numbers
from redpacket.packets.ports import ClaimCache
from redpacket.packets.split import share_amount_fen
from redpacket.packets.use_cases.close_packet import EndPorts, close_if_ended, end_shard
from redpacket.platform.errors import CacheAway, InvariantViolated, Unavailable
from redpacket.platform.runtime import EventLogger

OPERATIONS_PER_TRANSACTION = 100
"""DynamoDB's limit on operations in one transaction."""

SHARES_PER_TRANSACTION = 45
"""Maximum shares per transaction. Each share needs two operations, and the sender needs two."""

_SHARES_PER_LOOK = 1_000
"""Shares to read, about one DynamoDB page, before checking the time again."""

_LARGE = 20_000
"""Share count above which a split is slow; a split into 1,000,000 shares takes about a second."""

_share_no = attrgetter("share_no")


class Progress(Enum):
    """Result of a step or turn."""

    DONE = auto()
    WAITS = auto()
    UNFINISHED = auto()


class CircuitBreaker:
    """Claim cache for a sweep step. After a CacheAway, all calls fail. *turn* serializes calls."""

    def __init__(self, claim_cache: ClaimCache, turn: Lock) -> None:
        self._claim_cache = claim_cache
        self._turn = turn
        self._is_away = False

    def close(self, packet_id: str) -> None:
        """Close a packet. Raises Unavailable."""
        self._try(lambda: self._claim_cache.close(packet_id))

    def load(self, packet: Packet, shares: Sequence[Share], shard: int) -> None:
        """Load a shard of a packet. Raises Unavailable."""
        self._try(lambda: self._claim_cache.load(packet, shares, shard))

    def _try(self, do: Callable[[], None]) -> None:
        with self._turn:
            if self._is_away:
                raise CacheAway("an earlier cache call of this sweep failed")
            try:
                do()
            except CacheAway:
                self._is_away = True
                raise


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingPorts(EndPorts):
    """Dependencies of closing. The lock *splitting* serializes slow splits of large packets."""

    cache: CircuitBreaker
    logger: EventLogger
    is_over: Callable[[], bool]
    splitting: Lock = field(default_factory=Lock)


class Closing:
    """Closing of one packet: refund every shard, then update every shard's cache and sums."""

    def __init__(self, packet: Packet, ports: ClosingPorts) -> None:
        self.packet = packet
        self.refunded_fen = 0
        self._ports = ports
        self._end = PacketEnd()
        self._turn_ends_ms = 0
        self._known: Sequence[Share] | None = None

    def run(self, turn_ms: int) -> Progress:
        """Run until the packet is closed or must wait, or the turn is over with some progress."""
        self._turn_ends_ms = self._ports.clock.now_ms() + turn_ms
        while (place := recovery_point(self.packet))[0] is not RecoveryPoint.PACKET_TO_CLOSE:
            if self._ports.is_over():
                return Progress.UNFINISHED
            point, shard = place
            is_refunded = point is RecoveryPoint.SHARD_TO_TELL
            progress = self._finish(shard) if is_refunded else self._refund(shard)
            if progress is not Progress.DONE:
                return progress
            step = self.packet.closing_step + 1
            self.packet = replace(self.packet, closing_step=step, closing_no=0)
            if shard_count(self.packet.packet_id) > 1:
                self._ports.packets.mark_step(self.packet)
                if self._is_turn_over():
                    return Progress.UNFINISHED
        is_closed = close_if_ended(self.packet, self._end, self._ports)
        return Progress.DONE if is_closed else Progress.WAITS

    def draft(self, now_ms: int) -> tuple[list[Share], list[Share]]:
        """Return a one-shard packet's decided shares, and refunds for the undecided shares."""
        shares = self._ports.packets.list_shard_shares(self.packet.packet_id, 0)
        return shares, self._refunded(self._missing(shares, 0), now_ms)

    def accept(self, shares: Sequence[Share], refunded: Sequence[Share]) -> None:
        """Take over the result of `draft` after the ledger has stored the *refunded* shares."""
        self.refunded_fen += sum(share.amount_fen for share in refunded)
        self._know([*shares, *refunded])

    def _refund(self, shard: int) -> Progress:
        if self._known is not None:
            return Progress.DONE
        shares = self._read(shard, self.packet.closing_no)
        while shares is not None and (missing := self._missing(shares, shard)):
            self._split()
            refunded: list[Share] = []
            for start in range(0, len(missing), SHARES_PER_TRANSACTION):
                if self._ports.is_over() or (refunded and self._is_turn_over()):
                    self._checkpoint(refunded)
                    return Progress.UNFINISHED
                now_ms = self._ports.clock.now_ms()
                chunk = self._refunded(missing[start : start + SHARES_PER_TRANSACTION], now_ms)
                transfer = transfer_of(self.packet, chunk)
                if not self._ports.ledger.refund([(chunk, transfer)], now_ms):
                    break  # A concurrent claim took a share, so read again.
                self.refunded_fen += transfer.amount_fen
                refunded += chunk
            else:
                shares = [*shares, *refunded]
                break
            before, shares = shares, self._read(shard, self.packet.closing_no)
            if shares is not None and len(shares) == len(before):
                raise InvariantViolated(
                    f"the ledger refuses to refund {self.packet.packet_id},"
                    " and no claim is the reason"
                )
        if shares is None:
            return Progress.UNFINISHED
        if not is_sharded(self.packet.packet_id) and not self.packet.closing_no:
            self._know(shares)
        return Progress.DONE

    def _finish(self, shard: int) -> Progress:
        """Update the cache and store the shard's sums after the refund, or return WAITS."""
        packet, ports = self.packet, self._ports
        shares = self._known
        if shares is None:
            shares = self._read(shard)
            if shares is None:
                return Progress.UNFINISHED
        if not packet.rules.prize_id:
            try:
                ports.cache.load(packet, shares, shard)
            except Unavailable as error:
                ports.logger.failure("cache_not_closed", error, packet_id=packet.packet_id)
                return Progress.WAITS
        end = end_shard(packet, shard, shares, ports)
        self._end = end or self._end
        return Progress.DONE if end else Progress.WAITS

    def _read(self, shard: int, after_no: int = 0) -> list[Share] | None:
        """Return a shard's decided shares after *after_no*, or None if the time runs out."""
        shares: list[Share] = []
        for share in self._ports.packets.scan_shard_shares(self.packet.packet_id, shard, after_no):
            shares.append(share)
            if len(shares) % _SHARES_PER_LOOK == 0 and self._ports.is_over():
                return None
        return sorted(shares, key=_share_no)

    def _is_turn_over(self) -> bool:
        return self._ports.clock.now_ms() >= self._turn_ends_ms

    def _split(self) -> None:
        """Split a large packet unless the time is up, because a split can't be interrupted."""
        if self.packet.terms.count > _LARGE:
            with self._ports.splitting:
                if not self._ports.is_over():
                    share_amount_fen(self.packet.terms, 1)

    def _checkpoint(self, refunded: Sequence[Share]) -> None:
        if refunded:
            self.packet = replace(self.packet, closing_no=refunded[-1].share_no)
            self._ports.packets.mark_step(self.packet)

    def _know(self, shares: Iterable[Share]) -> None:
        self._known = sorted(shares, key=_share_no)

    def _missing(self, shares: Iterable[Share], shard: int) -> list[int]:
        taken = {share.share_no for share in shares}
        place = self.packet.closing_no
        return [no for no in share_numbers(self.packet, shard) if no > place and no not in taken]

    def _refunded(self, numbers: Sequence[int], now_ms: int) -> list[Share]:
        return [
            Share(
                self.packet.packet_id,
                no,
                ShareStatus.REFUNDED,
                share_amount_fen(self.packet.terms, no),
                now_ms,
                refund_no=numbers[0],
            )
            for no in numbers
        ]


def refund_together(closings: Sequence[Closing], ports: ClosingPorts) -> None:
    """Refund a group from `batches` in one transaction, or leave the refunds to the turns."""
    if len(closings) < 2 or ports.is_over():  # noqa: PLR2004 - one packet needs no batch
        return
    now_ms = ports.clock.now_ms()
    try:
        drafts = [(closing, *closing.draft(now_ms)) for closing in closings]
        refunds = [
            (refunded, transfer_of(closing.packet, refunded))
            for closing, _, refunded in drafts
            if refunded
        ]
        if refunds and not ports.ledger.refund(refunds, now_ms):
            return  # A concurrent claim took a share.
    except Exception:  # noqa: BLE001 - one bad packet must not block refunds of others
        return
    for closing, shares, refunded in drafts:
        closing.accept(shares, refunded)


def batches(packets: Iterable[Packet]) -> Iterator[list[Packet]]:
    """Yield groups of one sender's packets; a group of two or more fits in one transaction."""
    batch: list[Packet] = []
    used = 1  # the sender's balance
    for packet in packets:
        # A row and a receipt per share, and one entry of the sender.
        needed = 2 * packet.terms.count + 1
        if is_sharded(packet.packet_id):
            needed = OPERATIONS_PER_TRANSACTION
        if batch and used + needed > OPERATIONS_PER_TRANSACTION:
            yield batch
            batch, used = [], 1
        batch.append(packet)
        used += needed
    if batch:
        yield batch


def transfer_of(packet: Packet, refunded: Sequence[Share]) -> Transfer:
    """Return the transfer that refunds shares to the packet's sender."""
    return Transfer(
        transfer_id=refund_id(packet.packet_id, refunded[0].share_no),
        kind=TransferKind.REFUND,
        debit=packet_account(packet.packet_id),
        credit=user_account(packet.sender.user_id),
        amount_fen=sum(share.amount_fen for share in refunded),
        at_ms=refunded[0].decided_at_ms,
    )
