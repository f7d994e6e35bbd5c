"""Approval requests for changes above an operator's daily limit."""

from __future__ import annotations

import hashlib
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
    asked_of: Callable[[int], PendingChange],
    *,
    payee: User | None = None,
    approvals: DynamoApprovals,
    clock: Clock,
) -> Approval:
    """Return the pending approval of this change. Raises IdempotencyKeyReused.

    A request with an idempotency key keeps its outcome; a PUT may be repeated after a rejection.
    """
    now_ms, change = clock.now_ms(), asked_of(needed.version)
    for turn in range(_ASKED_AGAIN_MAX):
        named = f"{operator.user_id}\n{_word(change)}\n{turn}"
        approval = Approval(
            approval_id=hashlib.sha256(named.encode()).hexdigest()[:32],
            operator=operator.person,
            subject=needed.subject,
            amount_fen=needed.amount_fen,
            changes=needed.changes,
            change=change,
            asked_at_ms=now_ms,
        )
        users = [person for person in (operator.person, payee) if person]
        if approvals.ask(approval, users, _action(approval)):
            return approval
        existing = approvals.find_approval(approval.approval_id)
        if existing is None:
            continue
        if _body_hash(existing.change) != _body_hash(change):
            raise IdempotencyKeyReused
        ended = {ApprovalStatus.REJECTED, ApprovalStatus.EXPIRED}
        if _body_hash(change) or existing.status_at(now_ms) not in ended:
            return existing
    raise Unavailable("it was rejected too often: change it first")


def _word(change: PendingChange) -> str:
    if isinstance(change, Keyed):
        return f"{type(change).__name__} {change.key_hash}"
    return repr(change)


def _body_hash(change: PendingChange) -> str | None:
    return change.body_hash if isinstance(change, Keyed) else None


def _action(approval: Approval) -> Action:
    return Action(
        approval.operator,
        ActionKind.APPROVAL_ASKED,
        approval.subject,
        approval.asked_at_ms,
        approval.changes,
    )
