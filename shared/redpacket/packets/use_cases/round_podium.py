"""Podium of a rain's round: the best claims in all packets of the round.

The terms determine the amounts, so a large packet costs one page and the rows of its best shares.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from redpacket.packets.model.claim import Share, ShareRef, luck_of
from redpacket.packets.model.packet import SMALL_MAX, Packet
from redpacket.packets.model.rain import PODIUM_MAX
from redpacket.packets.ports import PacketReader
from redpacket.packets.split import amounts_fen

_SHARES_MAX = 200_000
"""Maximum shares of a round for which the amounts are computed, in less than a second."""

_BATCH, _BATCHES_MAX = 100, 10
"""Rows per batch, and maximum batches to read before giving up on finding enough claims."""


def best_of_round(packets: Sequence[Packet], reader: PacketReader) -> tuple[Share, ...]:
    """Return the best claims among the packets of an ended round, best first.

    After the end, `amounts_shown` hides no amount. A round with more than 200,000 shares has no
    podium if the claims of one of its packets don't fit on one page.
    """
    claims: dict[ShareRef, Share] = {}
    is_whole = True
    for packet in packets:
        shares, next_no = reader.list_some_shares(packet.packet_id, 0, SMALL_MAX)
        claims |= _claims(shares)
        is_whole = is_whole and next_no is None
    if not is_whole:
        if sum(packet.terms.count for packet in packets) > _SHARES_MAX:
            return ()
        claims |= _largest_claims(packets, reader)
    return tuple(sorted(claims.values(), key=luck_of)[:PODIUM_MAX])


def _largest_claims(packets: Sequence[Packet], reader: PacketReader) -> dict[ShareRef, Share]:
    largest = heapq.nlargest(
        _BATCH * _BATCHES_MAX,
        (
            (amount_fen, packet.packet_id, number)
            for packet in packets
            for number, amount_fen in enumerate(amounts_fen(packet.terms), 1)
        ),
    )
    claims: dict[ShareRef, Share] = {}
    for start in range(0, len(largest), _BATCH):
        batch = largest[start : start + _BATCH]
        claims |= _claims(reader.list_refs([ShareRef(each, number) for _, each, number in batch]))
        if len(claims) >= PODIUM_MAX:
            break
    return claims


def _claims(shares: Iterable[Share]) -> dict[ShareRef, Share]:
    return {share.ref: share for share in shares if share.claimer}
