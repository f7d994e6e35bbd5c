"""Responses for payments, withdrawals and consents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

from redpacket.containers import containers
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.model.payments import PaymentStatus
from redpacket.payments.model.provider import Merchant
from redpacket.payments.model.withdrawals import WithdrawalStatus
from redpacket.payments.use_cases.explain_withdrawal import explain_withdrawal

if TYPE_CHECKING:
    from redpacket.payments.api import answers
    from redpacket.payments.model.payments import Payment, PaymentRefund, PaymentReturn
    from redpacket.payments.model.provider import Payee
    from redpacket.payments.model.withdrawals import Withdrawal
    from redpacket.platform.user import User

T = TypeVar("T")


def payment_view(payment: Payment) -> answers.Payment:
    """Return a payment, with its client parameters while it can be paid."""
    is_open = payment.shown_status is PaymentStatus.PENDING and payment.prompt
    prompt = json.loads(payment.prompt) if is_open else None
    view = {
        "payment_id": payment.number,
        "status": payment.shown_status,
        "amount_fen": payment.amount_fen,
        "channel": payment.channel,
        "expires_at_ms": payment.expires_at_ms,
        "refunded_fen": payment.refunded_fen,
        "packet_id": payment.packet_id,
    }
    return cast("answers.Payment", {**view, **by_channel(payment.channel, prompt, ProviderName)})


def by_channel(of: ProviderName, value: T, channels: Iterable[ProviderName]) -> dict[str, T | None]:
    """Return a field for each of *channels*: *value* for the channel *of*, None for the others."""
    return {channel.value: value if channel is of else None for channel in channels}


def withdrawal_view(withdrawal: Withdrawal) -> answers.Withdrawal:
    """Return a withdrawal with its provider's confirmation parameters."""
    is_asked = withdrawal.status is WithdrawalStatus.AWAITING_CONFIRMATION
    package = withdrawal.confirmation if is_asked else ""
    number = withdrawal.withdrawal_id
    providers = containers.providers.providers.items()
    confirming = [channel for channel, provider in providers if provider.confirms_transfers]
    confirmation = confirmation_view(withdrawal.merchant, package, number)
    view = {
        "withdrawal_id": withdrawal.withdrawal_id,
        "status": withdrawal.status,
        "amount_fen": withdrawal.amount_fen,
        "channel": withdrawal.channel,
        "created_at_ms": withdrawal.created_at_ms,
        "expected_at_ms": withdrawal.expected_at_ms,
        "reason": withdrawal.reason,
    }
    fields = by_channel(withdrawal.channel, confirmation, confirming)
    return cast("answers.Withdrawal", {**view, **fields})


def listed_withdrawals(withdrawals: Sequence[Withdrawal]) -> list[answers.ListedWithdrawal]:
    """Return withdrawals for operators, with the reason why each one waits."""
    users = containers.users.profiles.list_users([each.user_id for each in withdrawals])
    now_ms = containers.platform.clock.now_ms()
    return [_listed_view(each, users.get(each.user_id), now_ms) for each in withdrawals]


def withdrawal_details(withdrawal: Withdrawal) -> answers.WithdrawalDetails:
    """Return a withdrawal for operators, with the provider's last answers."""
    (listed,) = listed_withdrawals([withdrawal])
    return {
        **listed,
        "transfer_no": withdrawal.transfer_no,
        "call_count": withdrawal.call_count,
        "lease_until_ms": withdrawal.lease_until_ms,
        "reason": withdrawal.reason,
        "calls": [{"at_ms": each.at_ms, "answer": each.answer} for each in withdrawal.calls],
    }


def _listed_view(
    withdrawal: Withdrawal, user: User | None, now_ms: int
) -> answers.ListedWithdrawal:
    explanation = explain_withdrawal(withdrawal, now_ms)
    return {
        "withdrawal_id": withdrawal.withdrawal_id,
        "status": withdrawal.status,
        "amount_fen": withdrawal.amount_fen,
        "channel": withdrawal.channel,
        "user": user.host_id if user else None,
        "user_token": withdrawal.user_id,
        "created_at_ms": withdrawal.created_at_ms,
        "waits_for": explanation.waits_for,
        "next_step": explanation.next_step,
        "next_at_ms": withdrawal.next_at_ms,
    }


def binding_view(payee: Payee | None) -> answers.Binding:
    """Return a user's linked account, with a short hash that changes if the account changes."""
    if payee is None:
        return {"is_bound": False, "account": None, "bound_at_ms": None, "opens_at_ms": None}
    return {
        "is_bound": True,
        "account": payee.account.name_hash[:8],
        "bound_at_ms": payee.bound_at_ms,
        "opens_at_ms": max(payee.bound_at_ms, payee.opens_at_ms),
    }


def confirmation_view(merchant: Merchant, sealed: str, number: str) -> answers.Confirmation | None:
    """Return the parameters for confirming a withdrawal or consent, or None if there are none."""
    package = containers.providers.prompts.open_text(sealed, number) if sealed else None
    if not package:
        return None
    return {"app_id": merchant.app_id, "mch_id": merchant.mch_id, "package": package}


def listed_return_view(returned: PaymentReturn) -> answers.ListedReturn:
    """Return a transaction that waits for an operator."""
    return {
        "payment_id": returned.number,
        "transaction_id": returned.transaction_id,
        "channel": returned.channel,
        "amount_fen": returned.amount_fen,
        "reason": returned.reason,
        "noted_at_ms": returned.noted_at_ms,
    }


def debt_views(debts: Sequence[tuple[PaymentRefund, int]]) -> list[answers.Debt]:
    """Return refunds that left a debt, with the users' host ids."""
    users = containers.users.profiles.list_users([refund.user_id for refund, _ in debts])
    return [debt_view(*debt, users.get(debt[0].user_id)) for debt in debts]


def debt_view(refund: PaymentRefund, debt_fen: int, user: User | None) -> answers.Debt:
    """Return a refund that left a debt."""
    return {
        "user": user.host_id if user else None,
        "user_token": refund.user_id,
        "payment_id": refund.number,
        "refund_no": refund.refund_no,
        "owed_fen": refund.owed_fen,
        "debt_fen": debt_fen,
        "noted_at_ms": refund.noted_at_ms,
    }
