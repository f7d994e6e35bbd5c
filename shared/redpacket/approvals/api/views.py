"""Parameters and responses for approvals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from redpacket.approvals.api import summaries
from redpacket.approvals.api.summaries import UsersById
from redpacket.approvals.errors import ApprovalNotFound
from redpacket.approvals.model import APPROVAL_CURSOR, Approval, ApprovalStatus
from redpacket.containers import containers
from redpacket.platform.http.parameters import choice, cursor, path_id

if TYPE_CHECKING:
    from redpacket.approvals.api import answers as approvals

APPROVAL_ID = "[0-9a-f]{32}"
APPROVAL_COLUMNS = (
    *("approval_id", "kind", "status", "operator", "asked_by", "payee", "payee_user"),
    *("subject", "subject_user", "subject_name", "summary", "amount_fen"),
    *("version", "asked_at_ms", "decided_by", "decided_by_user", "decided_at_ms", "is_applied"),
    *("refusal", "changes"),
)

approval_cursor_of = cursor(APPROVAL_CURSOR)
approval_id_of = path_id(
    "approval_id", APPROVAL_ID, ApprovalNotFound, "Approval ID from the 202 response."
)
approval_status_of = choice("status", ApprovalStatus, "Only approvals with this status.")


def awaiting_view(approval: Approval, now_ms: int) -> approvals.AwaitingApproval:
    """Return the state of a requested change for its requester."""
    return {"approval_id": approval.approval_id, "status": approval.status_at(now_ms)}


def approval_views(listed: Sequence[Approval]) -> list[approvals.ListedApproval]:
    """Return approvals with the users' names."""
    paid_or_decided = [id_ for each in listed for id_ in (each.payee_id, each.decided_by) if id_]
    ids = [*summaries.ids_of(listed), *paid_or_decided]
    users = containers.users.profiles.list_users(ids)
    now_ms = containers.platform.clock.now_ms()
    return [approval_view(each, users, now_ms) for each in listed]


def approval_view(approval: Approval, users: UsersById, now_ms: int) -> approvals.ListedApproval:
    """Return an approval as shown to operators."""
    asked_by = summaries.named(approval.operator, users)
    decider, payee_id = approval.decider, approval.payee_id
    return {
        "approval_id": approval.approval_id,
        "kind": approval.kind,
        "status": approval.status_at(now_ms),
        "operator": asked_by,
        "asked_by": asked_by,
        "payee": payee_id,
        "payee_user": summaries.host_id(payee_id or "", users),
        **summaries.subject_of(approval.subject, users),
        "summary": summaries.approval_summary(approval, users),
        "amount_fen": approval.amount_fen,
        "version": approval.version,
        "changes": summaries.change_views(approval.changes, users),
        "asked_at_ms": approval.asked_at_ms,
        "decided_by": approval.decided_by,
        "decided_by_user": summaries.named(decider, users)["user"] if decider else None,
        "decided_at_ms": approval.decided_at_ms,
        "is_applied": approval.is_applied,
        "refusal": approval.refusal,
    }
