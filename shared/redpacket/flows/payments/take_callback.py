"""Callback intake: verify, queue a notice, and record it. A callback moves no money."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from redpacket.domain.gateway import Channel, Notice, NoticeKind
from redpacket.domain.withdrawals import withdrawal_of_bill
from redpacket.flows.payments.authorization_ports import AuthorizationPorts
from redpacket.flows.payments.authorize import look_at_authorization
from redpacket.flows.payments.confirm_payment import confirm_payment
from redpacket.flows.payments.payment_ports import PaymentPorts
from redpacket.flows.payments.return_payment import note_refund
from redpacket.flows.payments.transfer import look_at_transfer
from redpacket.flows.payments.withdraw import withdraw_above
from redpacket.flows.payments.withdrawal_ports import WithdrawalPorts
from redpacket.ports.gateways import Callbacks, NoticeQueue
from redpacket.ports.payments import PaymentBook
from redpacket.ports.runtime import Clock

KEPT_MS = 3_600_000
"""Milliseconds that a callback is deduplicated; one older than five minutes is rejected."""


def take_callback(
    channel: Channel,
    headers: Mapping[str, str],
    body: bytes,
    *,
    callbacks: Callbacks,
    queue: NoticeQueue,
    book: PaymentBook,
    clock: Clock,
) -> None:
    """Queue a callback's notice at least once. Raises SignatureInvalid, Unavailable.

    Recorded last, so the gateway's retry counts after a crash in between.
    """
    now_ms = clock.now_ms()
    notice = callbacks.read(headers, body, now_ms)
    if book.has_notice(channel, notice.notice_id):
        return
    queue.put(channel, notice)
    book.note_notice(channel, notice.notice_id, now_ms + KEPT_MS)


def follow_notice(
    channel: Channel,
    notice: Notice,
    *,
    payments: PaymentPorts,
    withdrawals: WithdrawalPorts,
    authorizations: AuthorizationPorts,
    may_withdraw: Callable[[], bool] = lambda: True,
) -> None:
    """Query the gateway for a notice's subject. Raises Unavailable."""
    if notice.kind is NoticeKind.AUTHORIZATION:
        look_at_authorization(notice.number, ports=authorizations)
    elif notice.kind is NoticeKind.BALANCE:
        if may_withdraw():
            withdraw_above(
                notice.number,
                channel,
                notice.outside_no,
                payees=authorizations.payees,
                ports=withdrawals,
                payments=payments,
            )
    else:
        follow_money(channel, notice, payments=payments, withdrawals=withdrawals)


def follow_money(
    channel: Channel, notice: Notice, *, payments: PaymentPorts, withdrawals: WithdrawalPorts
) -> None:
    """Query the gateway for a payment, refund, or transfer. Raises Unavailable."""
    if notice.kind is NoticeKind.PAYMENT:
        confirm_payment(notice.number, notice.outside_no, ports=payments)
    elif notice.kind is NoticeKind.REFUND:
        note_refund(channel, notice.number, ports=payments)
    elif notice.kind is NoticeKind.TRANSFER:
        look_at_transfer(withdrawal_of_bill(notice.number), ports=withdrawals)
