"""Transfer: calling and querying the provider for a withdrawal, and posting or returning money.

A worker may call only within its lease. Money is returned only after a provider's answer proves
that the transfer will never be paid (payments/model/withdrawals.py::judge, I6). Our rows alone
prove nothing, because a restore may have rolled them back.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from redpacket.payments.errors import NotCancellable, ProviderChanged
from redpacket.payments.model.provider import TransferFound, TransferState
from redpacket.payments.model.withdrawals import (
    CANCELS,
    GIVEN_UP_AFTER_MS,
    GONE,
    LEASE_MS,
    NextAction,
    ProviderAnswer,
    Stop,
    Withdrawal,
    WithdrawalStatus,
    judge,
    settled_after_ms,
)
from redpacket.payments.ports import QUERY_HORIZON_MS, PayoutProvider
from redpacket.payments.use_cases.dependencies import WithdrawalPorts
from redpacket.payments.use_cases.withdraw import find_withdrawal
from redpacket.platform.errors import Contended, InvariantViolated, Unavailable

_FIRST_LOOK_MS = 5_000

LOOK_PAUSE_MS_MAX = 30 * 60_000
"""Maximum milliseconds between two queries until the provider's horizon."""

_FORGOTTEN_PAUSE_MS = 12 * 3_600_000
"""Milliseconds between two queries after the horizon, when NOT_FOUND proves nothing."""

_CALL_PAUSE_MS = 60_000
"""Milliseconds until the next call after a temporary refusal."""

_LATE_MS = 3_600_000
"""Milliseconds after the expected call at which a withdrawal without a result is reported."""

_ANSWER_LENGTH_MAX = 100

_TRIES = 5


class Called(StrEnum):
    """Result of a call as a sign of the provider's health, whatever the transfer's outcome."""

    ANSWERED = "answered"
    FAILED = "failed"
    NOT_MADE = "not_made"


def call_transfer(withdrawal_id: str, *, ports: WithdrawalPorts) -> Called:
    """Call the provider for a pending withdrawal."""
    clock = ports.clock
    seen = ports.repository.find(withdrawal_id)
    if seen is None or seen.is_final or seen.stop:
        return Called.NOT_MADE
    now_ms = clock.now_ms()
    if now_ms >= seen.created_at_ms + GIVEN_UP_AFTER_MS:
        _give_up(seen, ports)
        return Called.NOT_MADE
    provider = _provider_of(seen, now_ms, ports)
    leased = ports.repository.lease(seen, now_ms + LEASE_MS, now_ms)
    if leased is None:
        return Called.NOT_MADE
    # Check last: a worker that stalled past its lease must not pay.
    if clock.now_ms() >= leased.lease_until_ms:
        return Called.NOT_MADE
    try:
        transfer = provider.transfer(leased.order)
    except Unavailable as error:
        # The outcome is unknown. The sweep queries the provider after the lease.
        ports.logger.failure("transfer_unknown", error, transfer_no=leased.transfer_no)
        _note(leased, "no answer", ports)
        return Called.FAILED
    next_action = apply_answer(leased, transfer, provider, ports)
    return Called.FAILED if next_action is NextAction.CALL_LATER else Called.ANSWERED


def sync_transfer(withdrawal_id: str, *, ports: WithdrawalPorts) -> Withdrawal | None:
    """Query the provider unless a call is in flight, and update the ledger. Raises Unavailable."""
    seen = ports.repository.find(withdrawal_id)
    if seen is None or seen.is_final:
        return seen
    now_ms = ports.clock.now_ms()
    if now_ms < seen.lease_until_ms and not _is_answered(seen):
        return seen
    if now_ms >= seen.created_at_ms + GIVEN_UP_AFTER_MS and seen.stop not in CANCELS:
        stopped = _give_up(seen, ports)
        if stopped is None:
            return ports.repository.find(withdrawal_id)
        seen = stopped
    # Reschedule first, so that a failed query or a crash does not block the other rows.
    ports.repository.look_again(seen, _next_look_ms(seen, now_ms))
    provider = ports.provider_of(seen)
    transfer = provider.query(seen.transfer_no)
    if transfer.state is TransferState.NOT_FOUND and ports.repository.end_returned(
        seen, transfer, WithdrawalStatus.FAILED
    ):
        # The money was already returned, so a call would pay it twice.
        return ports.repository.find(withdrawal_id)
    if transfer.state in GONE and _has_next(seen, provider):
        # A restore reset the row to its state before the second transfer.
        ports.repository.renumber(seen, now_ms)
        return ports.repository.find(withdrawal_id)
    next_action = apply_answer(seen, transfer, provider, ports)
    if next_action is NextAction.AWAIT and not _is_answered(seen):
        # The call's response was lost. Repeat the call, as a query may omit the confirmation data.
        ports.repository.call_again(seen, max(now_ms, seen.lease_until_ms))
    return ports.repository.find(withdrawal_id)


def cancel_withdrawal(withdrawal_id: str, user_id: str, *, ports: WithdrawalPorts) -> Withdrawal:
    """Stop calls for a withdrawal; the sweep queries the provider and ends the withdrawal.

    Raises WithdrawalNotFound, NotCancellable, Unavailable.
    """
    for _ in range(_TRIES):
        seen = find_withdrawal(withdrawal_id, user_id, ports=ports)
        if seen.stop is Stop.CANCELLED or seen.status is WithdrawalStatus.CANCELLED:
            return seen
        if seen.is_final or seen.stop is Stop.EXPIRED:
            raise NotCancellable(f"This withdrawal is {seen.status} and cannot be canceled.")
        look_at_ms = max(ports.clock.now_ms(), seen.lease_until_ms)
        if stopped := ports.repository.stop(seen, Stop.CANCELLED, "cancelled", look_at_ms):
            return stopped
    raise Contended


def _give_up(seen: Withdrawal, ports: WithdrawalPorts) -> Withdrawal | None:
    """Stop calls for an overdue withdrawal; return None if it has changed."""
    look_at_ms = max(ports.clock.now_ms(), seen.lease_until_ms)
    return ports.repository.stop(seen, Stop.EXPIRED, "given_up", look_at_ms)


def _has_next(seen: Withdrawal, provider: PayoutProvider) -> bool:
    """Return whether the provider has the transfer that replaces a transfer with consent."""
    if not seen.authorization_no:
        return False
    return provider.query(seen.next_transfer_no).state is not TransferState.NOT_FOUND


def _provider_of(seen: Withdrawal, now_ms: int, ports: WithdrawalPorts) -> PayoutProvider:
    try:
        return ports.provider_of(seen)
    except ProviderChanged:
        # Reschedule the withdrawal, so that it does not block the others.
        ports.repository.call_again(seen, now_ms + _CALL_PAUSE_MS)
        raise


def apply_answer(
    seen: Withdrawal, transfer: TransferFound, provider: PayoutProvider, ports: WithdrawalPorts
) -> NextAction:
    """Change the ledger and the row according to an answer. Raises InvariantViolated."""
    repository, now_ms, settling_ms = ports.repository, ports.clock.now_ms(), provider.settling_ms
    _note(seen, " ".join(filter(None, (transfer.state, transfer.refusal, transfer.reason))), ports)
    try:
        next_action = judge(seen, transfer, now_ms, settling_ms, provider.query_horizon_ms)
    except InvariantViolated as error:
        ports.logger.failure("transfer_mismatched", error, transfer_no=seen.transfer_no)
        raise
    if next_action in _WAITS and now_ms >= max(seen.created_at_ms, seen.expected_at_ms) + _LATE_MS:
        ports.logger.event("transfer_late", transfer_no=seen.transfer_no)
    if next_action in _ENDINGS:
        _end(seen, transfer, next_action, now_ms, ports)
    elif next_action in _CALLS:
        _call_again(seen, next_action, ports)
    elif next_action in _STOPS:
        look_at_ms = settled_after_ms(seen, settling_ms)
        if next_action is NextAction.STOP_NOT_AUTHORIZED and seen.authorization_no:
            # The refusal is a hint: the sweep queries the consent.
            ports.consents.doubt(seen.user_id, seen.channel, seen.authorization_no, now_ms)
        repository.stop(seen, _STOPS[next_action], transfer.reason, look_at_ms)
    elif next_action is NextAction.AWAIT:
        repository.await_confirmation(
            seen, _sealed(transfer, seen, ports), _next_look_ms(seen, now_ms)
        )
    elif next_action is NextAction.ASK_TO_CANCEL:
        provider.cancel(seen.transfer_no)
        repository.look_again(seen, now_ms + _FIRST_LOOK_MS)
    else:
        again_ms = _next_look_ms(seen, now_ms)
        settled_ms = settled_after_ms(seen, settling_ms)
        if transfer.state is TransferState.NOT_FOUND and now_ms < settled_ms:
            again_ms = settled_ms
        on_its_way = replace(seen, status=WithdrawalStatus.PROCESSING)
        repository.look_again(on_its_way, max(again_ms, seen.lease_until_ms))
    return next_action


def _note(seen: Withdrawal, answer: str, ports: WithdrawalPorts) -> None:
    """Store an answer for operators; a failure must not delay the money."""
    kept = " ".join(answer.split())[:_ANSWER_LENGTH_MAX]
    try:
        ports.repository.note_call(seen, ProviderAnswer(ports.clock.now_ms(), kept))
    except (Contended, Unavailable) as error:
        ports.logger.failure("answer_not_kept", error, transfer_no=seen.transfer_no)


def _sealed(transfer: TransferFound, seen: Withdrawal, ports: WithdrawalPorts) -> TransferFound:
    if not transfer.confirmation:
        return transfer
    sealed = ports.prompts.seal_text(transfer.confirmation, seen.withdrawal_id)
    return replace(transfer, confirmation=sealed)


def _is_answered(seen: Withdrawal) -> bool:
    return seen.status is WithdrawalStatus.AWAITING_CONFIRMATION


def _end(
    seen: Withdrawal,
    transfer: TransferFound,
    next_action: NextAction,
    now_ms: int,
    ports: WithdrawalPorts,
) -> None:
    if next_action is NextAction.POST:
        if ports.repository.post(seen, transfer, now_ms):
            ports.logger.event("withdrawal_paid", channel=seen.channel)
            ports.logger.count("withdrawn")
        return
    is_cancelled = next_action is NextAction.RETURN_CANCELLED
    if ports.repository.refund(seen, transfer, is_cancelled=is_cancelled, now_ms=now_ms):
        ports.logger.event("withdrawal_returned", channel=seen.channel)


def _call_again(seen: Withdrawal, next_action: NextAction, ports: WithdrawalPorts) -> None:
    now_ms = ports.clock.now_ms()
    if next_action is NextAction.NEW_NUMBER:
        ports.repository.renumber(seen, now_ms)
    elif next_action is NextAction.CALL:
        ports.repository.call_again(seen, now_ms)
    else:
        ports.repository.call_again(seen, max(now_ms + _CALL_PAUSE_MS, seen.lease_until_ms))


_ENDINGS = frozenset({NextAction.POST, NextAction.RETURN_FAILED, NextAction.RETURN_CANCELLED})
_CALLS = frozenset({NextAction.CALL, NextAction.CALL_LATER, NextAction.NEW_NUMBER})
_WAITS = _CALLS | {NextAction.LOOK, NextAction.ASK_TO_CANCEL}
_STOPS = {
    NextAction.STOP_REFUSED: Stop.REFUSED,
    NextAction.STOP_NOT_AUTHORIZED: Stop.NOT_AUTHORIZED,
}


def _next_look_ms(seen: Withdrawal, now_ms: int) -> int:
    if now_ms >= seen.created_at_ms + QUERY_HORIZON_MS:
        return now_ms + _FORGOTTEN_PAUSE_MS
    pause_ms = min(max(_FIRST_LOOK_MS, (now_ms - seen.created_at_ms) // 4), LOOK_PAUSE_MS_MAX)
    return now_ms + pause_ms
