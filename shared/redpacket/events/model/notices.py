"""Notices about changes to packets, won units and withdrawals."""

from __future__ import annotations

from collections.abc import Iterator

from redpacket.events.model.events import (
    Change,
    Event,
    EventType,
    packet_events,
    withdrawal_events,
)
from redpacket.lottery.model.winners import Winner, WinnerStatus
from redpacket.packets.model.packet import Packet
from redpacket.payments.model.withdrawals import Withdrawal
from redpacket.users.model import NoticeKind, UserNotice

_OF_WITHDRAWALS = {
    EventType.WITHDRAWAL_PAID: NoticeKind.WITHDRAWAL_PAID,
    EventType.WITHDRAWAL_FAILED: NoticeKind.WITHDRAWAL_FAILED,
    EventType.WITHDRAWAL_CANCELLED: NoticeKind.WITHDRAWAL_FAILED,
}


def notices_of(change: Change) -> Iterator[UserNotice]:
    """Yield the notices of a change; the same change always produces the same notices."""
    match change.before, change.after:
        case Packet() | None as before, Packet() as packet:
            for event in packet_events(before, packet):
                if event.kind is EventType.PACKET_CLOSED:
                    yield from _of_closed(packet, event)
        case Withdrawal() | None as before, Withdrawal() as withdrawal:
            for event in withdrawal_events(before, withdrawal):
                kind = _OF_WITHDRAWALS[event.kind]
                user_id, amount_fen = withdrawal.user_id, withdrawal.amount_fen
                yield UserNotice(user_id, kind, event.at_ms, event.subject, amount_fen)
        case Winner() | None as before, Winner(decision=decision) as winner if decision:
            is_news = not (before and before.decision)
            if is_news and decision.status is WinnerStatus.HANDED_OVER:
                user_id, campaign_id = winner.user_id, winner.campaign_id
                kind, at_ms = NoticeKind.PRIZE_SENT, decision.at_ms
                yield UserNotice(user_id, kind, at_ms, campaign_id, part=winner.unit)


def _of_closed(packet: Packet, event: Event) -> Iterator[UserNotice]:
    """Yield the notices of a closed packet, with amounts; a campaign has no sender to notify."""
    end, at_ms, packet_id = packet.end, event.at_ms, packet.packet_id
    assert end
    if packet.rules.campaign_id is None:
        sender_id = packet.sender.user_id
        if packet.is_emptied:
            kind, amount_fen = NoticeKind.PACKET_EMPTIED, end.claimed_fen
            yield UserNotice(sender_id, kind, at_ms, packet_id, amount_fen)
        elif end.refunded_fen:
            kind, amount_fen = NoticeKind.PACKET_REFUNDED, end.refunded_fen
            yield UserNotice(sender_id, kind, at_ms, packet_id, amount_fen)
    best = end.luckiest
    if best and packet.has_luckiest:
        yield UserNotice(best.user_id, NoticeKind.BEST_LUCK, at_ms, packet_id, best.amount_fen)
