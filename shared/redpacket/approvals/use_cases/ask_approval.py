"""Approval requests for changes that an operator may not make alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from redpacket.approvals.model import (
    Approval,
    ApprovalStatus,
    Keyed,
    PendingChange,
)
from redpacket.operations.model.allowances import ApprovalNeededError
from redpacket.operations.model.operators import Action, ActionKind, Operator
from redpacket.platform.errors import IdempotencyKeyReused, Unavailable
from redpacket.platform.runtime import Clock
from redpacket.platform.user import User

if TYPE_CHECKING:
    from redpacket.approvals.dynamodb.approvals import DynamoApprovals

_ASKED_AGAIN_MAX = 20


def ask_approval(
    needed: ApprovalNeededError,
    operator: Operator,
    asked_of: Callable[[ApprovalNeededError], PendingChange],
    *,
    payee: User | None = None,
    approvals: DynamoApprovals,
    clock: Clock,
) -> Approval:
    """Request an approval, or return the existing one. Raises IdempotencyKeyReused.

    A repeated idempotency key returns the first approval. A PUT may be requested again after a
    rejection or expiry. Raises Unavailable after 20 rejected or expired requests.
    """
    now_ms, change = clock.now_ms(), asked_of(needed)
    for turn in range(_ASKED_AGAIN_MAX):
        question = f"{operator.user_id}\n{_word(change)}\n{turn}"
        request = Approval("", operator.person, needed.changes, change, now_ms)
        users = [person for person in (operator.person, payee) if person]
        if approval := approvals.ask(request, question, users, _action(request)):
            return approval
        existing = approvals.find_asked(question)
        if existing is None:
            continue
        if _body_hash(existing.change) != _body_hash(change):
            raise IdempotencyKeyReused
        ended = {ApprovalStatus.REJECTED, ApprovalStatus.EXPIRED}
        if _body_hash(change) or existing.status_at(now_ms) not in ended:
            return existing
    raise Unavailable("the same change was rejected too often: request a different one")


def _word(change: PendingChange) -> str:
    if isinstance(change, Keyed):
        return f"{type(change).__name__} {change.key_hash}"
    return repr(change)


def _body_hash(change: PendingChange | None) -> str | None:
    return change.body_hash if isinstance(change, Keyed) else None


def _action(approval: Approval) -> Action:
    return Action(
        approval.operator,
        ActionKind.APPROVAL_ASKED,
        approval.subject,
        approval.asked_at_ms,
        approval.changes,
    )
