"""Conversion of row changes into notices and events, with one delivery per subscribed webhook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.events.model.events import (
    Change,
    Event,
    EventType,
    draw_events,
    packet_events,
    payment_events,
    share_events,
    withdrawal_events,
)
from redpacket.events.model.notices import notices_of
from redpacket.events.model.webhooks import Delivery
from redpacket.events.ports import DeliveryQueue
from redpacket.lottery.model.lottery import Draw
from redpacket.packets.model.claim import Share
from redpacket.packets.model.packet import Packet
from redpacket.packets.ports import PacketReader
from redpacket.payments.model.payments import Payment
from redpacket.payments.model.withdrawals import Withdrawal
from redpacket.platform.runtime import Clock, InParallel
from redpacket.users.model import UserNotice

if TYPE_CHECKING:
    from redpacket.events.dynamodb.webhooks import DynamoWebhooks


_ON_CARDS = {EventType.PACKET_CLAIMED, EventType.PACKET_EMPTIED, EventType.PACKET_CLOSED}
"""Types of events that change a packet's card in a chat."""


@dataclass(frozen=True, slots=True)
class AnnouncePorts:
    """Dependencies of announcements."""

    repository: DynamoWebhooks
    packets: PacketReader
    put_notice: Callable[[UserNotice], None]
    in_parallel: InParallel
    queue: DeliveryQueue
    edit_cards: Callable[[Sequence[str], int], None] | None
    """Function that queues card edits for packets; None in a stack without chat platforms."""
    clock: Clock


def announce(changes: Sequence[Change], *, ports: AnnouncePorts) -> int:
    """Store notices, queue deliveries and card edits, and return the number of deliveries.

    Raises Unavailable. A repeated call produces the same notices and event ids.
    """
    notices = [notice for change in changes for notice in notices_of(change)]
    if notices:
        ports.in_parallel(ports.put_notice, notices)
    webhooks = [webhook for webhook in ports.repository.list_all() if webhook.is_on]
    if not (webhooks or ports.edit_cards):
        return 0
    packets = _packets_of(changes, ports.packets)
    now_ms = ports.clock.now_ms()
    events = [event for change in changes for event in _of(change, packets)]
    deliveries = [
        Delivery(webhook.name, event, now_ms)
        for webhook in webhooks
        for event in events
        if webhook.wants(event.kind)
    ]
    if deliveries:
        ports.queue.put(deliveries)
    # This step is last, so that a failing card queue blocks no webhook.
    shown = {event.subject for event in events if event.kind in _ON_CARDS}
    cards = sorted(packet_id for packet_id in shown if packets[packet_id].has_card)
    if ports.edit_cards and cards:
        ports.edit_cards(cards, now_ms)
    return len(deliveries)


def _packets_of(changes: Sequence[Change], packets: PacketReader) -> dict[str, Packet]:
    """Return the changed packets and the packets of changed shares, by id."""
    ids = {change.after.packet_id for change in changes if isinstance(change.after, Share)}
    of_shares = packets.list_packets(sorted(ids)) if ids else []
    changed = [change.after for change in changes if isinstance(change.after, Packet)]
    return {packet.packet_id: packet for packet in (*of_shares, *changed)}


def _of(change: Change, packets_by_id: Mapping[str, Packet]) -> Iterator[Event]:
    match change.before, change.after:
        case Packet() | None as before, Packet() as packet:
            yield from packet_events(before, packet)
        case Share() | None as before, Share() as share if share.packet_id in packets_by_id:
            yield from share_events(before, share, packets_by_id[share.packet_id])
        case Draw() | None as before, Draw() as draw:
            yield from draw_events(before, draw)
        case Withdrawal() | None as before, Withdrawal() as withdrawal:
            yield from withdrawal_events(before, withdrawal)
        case Payment() | None as before, Payment() as payment:
            yield from payment_events(before, payment)
