"""Settle (入账): move claims from escrow to their takers, a batch in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from redpacket.domain.claim import Fate, ShareFate, ShareRef, luckiest
from redpacket.domain.errors import InvariantViolated, RedPacketError
from redpacket.domain.ledger import Transfer, TransferKind, escrow_account, user_account
from redpacket.domain.packet import Kind, Packet
from redpacket.domain.split import share_amount_fen
from redpacket.ports import Clock, Journal, Ledger, Packets

CLAIMS_PER_TRANSACTION = 20
"""DynamoDB takes 100 operations: a claim is a share, a balance, two entries, perhaps an escrow."""

LOOKED_THROUGH_MAX = 20_000
"""Shares that are read at once: some seconds. A million would outlast the function, each time."""


def settle_claims(
    refs: Iterable[ShareRef],
    *,
    ledger: Ledger,
    packets: Packets,
    clock: Clock,
    journal: Journal,
    looked_through_max: int = LOOKED_THROUGH_MAX,
) -> set[ShareRef]:
    """Credit every claim that is not credited yet; return those that could not be settled.

    Amounts and takers come from the ledger's own rows, never from a message.
    """
    waiting = list(dict.fromkeys(refs))
    failed: set[ShareRef] = set()
    for start in range(0, len(waiting), CLAIMS_PER_TRANSACTION):
        chunk = waiting[start : start + CLAIMS_PER_TRANSACTION]
        shares = {share.ref: share for share in packets.list_refs(chunk)}
        sent = {packet.packet_id: packet for packet in _packets_of(shares.values(), packets)}
        payable, refused = _checked_all(chunk, shares, sent, journal)
        failed |= refused | _post(payable, ledger=ledger, packets=packets, now_ms=clock.now_ms())
        for packet in _emptied(sent.values(), ledger):
            if packet.terms.count <= looked_through_max:
                _note_emptied(packet, packets)
            else:
                _note_large_emptied(packet, shares.values(), packets)
    return failed


def _checked_all(
    refs: Sequence[ShareRef],
    shares: Mapping[ShareRef, ShareFate],
    sent: Mapping[str, Packet],
    journal: Journal,
) -> tuple[list[ShareFate], set[ShareRef]]:
    """Return the shares that are still to pay, and the claims that are none."""
    failed: set[ShareRef] = set()
    payable: list[ShareFate] = []
    for ref in refs:
        try:
            share = _checked(ref, shares.get(ref), sent.get(ref.packet_id))
        except RedPacketError as error:
            journal.failure("claim_refused", error, packet_id=ref.packet_id, share_no=ref.share_no)
            failed.add(ref)
            continue
        if share.settled_at_ms is None:
            payable.append(share)
    return payable, failed


def _packets_of(shares: Iterable[ShareFate], packets: Packets) -> list[Packet]:
    return packets.list_packets(sorted({share.packet_id for share in shares}))


def _checked(ref: ShareRef, share: ShareFate | None, packet: Packet | None) -> ShareFate:
    """Return the share to pay, or raise InvariantViolated where there is none or it is wrong."""
    if share is None or packet is None or share.fate is not Fate.CLAIMED:
        msg = f"no claim of share {ref.share_no}"
        raise InvariantViolated(msg)
    terms, share_no = packet.terms, ref.share_no
    exists = 1 <= share_no <= terms.count
    if not exists or share.amount_fen != share_amount_fen(terms, share_no):
        msg = f"share {ref.share_no} is not worth {share.amount_fen} fen by the packet's terms"
        raise InvariantViolated(msg)
    return share


def _post(
    payable: Sequence[ShareFate], *, ledger: Ledger, packets: Packets, now_ms: int
) -> set[ShareRef]:
    """Credit all at once; where one of them has changed meanwhile, each by itself."""
    settlements = [(share, _transfer(share, now_ms)) for share in payable]
    if not settlements or ledger.settle(settlements, now_ms):
        return set()
    refused = [
        share.ref
        for share, transfer in settlements
        if not ledger.settle([(share, transfer)], now_ms)
    ]
    # A duplicate delivery may have paid them: then all is well.
    return {share.ref for share in packets.list_refs(refused) if share.settled_at_ms is None}


def _transfer(share: ShareFate, now_ms: int) -> Transfer:
    if share.taker is None:
        msg = f"claimed share {share.share_no} of {share.packet_id} has no taker"
        raise InvariantViolated(msg)
    return Transfer(
        transfer_id=f"settle:{share.packet_id}:{share.share_no}",
        kind=TransferKind.SETTLE,
        debit=escrow_account(share.packet_id),
        credit=user_account(share.taker.user_id),
        amount_fen=share.amount_fen,
        at_ms=now_ms,
    )


def _emptied(sent: Iterable[Packet], ledger: Ledger) -> list[Packet]:
    """Return the packets whose escrow is empty, but for those of which that is known."""
    asked = {
        escrow_account(packet.packet_id): packet for packet in sent if packet.emptied_at_ms is None
    }
    empty = ledger.list_empty(list(asked))
    return [packet for escrow, packet in asked.items() if escrow in empty]


def _note_emptied(packet: Packet, packets: Packets) -> None:
    """Note who was luckiest and when the last share went, once all are taken and paid."""
    shares = packets.list_shares(packet.packet_id)
    claims = [share for share in shares if share.fate is Fate.CLAIMED]
    if len(claims) != packet.terms.count:
        return
    best = luckiest(claims)
    if best and packet.kind is Kind.LUCKY:
        packets.mark_luckiest(best)
    packets.mark_emptied(packet.packet_id, max(share.decided_at_ms for share in claims))


def _note_large_emptied(packet: Packet, latest: Iterable[ShareFate], packets: Packets) -> None:
    """Note that all are taken, as of the *latest* ones paid; the sweep finds the luckiest."""
    # The escrow was empty before this is read: what was not refunded by now never will be.
    for now in packets.list_packets([packet.packet_id]):
        if now.refunded_fen == 0:
            at_ms = max(share.decided_at_ms for share in latest if share.packet_id == now.packet_id)
            packets.mark_emptied(now.packet_id, at_ms)
