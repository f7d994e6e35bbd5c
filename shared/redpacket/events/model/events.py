"""Events for hosts: conversion of row changes into events, and of events into CloudEvents.

Events hold our user ids; host ids are added when an event is sent, so no queue holds them
(docs/adr/0037).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from redpacket.lottery.model.lottery import Draw
from redpacket.lottery.model.winners import Winner
from redpacket.packets.model.claim import Share, ShareStatus
from redpacket.packets.model.packet import Packet, PacketStatus
from redpacket.payments.model.payments import Payment, PaymentStatus
from redpacket.payments.model.withdrawals import Withdrawal, WithdrawalStatus

_ID_DIGITS = 32
_SEQUENCE_DIGITS = 8
"""Digits of a sequence number, enough for twice the maximum number of shares."""

_AT_MS_END = 253_402_300_800_000
"""First millisecond of the year 10,000, which Python's calendar lacks."""

_UNSTARTED = {None, PacketStatus.UNPAID}

Subject = Packet | Share | Draw | Winner | Withdrawal | Payment


@dataclass(frozen=True, slots=True)
class Change:
    """Parsed row before and after one write."""

    before: Subject | None
    after: Subject


class EventType(StrEnum):
    """Types of events; TEST is sent only on an operator's request."""

    PACKET_SENT = "redpacket.packet.sent"
    PACKET_CLAIMED = "redpacket.packet.claimed"
    PACKET_EMPTIED = "redpacket.packet.emptied"
    PACKET_CLOSED = "redpacket.packet.closed"
    CLAIM_SETTLED = "redpacket.claim.settled"
    DRAW_WON = "redpacket.draw.won"
    WITHDRAWAL_PAID = "redpacket.withdrawal.paid"
    WITHDRAWAL_FAILED = "redpacket.withdrawal.failed"
    WITHDRAWAL_CANCELLED = "redpacket.withdrawal.cancelled"
    PAYMENT_PAID = "redpacket.payment.paid"
    PAYMENT_REFUNDED = "redpacket.payment.refunded"
    TEST = "redpacket.webhook.test"


SUBSCRIBED = tuple(kind for kind in EventType if kind is not EventType.TEST)


@dataclass(frozen=True, slots=True)
class Event:
    """One event; the same change always produces the same event.

    *users* maps names in `data` to our user ids. *sequence* orders a packet's events, which arrive
    in any order: `sent` has 0, the claim of share n has n, its settlement has count + n, and
    `emptied` and `closed` follow.
    """

    kind: EventType
    subject: str
    at_ms: int
    data: Mapping[str, Any]
    users: Mapping[str, str] = field(default_factory=dict)
    sequence: int | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a time without a text form; such an event would block later ones."""
        if not 0 <= self.at_ms < _AT_MS_END:
            raise ValueError(f"{self.at_ms} is not a valid event time")

    @property
    def event_id(self) -> str:
        """Id that is the same for every read of a change, so that receivers can drop duplicates.

        A payment may be refunded in parts, so the id includes the sum refunded so far.
        """
        place = str(self.data.get("refunded_fen", "") if self.sequence is None else self.sequence)
        text = json.dumps([self.kind, self.subject, place])
        return f"evt_{hashlib.sha256(text.encode()).hexdigest()[:_ID_DIGITS]}"


def cloud_event(event: Event, source: str, host_ids: Mapping[str, str]) -> dict[str, Any]:
    """Return the CloudEvent. A user missing from *host_ids* is null; the token is always set."""
    happened = datetime.fromtimestamp(event.at_ms / 1000, UTC)
    users: dict[str, str | None] = {}
    for name, user_id in event.users.items():
        users[name] = host_ids.get(user_id)
        users[f"{name}_token"] = user_id
    told: dict[str, Any] = {
        "specversion": "1.0",
        "id": event.event_id,
        "source": source,
        "type": event.kind.value,
        "subject": event.subject,
        "time": happened.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "datacontenttype": "application/json",
    }
    if event.sequence is not None:
        # The CloudEvents extension `sequence` requires a string that sorts like its number.
        told["sequence"] = f"{event.sequence:0{_SEQUENCE_DIGITS}d}"
    return {**told, "data": {**event.data, **users}}


def packet_events(before: Packet | None, after: Packet) -> Iterator[Event]:
    """Yield the events of a packet's change; packets of prizes have none."""
    if after.rules.prize_id:
        return
    was = before.status if before else None
    sender = {"sender": after.sender.user_id}
    if was in _UNSTARTED and after.status is PacketStatus.OPEN:
        sent = {
            "packet_id": after.packet_id,
            "kind": after.kind.value,
            "total_fen": after.terms.total_fen,
            "count": after.terms.count,
            "campaign_id": after.rules.campaign_id,
            "expires_at_ms": after.expires_at_ms,
        }
        at_ms = after.funded_at_ms or after.created_at_ms
        yield Event(EventType.PACKET_SENT, after.packet_id, at_ms, sent, sender, 0)
    if was is PacketStatus.CLOSED or after.status is not PacketStatus.CLOSED or after.end is None:
        return
    place = 2 * after.terms.count + 1
    end = {
        "packet_id": after.packet_id,
        "campaign_id": after.rules.campaign_id,
        "claimed_count": after.end.claimed_count,
        "claimed_fen": after.end.claimed_fen,
    }
    if after.is_emptied:
        emptied_at_ms = after.end.last_claimed_at_ms
        yield Event(EventType.PACKET_EMPTIED, after.packet_id, emptied_at_ms, end, sender, place)
    closed = {
        **end,
        "refunded_count": after.end.refunded_count,
        "refunded_fen": after.end.refunded_fen,
    }
    closed_at_ms = after.closed_at_ms or after.end.last_claimed_at_ms
    yield Event(EventType.PACKET_CLOSED, after.packet_id, closed_at_ms, closed, sender, place + 1)


def share_events(before: Share | None, after: Share, packet: Packet) -> Iterator[Event]:
    """Yield the events of a share's change; a draw has already announced a prize's claim."""
    if after.status is not ShareStatus.CLAIMED or after.claimer is None:
        return
    users = {"user": after.claimer.user_id, "sender": packet.sender.user_id}
    claim = {
        "packet_id": after.packet_id,
        "campaign_id": packet.rules.campaign_id,
        "prize_id": packet.rules.prize_id,
        "share_no": after.share_no,
        "amount_fen": after.amount_fen,
    }
    was_claimed = before is not None and before.status is ShareStatus.CLAIMED
    if not was_claimed and not packet.rules.prize_id:
        at_ms, place = after.decided_at_ms, after.share_no
        yield Event(EventType.PACKET_CLAIMED, after.packet_id, at_ms, claim, users, place)
    if after.settled_at_ms and not (before and before.settled_at_ms):
        at_ms, place = after.settled_at_ms, packet.terms.count + after.share_no
        yield Event(EventType.CLAIM_SETTLED, after.packet_id, at_ms, claim, users, place)


def draw_events(before: Draw | None, after: Draw) -> Iterator[Event]:
    """Yield the event of a winning draw, once."""
    if before is not None or after.prize is None:
        return
    won = {
        "campaign_id": after.campaign_id,
        "draw_id": after.draw_id,
        "prize_id": after.prize.prize_id,
        "title": after.prize.title,
        "kind": after.prize.kind.value,
        "amount_fen": after.prize.amount_fen,
        "unit_no": after.unit_no,
    }
    subject = f"{after.campaign_id}/{after.draw_id}"
    yield Event(EventType.DRAW_WON, subject, after.drawn_at_ms, won, {"user": after.user_id})


def withdrawal_events(before: Withdrawal | None, after: Withdrawal) -> Iterator[Event]:
    """Yield the event of a withdrawal that has ended."""
    kinds = {
        WithdrawalStatus.PAID: EventType.WITHDRAWAL_PAID,
        WithdrawalStatus.FAILED: EventType.WITHDRAWAL_FAILED,
        WithdrawalStatus.CANCELLED: EventType.WITHDRAWAL_CANCELLED,
    }
    if after.status not in kinds or (before and before.status is after.status):
        return
    told = {
        "withdrawal_id": after.withdrawal_id,
        "amount_fen": after.amount_fen,
        "channel": after.channel.value,
    }
    at_ms = after.ended_at_ms or after.created_at_ms
    users = {"user": after.user_id}
    yield Event(kinds[after.status], after.withdrawal_id, at_ms, told, users)


def payment_events(before: Payment | None, after: Payment) -> Iterator[Event]:
    """Yield the events of a payment that was paid or refunded."""
    users = {"user": after.user_id}
    told = {
        "payment_id": after.number,
        "amount_fen": after.amount_fen,
        "channel": after.channel.value,
        "packet_id": after.packet_id,
    }
    is_new = before is None or before.status is not after.status
    if after.status is PaymentStatus.PAID and after.credited_at_ms and is_new:
        yield Event(EventType.PAYMENT_PAID, after.number, after.credited_at_ms, told, users)
    if after.refunded_fen > (before.refunded_fen if before else 0):
        refunded = {
            **told,
            "refunded_fen": after.refunded_fen,
            "debited_fen": after.reversed_fen,
        }
        at_ms = after.refunded_at_ms or after.created_at_ms
        yield Event(EventType.PAYMENT_REFUNDED, after.number, at_ms, refunded, users)
