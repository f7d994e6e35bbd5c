"""Conversion of row changes into notices and events, with a delivery per subscribed webhook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.events.model.events import (
    Change,
    Event,
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


@dataclass(frozen=True, slots=True)
class AnnouncePorts:
    """Dependencies of announcements."""

    repository: DynamoWebhooks
    packets: PacketReader
    put_notice: Callable[[UserNotice], None]
    in_parallel: InParallel
    queue: DeliveryQueue
    clock: Clock


def announce(changes: Sequence[Change], *, ports: AnnouncePorts) -> int:
    """Store notices, queue deliveries, and return the number of deliveries.

    Raises Unavailable. A repeat makes the same notices and ids.
    """
    notices = [notice for change in changes for notice in notices_of(change)]
    if notices:
        ports.in_parallel(ports.put_notice, notices)
    webhooks = [webhook for webhook in ports.repository.list_all() if webhook.is_on]
    if not webhooks:
        return 0
    now_ms, events = ports.clock.now_ms(), list(_events(changes, ports.packets))
    deliveries = [
        Delivery(webhook.name, event, now_ms)
        for webhook in webhooks
        for event in events
        if webhook.wants(event.kind)
    ]
    if deliveries:
        ports.queue.put(deliveries)
    return len(deliveries)


def _events(changes: Sequence[Change], packets: PacketReader) -> Iterator[Event]:
    ids = {change.after.packet_id for change in changes if isinstance(change.after, Share)}
    packets_by_id = (
        {packet.packet_id: packet for packet in packets.list_packets(sorted(ids))} if ids else {}
    )
    for change in changes:
        yield from _of(change, packets_by_id)


def _of(change: Change, packets_by_id: dict[str, Packet]) -> Iterator[Event]:
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
