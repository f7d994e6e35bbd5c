"""Withdrawal: holding the amount and queuing a request for the provider."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redpacket.ledger.errors import InsufficientFunds
from redpacket.ledger.model import user_account
from redpacket.ledger.provider_name import ProviderName
from redpacket.payments.errors import (
    AmountTooLarge,
    AmountTooSmall,
    PayeeNotBound,
    WithdrawalLimitReached,
    WithdrawalNotFound,
)
from redpacket.payments.model.provider import Payee, statement_day
from redpacket.payments.model.withdrawals import FINAL, ID_LENGTH, Withdrawal, WithdrawalStatus
from redpacket.payments.ports import Payees
from redpacket.payments.use_cases.dependencies import PaymentPorts, WithdrawalPorts
from redpacket.payments.use_cases.return_payment import collect_owed
from redpacket.platform.errors import InvalidRequest, Rejected, Unavailable
from redpacket.platform.idempotency import Request

if TYPE_CHECKING:
    from redpacket.payments.dynamodb.lists import DynamoPaymentLists

LISTED_PER_PAGE = 50
"""Withdrawals per page for operators."""


@dataclass(frozen=True, slots=True)
class WithdrawalAsk:
    """A user's withdrawal request."""

    user_id: str
    amount_fen: int
    channel: ProviderName
    request: Request


def withdraw(
    ask: WithdrawalAsk, *, payees: Payees, ports: WithdrawalPorts, payments: PaymentPorts
) -> Withdrawal:
    """Return the request's withdrawal, created now or by an earlier call.

    Raises ChannelUnavailable, AmountTooSmall, AmountTooLarge, PayeeNotBound, InsufficientFunds,
    WithdrawalLimitReached, IdempotencyKeyReused, Busy, Unavailable. After Unavailable the money may
    be held; a retry returns the outcome.
    """
    try:
        provider = ports.provider(ask.channel)
        payee = _check(ask, payees, ports)
        if collect_owed(ask.user_id, ports=payments):
            raise InsufficientFunds(
                "Refunded payments left a debt. Deposit money to repay it first."
            )
    except Rejected:
        # I10: a retry gets the first answer, even if limits or bindings have changed.
        if first_id := ports.repository.find_held(ask.request):
            return _get(first_id, ports)
        raise
    now_ms = ports.clock.now_ms()
    withdrawal = Withdrawal(
        withdrawal_id=ask.request.id_of("withdrawal", ID_LENGTH),
        user_id=ask.user_id,
        amount_fen=ask.amount_fen,
        channel=ask.channel,
        payee=payee.account,
        authorization_no=payee.authorization_no,
        details=provider.details(),
        day=statement_day(now_ms),
        created_at_ms=now_ms,
        merchant=provider.merchant,
    )
    if first_id := ports.repository.hold(withdrawal, ask.request, ports.settings.limits):
        return _get(first_id, ports)
    return _promised(withdrawal, ports)


def withdraw_above(
    user_id: str,
    channel: ProviderName,
    cause: str,
    *,
    payees: Payees,
    ports: WithdrawalPorts,
    payments: PaymentPorts,
) -> Withdrawal | None:
    """Pay out a balance that has reached the threshold, or return None.

    Each *cause* leads to at most one payout. Payees who must confirm are skipped, because their
    money would be held until the confirmation.
    """
    above_fen = ports.settings.above_fen
    payee = payees.find(user_id, channel) if above_fen else None
    provider = ports.providers.get(channel)
    if not payee or not provider or (provider.needs_consent and not payee.authorization_no):
        return None
    balance_fen = payments.ledger.balance_fen(user_account(user_id))
    if balance_fen < max(above_fen, ports.settings.fen_min):
        return None
    key_hash = hashlib.sha256(f"automatic\n{user_id}\n{cause}".encode()).hexdigest()
    # Exclude the amount: a retry may read another balance but is the same request.
    request = Request(user_id, key_hash, key_hash)
    ask = WithdrawalAsk(user_id, min(balance_fen, ports.settings.fen_max), channel, request)
    try:
        return withdraw(ask, payees=payees, ports=ports, payments=payments)
    except Rejected as refusal:
        ports.logger.event("payout_left_out", code=refusal.code)
        return None


def list_withdrawals(
    user_id: str | None,
    status: WithdrawalStatus | None,
    cursor: str | None,
    *,
    ports: WithdrawalPorts,
    lists: DynamoPaymentLists,
) -> tuple[list[Withdrawal], str | None]:
    """Return a page of one user's withdrawals, or of all withdrawals that have not ended.

    Raises InvalidRequest for a final status without a user: no index lists all withdrawals.
    """
    if status in FINAL and user_id is None:
        raise InvalidRequest.of(
            "user", f"is required for the status {status}. Add the host's user id"
        )
    if user_id:
        page, more = ports.repository.list_of_user(user_id, cursor, LISTED_PER_PAGE)
    else:
        page, more = lists.list_pending_withdrawals(cursor, LISTED_PER_PAGE)
    return [each for each in page if status in {None, each.status}], more


def find_withdrawal(
    withdrawal_id: str, user_id: str | None, *, ports: WithdrawalPorts
) -> Withdrawal:
    """Return *user_id*'s withdrawal, or any user's if None. Raises WithdrawalNotFound."""
    withdrawal = ports.repository.find(withdrawal_id)
    if withdrawal is None or user_id not in {None, withdrawal.user_id}:
        raise WithdrawalNotFound
    return withdrawal


def _check(ask: WithdrawalAsk, payees: Payees, ports: WithdrawalPorts) -> Payee:
    """Return the payee, or reject the request before anything is held."""
    settings = ports.settings
    if ask.amount_fen < settings.fen_min:
        raise AmountTooSmall(
            f"Amount {ask.amount_fen} fen is below the minimum of {settings.fen_min} fen."
        )
    if ask.amount_fen > settings.fen_max:
        raise AmountTooLarge(
            f"Amount {ask.amount_fen} fen exceeds the limit of {settings.fen_max} fen."
        )
    if ask.amount_fen > settings.limits.fen_max:
        raise WithdrawalLimitReached(
            f"Amount {ask.amount_fen} fen exceeds the daily limit of {settings.limits.fen_max} fen."
        )
    payee = payees.find(ask.user_id, ask.channel)
    if payee is None:
        raise PayeeNotBound
    if ports.clock.now_ms() < payee.opens_at_ms:
        raise PayeeNotBound("Your linked account is new. Withdrawals to it open later.")
    return payee


def _promised(withdrawal: Withdrawal, ports: WithdrawalPorts) -> Withdrawal:
    """Add the expected time; the money is held, so a failure here must not fail the request."""
    try:
        expected_at_ms = ports.paces[withdrawal.channel].promise() + ports.settings.begins_within_ms
        ports.repository.promise(withdrawal.withdrawal_id, expected_at_ms)
    except Unavailable as error:
        ports.logger.failure("withdrawal_not_promised", error)
        expected_at_ms = withdrawal.created_at_ms
    return replace(withdrawal, expected_at_ms=expected_at_ms)


def _get(withdrawal_id: str, ports: WithdrawalPorts) -> Withdrawal:
    withdrawal = ports.repository.find(withdrawal_id)
    if withdrawal is None:
        raise Unavailable(f"the request's withdrawal {withdrawal_id} cannot be read")
    return withdrawal
