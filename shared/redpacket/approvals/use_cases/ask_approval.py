"""Approval requests for changes above an operator's daily limit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from redpacket.approvals.model import Approval, ApprovalStatus, Asked, DepositAsked, StockAsked
from redpacket.approvals.ports import Approvals
from redpacket.operations.model.allowances import ApprovalNeededError
from redpacket.operations.model.operators import Action, ActionKind, Operator
from redpacket.platform.errors import IdempotencyKeyReused, Unavailable
from redpacket.platform.runtime import Clock
from redpacket.platform.user import User

_ASKED_AGAIN_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AskPorts:
    """Ports of an approval request."""

    approvals: Approvals
    clock: Clock


def ask_approval(
    needed: ApprovalNeededError,
    operator: Operator,
    asked_of: Callable[[int], Asked],
    *,
    payee: User | None = None,
    ports: AskPorts,
) -> Approval:
    """Return the pending approval of this change. Raises IdempotencyKeyReused.

    A request with an idempotency key keeps its outcome; a PUT may be repeated after a rejection.
    """
    now_ms, asked = ports.clock.now_ms(), asked_of(needed.version)
    for turn in range(_ASKED_AGAIN_MAX):
        named = f"{operator.user_id}\n{_word(asked)}\n{turn}"
        approval = Approval(
            approval_id=hashlib.sha256(named.encode()).hexdigest()[:32],
            operator_id=operator.user_id,
            subject=needed.subject,
            amount_fen=needed.amount_fen,
            changes=needed.changes,
            asked=asked,
            asked_at_ms=now_ms,
        )
        people = [person for person in (operator.person, payee) if person]
        if ports.approvals.ask(approval, people, _action(approval)):
            return approval
        found = ports.approvals.find_approval(approval.approval_id)
        if found is None:
            continue
        if _body_hash(found.asked) != _body_hash(asked):
            raise IdempotencyKeyReused
        ended = {ApprovalStatus.REJECTED, ApprovalStatus.EXPIRED}
        if _body_hash(asked) or found.status_at(now_ms) not in ended:
            return found
    raise Unavailable("it was rejected too often: change it first")


def _word(asked: Asked) -> str:
    if isinstance(asked, DepositAsked | StockAsked):
        return f"{type(asked).__name__} {asked.key_hash}"
    return repr(asked)


def _body_hash(asked: Asked) -> str | None:
    return asked.body_hash if isinstance(asked, DepositAsked | StockAsked) else None


def _action(approval: Approval) -> Action:
    return Action(
        approval.operator_id,
        ActionKind.APPROVAL_ASKED,
        approval.subject,
        approval.asked_at_ms,
        approval.changes,
    )
