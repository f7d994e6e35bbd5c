"""Changes that await a second operator, and each operator's allowance, in ApprovalsTable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from redpacket.approvals.model import (
    APPROVAL_CURSOR,
    Approval,
    ApprovalKind,
    ApprovalStatus,
    CampaignAsked,
    CampaignMoneyAsked,
    DepositAsked,
    PendingChange,
    PrizeAsked,
    StockAsked,
)
from redpacket.campaigns.dynamodb.items import plan_of, plan_row
from redpacket.ledger.dynamodb import keys
from redpacket.lottery.dynamodb.items import prize_of, prize_text
from redpacket.operations.dynamodb import keys as operator_keys
from redpacket.operations.dynamodb.audit_log import note_action, operator_of, operator_row
from redpacket.operations.model.allowances import Allowance
from redpacket.operations.model.operators import Action, Change
from redpacket.platform.dynamodb.client import Dynamo, Row, put, update
from redpacket.platform.dynamodb.lists import NewestFirst
from redpacket.platform.user import User
from redpacket.users.dynamodb.profiles import note_user

IS_AWAITING = "attribute_exists(pk) AND attribute_not_exists(decided_by)"
"""A new row has no status, so a function that asks for approvals needs no right to write one."""

IS_APPROVED_AND_WAITS = "#status = :approved AND attribute_not_exists(is_applied)"
IS_NOT_REPEATED = "attribute_not_exists(is_repeated)"
WAS_APPROVED = "#status = :approved OR #status = :rejected AND attribute_exists(refusal)"


class DynamoApprovals:
    """Changes that need a second operator; also the implementation of Allowances."""

    def __init__(self, dynamo: Dynamo) -> None:
        self._dynamo = dynamo
        self._approvals = dynamo.tables.approvals
        self._audit_table = dynamo.tables.journal
        self._profiles = dynamo.tables.profiles

    def ask(self, approval: Approval, users: Sequence[User], action: Action) -> bool:
        """Store an approval and *users*, and log *action*; return False if the id exists."""
        noted = [row for person in users for row in note_user(self._profiles, person)]
        return self._dynamo.try_transact(
            [put(self._approvals, _row(approval)), *noted, *note_action(self._audit_table, action)]
        )

    def find_approval(self, approval_id: str) -> Approval | None:
        """Return an approval."""
        row = self._dynamo.get(self._approvals, operator_keys.approval(approval_id))
        return _approval_of(row) if row else None

    def list_approvals(self, cursor: str | None, limit: int) -> tuple[list[Approval], str | None]:
        """Return a page of approvals, newest first, and the next cursor; it may lag."""
        lists = NewestFirst(self._dynamo, self._approvals, APPROVAL_CURSOR)
        page, more = lists.page(operator_keys.APPROVALS, cursor, limit)
        return [_approval_of(row) for row in page], more

    def decide(self, decided: Approval, action: Action) -> bool:
        """Store a decision; return False if the approval is no longer pending."""
        operation = update(
            self._approvals,
            operator_keys.approval(decided.approval_id),
            "SET #status = :status, decided_by = :by, decider_host_id = :host_id,"
            " decided_at_ms = :at_ms",
            condition=IS_AWAITING,
            status=decided.status,
            by=decided.decided_by or "",
            host_id=(decided.decider.host_id if decided.decider else None) or "",
            at_ms=decided.decided_at_ms or 0,
        )
        return self._dynamo.try_transact([operation, *note_action(self._audit_table, action)])

    def note_repeat(self, approval: Approval) -> bool:
        """Note a second call to apply; return False if the change was applied or refused."""
        return self._mark(approval, "SET is_repeated = :yes", IS_APPROVED_AND_WAITS, yes=True)

    def mark_applied(self, approval: Approval) -> None:
        """Mark an approved change as done, even if a concurrent call refused it."""
        # Overrides the refusal of a concurrent call: what was applied never reads as rejected.
        self._mark(
            approval,
            "SET is_applied = :yes, #status = :approved REMOVE refusal",
            WAS_APPROVED,
            yes=True,
            rejected=ApprovalStatus.REJECTED,
        )

    def mark_refused(self, approval: Approval, code: str) -> None:
        """Reject an approved change that failed, unless it was applied or repeated."""
        self._mark(
            approval,
            "SET #status = :rejected, refusal = :code",
            f"{IS_APPROVED_AND_WAITS} AND {IS_NOT_REPEATED}",
            rejected=ApprovalStatus.REJECTED,
            code=code,
        )

    def find_allowance(self, operator_id: str, subject: str) -> Allowance:
        row = self._dynamo.get(self._approvals, operator_keys.allowance(operator_id, subject))
        if row is None:
            return Allowance(operator_id, subject)
        sums = tuple((at_ms, fen) for at_ms, fen in json.loads(str(row["sums"])))
        return Allowance(operator_id, subject, sums, int(row["version"]))

    def find_moved_fen(self, owner: str, periods: Sequence[int]) -> dict[int, int]:
        wanted = [operator_keys.moved(owner, period) for period in periods]
        rows = self._dynamo.get_many(self._approvals, wanted, is_strong=True, only="pk, moved_fen")
        return {int(str(row["pk"]).rpartition("#")[2]): int(row["moved_fen"]) for row in rows}

    def _mark(
        self, approval: Approval, expression: str, condition: str, **named: str | bool
    ) -> bool:
        return self._dynamo.update(
            self._approvals,
            operator_keys.approval(approval.approval_id),
            expression,
            condition=condition,
            approved=ApprovalStatus.APPROVED,
            **named,
        )


def _row(approval: Approval) -> Row:
    position = keys.list_position(approval.asked_at_ms, approval.approval_id)
    return {
        **operator_keys.approval(approval.approval_id),
        "list_pk": operator_keys.APPROVALS,
        "list_sk": position,
        **operator_row(approval.operator),
        "subject": approval.subject,
        "amount_fen": approval.amount_fen,
        "changes": _text([asdict(change) for change in approval.changes]),
        "kind": approval.kind,
        "asked": _asked_text(approval.change),
        "asked_at_ms": approval.asked_at_ms,
    }


def _approval_of(row: dict[str, Any]) -> Approval:
    decided_by = row.get("decided_by")
    return Approval(
        approval_id=row["pk"].removeprefix(operator_keys.APPROVAL_PREFIX),
        operator=operator_of(row),
        subject=row["subject"],
        amount_fen=row["amount_fen"],
        changes=tuple(Change(**change) for change in json.loads(row["changes"])),
        change=_asked_of(ApprovalKind(row["kind"]), json.loads(row["asked"])),
        asked_at_ms=row["asked_at_ms"],
        status=ApprovalStatus(row.get("status", ApprovalStatus.AWAITING)),
        decider=User(decided_by, host_id=row.get("decider_host_id") or None)
        if decided_by
        else None,
        decided_at_ms=row.get("decided_at_ms"),
        is_applied=row.get("is_applied", False),
        refusal=row.get("refusal"),
    )


def _asked_text(change: PendingChange) -> str:
    if isinstance(change, CampaignAsked):
        edit = {"budget_fen": change.budget_fen, "version": change.version}
        return _text({"plan": plan_row(change.plan), **edit})
    if isinstance(change, PrizeAsked):
        return _text({"plan": prize_text(change.plan), "version": change.version})
    return _text(asdict(change))


def _asked_of(kind: ApprovalKind, kept: dict[str, Any]) -> PendingChange:
    if kind is ApprovalKind.CAMPAIGN:
        return CampaignAsked(plan_of(kept["plan"]), kept["budget_fen"], kept["version"])
    if kind is ApprovalKind.PRIZE:
        return PrizeAsked(prize_of(kept["plan"]), kept["version"])
    if kind is ApprovalKind.CAMPAIGN_MONEY:
        return CampaignMoneyAsked(**kept)
    return DepositAsked(**kept) if kind is ApprovalKind.DEPOSIT else StockAsked(**kept)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
