"""Payments and withdrawals as their owners see them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from redpacket.domain.authorization import AuthorizationStatus
from redpacket.domain.gateway import Channel
from redpacket.domain.payments import PaymentStatus
from redpacket.domain.withdrawals import WithdrawalStatus
from redpacket.edge.wiring import wiring

if TYPE_CHECKING:
    from redpacket.domain.authorization import Authorization
    from redpacket.domain.payments import Payment, PaymentRefund, PaymentReturn
    from redpacket.domain.withdrawals import Withdrawal
    from redpacket.edge.answers import payments as answers


def payment_view(payment: Payment) -> answers.Payment:
    """Show a payer their payment, and while it can be paid what their client needs."""
    is_open = payment.shown_status is PaymentStatus.PENDING and payment.prompt
    prompt = json.loads(payment.prompt) if is_open else None
    return {
        "payment_id": payment.number,
        "status": payment.shown_status,
        "amount_fen": payment.amount_fen,
        "channel": payment.channel,
        "expires_at_ms": payment.expires_at_ms,
        "refunded_fen": payment.refunded_fen,
        "packet_id": payment.packet_id,
        "wechat": prompt if payment.channel is Channel.WECHAT else None,
        "host": prompt if payment.channel is Channel.HOST else None,
    }


def withdrawal_view(withdrawal: Withdrawal) -> answers.Withdrawal:
    """Show a user their withdrawal, and what confirms it at WeChat."""
    is_asked = withdrawal.status is WithdrawalStatus.AWAITING_CONFIRMATION
    return {
        "withdrawal_id": withdrawal.withdrawal_id,
        "status": withdrawal.status,
        "amount_fen": withdrawal.amount_fen,
        "channel": withdrawal.channel,
        "created_at_ms": withdrawal.created_at_ms,
        "expected_at_ms": withdrawal.expected_at_ms,
        "reason": withdrawal.reason,
        "wechat": confirmation_view(withdrawal.confirmation)
        if is_asked and withdrawal.channel is Channel.WECHAT
        else None,
    }


def confirmation_view(package: str) -> answers.Confirmation | None:
    """Show what a client passes to WeChat for a user to confirm; None without a *package*."""
    if not package:
        return None
    merchant = wiring.merchant_of(Channel.WECHAT)
    return {"app_id": merchant.app_id, "mch_id": merchant.mch_id, "package": package}


def consent_view(consent: Authorization | None) -> answers.Consent:
    """Show a user their consent, and what asks for it at WeChat; none is a closed one."""
    if consent is None:
        return {"status": AuthorizationStatus.CLOSED, "wechat": None}
    is_asked = consent.status is AuthorizationStatus.AWAITING_CONFIRMATION
    return {
        "status": consent.status,
        "wechat": confirmation_view(consent.confirmation) if is_asked else None,
    }


def listed_return_view(returned: PaymentReturn) -> answers.ListedReturn:
    """Show an operator a transaction that waits for a person."""
    return {
        "payment_id": returned.number,
        "transaction_id": returned.transaction_id,
        "channel": returned.channel,
        "amount_fen": returned.amount_fen,
        "reason": returned.reason,
        "noted_at_ms": returned.noted_at_ms,
    }


def debt_view(refund: PaymentRefund, debt_fen: int) -> answers.Debt:
    """Show an operator a refund whose user owes money."""
    return {
        "user_token": refund.user_id,
        "payment_id": refund.number,
        "refund_no": refund.refund_no,
        "owed_fen": refund.owed_fen,
        "debt_fen": debt_fen,
        "noted_at_ms": refund.noted_at_ms,
    }
