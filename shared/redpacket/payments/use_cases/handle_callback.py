"""Callback intake: verifying, queuing, and recording a notice. A callback moves no money."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.provider import ProviderEvent, ProviderEventKind
from redpacket.payments.model.withdrawals import withdrawal_of_transfer
from redpacket.payments.ports import CallbackVerifier, NoticeQueue, required
from redpacket.payments.use_cases.authorize import look_at_authorization
from redpacket.payments.use_cases.confirm_payment import confirm_payment
from redpacket.payments.use_cases.dependencies import (
    AuthorizationPorts,
    PaymentPorts,
    WithdrawalPorts,
)
from redpacket.payments.use_cases.return_payment import note_refund
from redpacket.payments.use_cases.transfer import sync_transfer
from redpacket.payments.use_cases.withdraw import withdraw_above
from redpacket.platform.bounds import MESSAGE_DELAY_S_MAX
from redpacket.platform.runtime import Clock

if TYPE_CHECKING:
    from redpacket.payments.dynamodb.payments import DynamoPayments

KEPT_MS = 3_600_000
"""Milliseconds for which redeliveries are recognized; old callbacks are rejected anyway."""


@dataclass(frozen=True, slots=True)
class CallbackPorts:
    """Dependencies of callbacks."""

    callbacks: Mapping[ProviderName, CallbackVerifier]
    queue: NoticeQueue
    repository: DynamoPayments
    clock: Clock


def handle_callback(
    channel: ProviderName, headers: Mapping[str, str], body: bytes, *, ports: CallbackPorts
) -> None:
    """Queue a callback's notice at least once.

    Raises ChannelUnavailable, SignatureInvalid, Unavailable. The notice is recorded last, so that
    after a crash the provider's retry is queued again.
    """
    now_ms = ports.clock.now_ms()
    notice = required(ports.callbacks, channel).read(headers, body, now_ms)
    if ports.repository.has_notice(channel, notice.notice_id):
        return
    ports.queue.put(channel, notice)
    ports.repository.note_notice(channel, notice.notice_id, now_ms + KEPT_MS)


def follow_notice(
    channel: ProviderName,
    notice: ProviderEvent,
    *,
    payments: PaymentPorts,
    withdrawals: WithdrawalPorts,
    authorizations: AuthorizationPorts,
    queue: NoticeQueue,
    may_withdraw: Callable[[], bool] = lambda: True,
) -> None:
    """Query the provider about a notice's subject, or pay out a balance. Raises Unavailable.

    While withdrawals are off, a balance notice is queued again, which resets its receive count.
    """
    if notice.kind is ProviderEventKind.AUTHORIZATION:
        look_at_authorization(notice.number, ports=authorizations)
    elif notice.kind is ProviderEventKind.BALANCE:
        if not may_withdraw():
            queue.put(channel, notice, delay_s=MESSAGE_DELAY_S_MAX)
            return
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
    channel: ProviderName,
    notice: ProviderEvent,
    *,
    payments: PaymentPorts,
    withdrawals: WithdrawalPorts,
) -> None:
    """Query the provider about a payment, refund, or transfer. Raises Unavailable."""
    if notice.kind is ProviderEventKind.PAYMENT:
        confirm_payment(notice.number, notice.outside_no, ports=payments)
    elif notice.kind is ProviderEventKind.REFUND:
        note_refund(channel, notice.number, ports=payments)
    elif notice.kind is ProviderEventKind.TRANSFER:
        sync_transfer(withdrawal_of_transfer(notice.number), ports=withdrawals)
