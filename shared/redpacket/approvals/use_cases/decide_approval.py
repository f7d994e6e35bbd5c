"""Approval or rejection of another operator's change; an approved change is applied once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redpacket.approvals.errors import ApprovalNotFound, FourEyesNeeded
from redpacket.approvals.model import Approval, ApprovalStatus
from redpacket.operations.errors import NotAsApproved
from redpacket.operations.model.operators import Action, ActionKind, Change, Operator
from redpacket.platform.errors import Contended, Rejected, VersionConflict
from redpacket.platform.runtime import Clock

if TYPE_CHECKING:
    from redpacket.approvals.dynamodb.approvals import DynamoApprovals

_TRIES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidePorts:
    """Ports of a decision; *apply* applies the change once."""

    approvals: DynamoApprovals
    clock: Clock
    apply: Callable[[Approval], None]


def approve(approval_id: str, approver: Operator, *, ports: DecidePorts) -> Approval:
    """Approve and apply a change; a retry, even by another approver, completes the application.

    Raises ApprovalNotFound, FourEyesNeeded, NotAsApproved, VersionConflict, and errors of *apply*.
    """
    approval, is_mine = _decide(approval_id, approver, ApprovalStatus.APPROVED, ports)
    if approval.is_applied:
        return approval
    if not is_mine and not ports.approvals.note_repeat(approval):
        return _decide(approval_id, approver, ApprovalStatus.APPROVED, ports)[0]
    try:
        ports.apply(approval)
    except Rejected as error:
        # A retry records no refusal, because the first call's effects may have caused it.
        # After a retry, neither does the first call, because the retry may have applied the change.
        if is_mine:
            ports.approvals.mark_refused(approval, error.code)
        # Another call may have applied the change and so caused this failure.
        stored = ports.approvals.find_approval(approval_id)
        if stored and stored.is_applied:
            return stored
        raise
    applied = replace(approval, is_applied=True)
    ports.approvals.mark_applied(applied)
    return applied


def reject(approval_id: str, approver: Operator, *, ports: DecidePorts) -> Approval:
    """Reject and return the approval. Raises ApprovalNotFound, FourEyesNeeded, VersionConflict."""
    return _decide(approval_id, approver, ApprovalStatus.REJECTED, ports)[0]


def _decide(
    approval_id: str, approver: Operator, status: ApprovalStatus, ports: DecidePorts
) -> tuple[Approval, bool]:
    for _ in range(_TRIES):
        approval = ports.approvals.find_approval(approval_id)
        if approval is None:
            raise ApprovalNotFound
        if not approval.is_verified:
            raise NotAsApproved
        if approver.user_id in {approval.operator_id, approval.payee_id}:
            raise FourEyesNeeded
        now_ms = ports.clock.now_ms()
        stands = approval.status_at(now_ms)
        if stands is status:
            return approval, False
        if stands is not ApprovalStatus.AWAITING:
            raise VersionConflict(f"This approval is already {stands}.")
        decided = replace(approval, status=status, decider=approver.person, decided_at_ms=now_ms)
        if ports.approvals.decide(decided, _action(decided, approver, now_ms)):
            return decided, True
    raise Contended


def _action(decided: Approval, approver: Operator, now_ms: int) -> Action:
    return Action(
        approver.person,
        ActionKind.APPROVAL_DECIDED,
        decided.subject,
        now_ms,
        (
            Change("approval_id", decided.approval_id, decided.approval_id),
            Change("status", ApprovalStatus.AWAITING, decided.status),
            Change("amount_fen", str(decided.amount_fen), str(decided.amount_fen)),
        ),
    )
