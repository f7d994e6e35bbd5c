"""Settlement (入账): crediting claims to users, in several parallel transactions.

Claims of different users have no row in common. A shard's last claim may close the packet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from redpacket.ledger.model import Transfer, TransferKind, packet_account, settle_id, user_account
from redpacket.packets.model.claim import Share, ShareRef, ShareStatus
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.packets.ports import PacketReader, PayoutQueue, Settled
from redpacket.packets.split import share_amount_fen
from redpacket.packets.use_cases.close_packet import EndPorts, close_emptied
from redpacket.platform.errors import Contended, InvariantViolated, RedPacketError, Unavailable
from redpacket.platform.runtime import EventLogger, InParallel

Item = TypeVar("Item", ShareRef, Share)
Result = TypeVar("Result")

CLAIMS_PER_TRANSACTION = 10
"""Claims per transaction. Larger transactions conflict more often and then delay more claims."""

CLAIMS_PER_READ = 100

ASK_AGAIN_S = 2
"""Seconds until closing is retried if the last claim settles before earlier claims."""
ASKED_AGAIN_MS = 30_000
"""Milliseconds after the last claim within which closing is requeued; later, the sweep retries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlePorts(EndPorts):
    """Dependencies of a settlement."""

    payouts: PayoutQueue
    logger: EventLogger
    in_parallel: InParallel


def settle_claims(
    refs: Iterable[ShareRef],
    *,
    announce_claims: Callable[[Sequence[Share]], None] | None = None,
    ports: SettlePorts,
) -> set[ShareRef]:
    """Credit all uncredited claims, announce the paid claims, and return the failed claims.

    Amounts and users come from the ledger's rows, never from a message. Paid claims that can't be
    announced count as failed, so that their messages are redelivered.
    """
    packets, logger, in_parallel = ports.packets, ports.logger, ports.in_parallel
    pending = list(dict.fromkeys(refs))
    failed: set[ShareRef] = set()
    for start in range(0, len(pending), CLAIMS_PER_READ):
        chunk = pending[start : start + CLAIMS_PER_READ]
        # Read packets before claims: if a packet is closed, its claims are then read as settled.
        loaded, away = _packets_of(sorted({ref.packet_id for ref in chunk}), packets, logger)
        sent = {packet.packet_id: packet for packet in loaded}
        failed |= {ref for ref in chunk if ref.packet_id in away}
        chunk = [ref for ref in chunk if ref.packet_id not in away]
        shares = {share.ref: share for share in _each(packets.list_refs, chunk, logger)}
        payable, refused = _checked_all(chunk, shares, sent, logger)

        def pay(batch: Sequence[Share]) -> set[ShareRef]:
            def paid(some: Sequence[Share]) -> list[ShareRef]:
                unpaid = _pay(some, ports)
                return [share.ref for share in some if share.ref not in unpaid]

            settled: list[ShareRef] = _each(paid, batch, logger)
            return {share.ref for share in batch} - set(settled)

        unpaid = set[ShareRef]().union(*in_parallel(pay, _batches(payable)))
        credited = [share for share in payable if share.ref not in unpaid]
        if credited:
            logger.count("credited", len(credited))
        _add_settled(credited, sent, ports)
        failed |= refused | _still_unsettled(unpaid, packets)
        last = [
            (share, sent[ref.packet_id])
            for ref, share in shares.items()
            if share.is_last and ref not in failed
        ]

        def end(pair: tuple[Share, Packet]) -> None:
            _end_packet(*pair, ports)

        # Close in parallel, because a batch may end all shards, each with hundreds of pages.
        in_parallel(end, last)
        if announce_claims:
            paid_now = [share for ref, share in shares.items() if ref not in failed]
            failed |= _announce(announce_claims, paid_now, logger)
    return failed


def _announce(
    announce: Callable[[Sequence[Share]], None], paid: Sequence[Share], logger: EventLogger
) -> set[ShareRef]:
    try:
        announce(paid)
    except Unavailable as error:
        logger.failure("claims_not_announced", error)
        return {share.ref for share in paid}
    return set()


def _each(
    do: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item], logger: EventLogger
) -> list[Result]:
    """Call *do* for all items. If that fails, call it for each, so that only the bad items fail."""
    try:
        return do(items)
    except Unavailable:
        raise  # If a dependency is unavailable, single items would fail, too.
    except Exception as error:  # noqa: BLE001 - a forged row may break any reader
        if len(items) == 1:
            logger.failure("claim_refused", error, claim=items[0].name)
            return []
    return [result for item in items for result in _each(do, [item], logger)]


def _checked_all(
    refs: Sequence[ShareRef],
    shares: Mapping[ShareRef, Share],
    sent: Mapping[str, Packet],
    logger: EventLogger,
) -> tuple[list[Share], set[ShareRef]]:
    failed: set[ShareRef] = set()
    payable: list[Share] = []
    for ref in refs:
        try:
            share = _checked(ref, shares.get(ref), sent.get(ref.packet_id))
        except RedPacketError as error:
            logger.failure("claim_refused", error, packet_id=ref.packet_id, share_no=ref.share_no)
            failed.add(ref)
            continue
        if share.settled_at_ms is None:
            payable.append(share)
    return payable, failed


def _packets_of(
    packet_ids: Sequence[str], packets: PacketReader, logger: EventLogger
) -> tuple[list[Packet], set[str]]:
    try:
        return packets.list_packets(packet_ids), set()
    except Unavailable:
        raise
    except Exception as error:  # noqa: BLE001 - one bad row must not block the rest of the batch
        if len(packet_ids) == 1:
            logger.failure("claim_refused", error, packet_id=packet_ids[0])
            return [], set(packet_ids)
    each = [_packets_of([packet_id], packets, logger) for packet_id in packet_ids]
    return [packet for loaded, _ in each for packet in loaded], {
        packet_id for _, away in each for packet_id in away
    }


def _checked(ref: ShareRef, share: Share | None, packet: Packet | None) -> Share:
    if share is None or packet is None or share.status is not ShareStatus.CLAIMED:
        raise InvariantViolated(f"share {ref.share_no} is not claimed")
    terms, share_no = packet.terms, ref.share_no
    exists = 1 <= share_no <= terms.count
    if not exists or share.amount_fen != share_amount_fen(terms, share_no):
        raise InvariantViolated(
            f"share {ref.share_no} has {share.amount_fen} fen, which the packet's terms do not"
        )
    if not (share.claimer and packet.rules.admits(share.claimer)):
        raise InvariantViolated(f"share {ref.share_no} was claimed by a user who is not invited")
    if packet.funded_at_ms is None:
        raise InvariantViolated(
            f"claim of share {share.share_no} of {share.packet_id}, which is not paid for"
        )
    if share.settled_at_ms is None and packet.status is PacketStatus.CLOSED:
        # All claims of a closed packet are settled, so this claim is forged.
        raise InvariantViolated(f"share {ref.share_no} was claimed after its packet was closed")
    return share


def _batches(payable: Sequence[Share]) -> list[Sequence[Share]]:
    starts = range(0, len(payable), CLAIMS_PER_TRANSACTION)
    return [payable[start : start + CLAIMS_PER_TRANSACTION] for start in starts]


def _pay(batch: Sequence[Share], ports: SettlePorts) -> set[ShareRef]:
    """Credit a batch and return the unpaid claims; retry conflicting claims one by one."""
    ledger, now_ms = ports.ledger, ports.clock.now_ms()
    unpaid: set[ShareRef] = set()
    left = [(share, _transfer(share, now_ms)) for share in batch]
    while left:
        in_the_way = ledger.settle(left, now_ms)
        if not in_the_way:
            break
        apart = [pair for pair in left if pair[0].ref in in_the_way]
        if len(left) == 1 or not apart:
            return unpaid | {share.ref for share, _ in left}
        left = [pair for pair in left if pair[0].ref not in in_the_way]
        for pair in apart:
            unpaid |= ledger.settle([pair], now_ms)
    return unpaid


def _add_settled(paid: Iterable[Share], sent: Mapping[str, Packet], ports: SettlePorts) -> None:
    amounts: dict[str, list[int]] = defaultdict(list)
    for share in paid:
        if not sent[share.packet_id].is_small:
            amounts[share.packet_id].append(share.amount_fen)
    for packet_id, amounts_fen in amounts.items():
        try:
            ports.pages.add_settled(packet_id, Settled(len(amounts_fen), sum(amounts_fen)))
        except Unavailable as error:
            # Don't fail. The page only shows too low a total until the packet is closed.
            ports.logger.failure("sums_not_kept", error, packet_id=packet_id)


def _still_unsettled(refs: set[ShareRef], packets: PacketReader) -> set[ShareRef]:
    """Return the claims that are still unpaid; a duplicate delivery may have paid the others."""
    shares = packets.list_refs(sorted(refs, key=lambda ref: (ref.packet_id, ref.share_no)))
    return {share.ref for share in shares if share.settled_at_ms is None}


def _transfer(share: Share, now_ms: int) -> Transfer:
    if share.claimer is None:
        raise InvariantViolated(f"claim {share.share_no} of {share.packet_id} has no claimer")
    return Transfer(
        transfer_id=settle_id(share.packet_id, share.share_no),
        kind=TransferKind.SETTLE,
        debit=packet_account(share.packet_id),
        credit=user_account(share.claimer.user_id),
        amount_fen=share.amount_fen,
        at_ms=now_ms,
        placed_at_ms=share.decided_at_ms,
    )


def _end_packet(share: Share, packet: Packet, ports: SettlePorts) -> None:
    is_asked_again = ports.clock.now_ms() - share.decided_at_ms < ASKED_AGAIN_MS
    try:
        if _is_closed(share, packet, ports, may_wait=is_asked_again):
            ports.packets.mark_done(share)
        elif is_asked_again:
            ports.payouts.put([share.ref], delay_s=ASK_AGAIN_S)
    except Exception as error:  # noqa: BLE001 - a paid claim must not redeliver its batch
        # The sweep retries this claim until the packet is closed.
        ports.logger.failure("packet_not_closed", error, packet_id=share.packet_id)


def _is_closed(share: Share, packet: Packet, ports: SettlePorts, *, may_wait: bool) -> bool:
    try:
        return close_emptied(packet, share.share_no, ports)
    except Contended:
        # Transactions that close several packets of one sender conflict on the sender's row.
        if may_wait:
            return False
        raise
