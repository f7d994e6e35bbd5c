"""Close (结束): write a packet's final sums once every share has a fate and every claim is paid.

A fate is for ever, so a part that has all of them needs no second look: its sums are written once,
and the packet is closed by the one who finds the sums of all parts. Closing is never undone.
"""

from __future__ import annotations

from collections.abc import Sequence

from redpacket.domain.claim import ShareFate
from redpacket.domain.closing import add_up, find_end
from redpacket.domain.errors import InvariantViolated
from redpacket.domain.packet import (
    Packet,
    PacketEnd,
    PacketStatus,
    is_cut,
    part_count,
    part_of_share,
    part_size,
)
from redpacket.ports.accounts import Ledger
from redpacket.ports.packets import Packets, Pages
from redpacket.ports.runtime import Clock


def close_emptied(
    packet: Packet, last_no: int, *, ledger: Ledger, packets: Packets, pages: Pages, clock: Clock
) -> bool:
    """Close a packet, or end its part that share *last_no* emptied; tell whether that is done."""
    if packet.status is PacketStatus.CLOSED:
        return True
    if packet.status is PacketStatus.CLOSING:
        # A sweep closes it, and updates the cache first, so that all owners get their shares.
        return False
    part = part_of_share(packet.packet_id, last_no)
    shares = packets.list_part_shares(packet.packet_id, part)
    end = end_part(packet, part, shares, packets=packets, pages=pages)
    if end is None:
        return False
    close_if_ended(packet, end, ledger=ledger, packets=packets, clock=clock)
    return True


def end_part(
    packet: Packet, part: int, shares: Sequence[ShareFate], *, packets: Packets, pages: Pages
) -> PacketEnd | None:
    """Write the final pages of a part and return its sums; None while a share can change."""
    end = find_end(shares, part_size(packet, part))
    if end:
        pages.put_final(packet.packet_id, shares)
    if end and is_cut(packet.packet_id):
        packets.put_part_end(packet.packet_id, part, end)
    return end


def close_if_ended(
    packet: Packet, end: PacketEnd, *, ledger: Ledger, packets: Packets, clock: Clock
) -> bool:
    """Close a packet if all of its parts have ended; *end* is that of the one that ended now.

    Raises InvariantViolated where the sums are not the packet's total: it must not be closed.
    """
    ends = packets.list_part_ends(packet.packet_id) if is_cut(packet.packet_id) else [end]
    if len(ends) < part_count(packet.packet_id):
        return False
    total = add_up(ends)
    if total.claimed_fen + total.refunded_fen != packet.terms.total_fen:
        raise InvariantViolated(
            f"the shares of {packet.packet_id} are {total.claimed_fen + total.refunded_fen} fen"
        )
    ledger.close(packet, total, clock.now_ms())
    return True
