"""Reasons why a withdrawal waits, and next steps, as shown to operators."""

from __future__ import annotations

from typing import NamedTuple

from redpacket.payments.model.withdrawals import Stop, Withdrawal, WithdrawalStatus
from redpacket.payments.ports import QUERY_HORIZON_MS


class Waiting(NamedTuple):
    """Reason for a wait, and the next step; both are None after the withdrawal ends."""

    waits_for: str | None
    next_step: str | None


_MONEY_RETURNS = (
    "The money goes back to the user once the provider can no longer pay this transfer."
)
_STOPPED = {
    Stop.CANCELLED: Waiting(
        "the provider to cancel the transfer, as the user asked", _MONEY_RETURNS
    ),
    Stop.EXPIRED: Waiting(
        "the provider to cancel the transfer, which is 72 hours old", _MONEY_RETURNS
    ),
    Stop.REFUSED: Waiting("proof that the refused transfer was never made", _MONEY_RETURNS),
    Stop.NOT_AUTHORIZED: Waiting(
        "proof that the transfer was never made: the user's consent has ended",
        "A new transfer asks the user to confirm.",
    ),
}
_IN_FLIGHT = Waiting(
    "the provider's answer to a call", "The schedule queries the provider after the call."
)
_TO_CALL = Waiting(
    "the next call to the provider",
    "The schedule calls within a minute, or after NightWindow, the rate limit's queue or the"
    " provider's pause of at most 15 minutes. Otherwise, check the withdraw switch and"
    " TransferFunction's alarms. After a change of merchant, no call follows, and the money stays"
    " held until the old keys are back.",
)
_TO_CONFIRM = Waiting(
    "the user to confirm in the provider's app",
    "Ask the user to open the withdrawal and confirm. It is canceled after 72 hours.",
)
_TO_QUERY = Waiting(
    "the provider to finish the transfer",
    "The schedule queries the provider again, with the keys of the transfer's merchant.",
)
_FORGOTTEN = Waiting(
    "an operator: after 29 days a provider's NOT_FOUND proves nothing",
    "Look for the transfer in the provider's statements. See the runbook page `withdrawals-wait`.",
)
_UNLISTED = Waiting(
    "nothing: no work list contains it",
    "Run `redpacket reconcile`, and follow the runbook page `reconciliation-difference`.",
)


def explain_withdrawal(withdrawal: Withdrawal, now_ms: int) -> Waiting:
    """Return what a withdrawal waits for, and the next step."""
    if withdrawal.is_final:
        return Waiting(None, None)
    if not withdrawal.is_listed:
        return _UNLISTED
    if withdrawal.stop:
        is_known = now_ms < withdrawal.created_at_ms + QUERY_HORIZON_MS
        return _STOPPED[withdrawal.stop] if is_known else _FORGOTTEN
    if withdrawal.status is WithdrawalStatus.AWAITING_CONFIRMATION:
        return _TO_CONFIRM
    if withdrawal.status is WithdrawalStatus.QUEUED:
        return _TO_CALL
    return _IN_FLIGHT if now_ms < withdrawal.lease_until_ms else _TO_QUERY
