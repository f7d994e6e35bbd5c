"""Repository of approvals and of operators' allowances, in ApprovalsTable.

An approval's id is a keyed hash of the request, so a later change of the request is detected. The
table's stream also reports changed rows.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
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
from redpacket.operations.dynamodb.audit_log import (
    changes_of,
    changes_text,
    note_action,
    operator_of,
    operator_row,
)
from redpacket.operations.model.allowances import Allowance
from redpacket.operations.model.operators import Action
from redpacket.platform.bounds import AT_MS_MAX, FEN_MAX
from redpacket.platform.dynamodb.client import Dynamo, Row, put, update
from redpacket.platform.dynamodb.lists import NewestFirst
from redpacket.platform.user import User, UserIds
from redpacket.users.dynamodb.profiles import note_user

IS_AWAITING = "attribute_exists(pk) AND attribute_not_exists(decided_by)"
"""A new row has no status, so functions that request approvals need no permission to set one."""

IS_APPROVED_AND_WAITS = "#status = :approved AND attribute_not_exists(is_applied)"
IS_NOT_REPEATED = "attribute_not_exists(is_repeated)"
WAS_APPROVED = "#status = :approved OR #status = :rejected AND attribute_exists(refusal)"


_SEALED = (
    *("operator_id", "operator_host_id", "changes", "kind", "asked", "asked_at_ms"),
    "question",
)
"""Attributes that the hash in an approval's id covers."""

_FIRST = {
    ApprovalKind.DEPOSIT: "0",
    ApprovalKind.CAMPAIGN_MONEY: "1",
    ApprovalKind.CAMPAIGN: "2",
    ApprovalKind.PRIZE: "3",
    ApprovalKind.STOCK: "4",
}
"""First digit of an id, by kind. A role may put only ids with the digits of its kinds."""


_BAD = ArithmeticError, KeyError, TypeError, ValueError
"""Errors from parsing a bad row. An unreadable sum counts as FEN_MAX, above every limit."""


class DynamoApprovals:
    """Repository of changes that need a second operator; it also implements Allowances."""

    def __init__(self, dynamo: Dynamo, user_ids: Callable[[], UserIds]) -> None:
        self._dynamo = dynamo
        self._user_ids = user_ids
        self._approvals = dynamo.tables.approvals
        self._audit_table = dynamo.tables.journal
        self._profiles = dynamo.tables.profiles

    def ask(
        self, request: Approval, question: str, users: Sequence[User], action: Action
    ) -> Approval | None:
        """Store *request* and *users*, log *action*, and return the request with its id.

        Return None if the same *question* already has an approval.
        """
        leads = self._question_key(question)
        row = {**_row(request), "question": leads["pk"]}
        approval = replace(request, approval_id=self._id_of(row))
        row |= {
            **operator_keys.approval(approval.approval_id),
            "list_sk": keys.list_position(approval.asked_at_ms, approval.approval_id),
        }
        noted = [row for person in users for row in note_user(self._profiles, person)]
        rows = [
            put(self._approvals, row),
            put(self._approvals, {**leads, "asked": approval.approval_id}),
        ]
        is_new = self._dynamo.try_transact([*rows, *noted, *note_action(self._audit_table, action)])
        return approval if is_new else None

    def find_asked(self, question: str) -> Approval | None:
        """Return the approval of an earlier identical *question*."""
        row = self._dynamo.get(self._approvals, self._question_key(question))
        return self.find_approval(str(row["asked"])) if row else None

    def find_approval(self, approval_id: str) -> Approval | None:
        """Return an approval."""
        row = self._dynamo.get(self._approvals, operator_keys.approval(approval_id))
        return self._approval_of(row) if row else None

    def list_approvals(self, cursor: str | None, limit: int) -> tuple[list[Approval], str | None]:
        """Return a page of approvals, newest first, and the next cursor; the page may lag."""
        lists = NewestFirst(self._dynamo, self._approvals, APPROVAL_CURSOR)
        page, more = lists.page(operator_keys.APPROVALS, cursor, limit)
        return [self._approval_of(row) for row in page], more

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
        """Record a retried application; return False if the change was applied or refused."""
        return self._mark(approval, "SET is_repeated = :yes", IS_APPROVED_AND_WAITS, yes=True)

    def mark_applied(self, approval: Approval) -> None:
        """Mark an approved change as applied.

        The mark overrides a concurrent call's refusal, so no applied change is shown as rejected.
        """
        self._mark(
            approval,
            "SET is_applied = :yes, #status = :approved REMOVE refusal",
            WAS_APPROVED,
            yes=True,
            rejected=ApprovalStatus.REJECTED,
        )

    def mark_refused(self, approval: Approval, code: str) -> None:
        """Reject an approved change that failed, unless another call applied or retried it."""
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
        try:
            sums = tuple((int(at_ms), int(fen)) for at_ms, fen in json.loads(str(row["sums"])))
            return Allowance(operator_id, subject, sums, int(row["version"]))
        except _BAD:
            return Allowance(operator_id, subject, ((AT_MS_MAX, FEN_MAX),))

    def find_moved_fen(self, owner: str, periods: Sequence[int]) -> dict[int, int]:
        wanted = [operator_keys.moved(owner, period) for period in periods]
        rows = self._dynamo.get_many(self._approvals, wanted, is_strong=True, only="pk, moved_fen")
        return {int(str(row["pk"]).rpartition("#")[2]): _moved_fen(row) for row in rows}

    def _question_key(self, question: str) -> dict[str, str]:
        return operator_keys.question(self._user_ids().seal("question", question))

    def _id_of(self, row: Row) -> str:
        sealed = json.dumps([row.get(name) for name in _SEALED], ensure_ascii=False, default=str)
        return (
            _FIRST[ApprovalKind(str(row["kind"]))] + self._user_ids().seal("approval", sealed)[1:]
        )

    def _approval_of(self, row: dict[str, Any]) -> Approval:
        """Parse a row; return a bad one as UNREADABLE, so that it does not hide the others.

        Ids from earlier releases prove nothing, so rows with such ids are read only if decided.
        """
        approval_id = str(row["pk"]).removeprefix(operator_keys.APPROVAL_PREFIX)
        is_verified = False
        try:
            is_verified = hmac.compare_digest(approval_id.encode(), self._id_of(row).encode())
            if is_verified or "decided_by" in row:
                return _parsed(approval_id, row, is_verified=is_verified)
        except _BAD:
            pass
        at_ms, operator = row.get("asked_at_ms"), User(str(row.get("operator_id", "unknown")))
        at_ms = at_ms if isinstance(at_ms, int) else 0
        return Approval(approval_id, operator, (), None, at_ms, is_verified=False)

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


def _moved_fen(row: dict[str, Any]) -> int:
    try:
        return int(row["moved_fen"])
    except _BAD:
        return FEN_MAX


def _row(approval: Approval) -> Row:
    return {
        "list_pk": operator_keys.APPROVALS,
        **operator_row(approval.operator),
        "changes": changes_text(approval.changes),
        "kind": approval.kind,
        "asked": _asked_text(approval.change),
        "asked_at_ms": approval.asked_at_ms,
    }


def _parsed(approval_id: str, row: dict[str, Any], *, is_verified: bool) -> Approval:
    decided_by, content = row.get("decided_by"), json.loads(row["asked"])
    if not is_verified:
        # Rows of earlier releases have the amount in a separate attribute, or no amount.
        content = {"amount_fen": row.get("amount_fen", 0), **content}
    approval = Approval(
        approval_id=approval_id,
        operator=operator_of(row),
        changes=changes_of(row["changes"]),
        change=_asked_of(ApprovalKind(row["kind"]), content),
        asked_at_ms=row["asked_at_ms"],
        status=ApprovalStatus(row.get("status", ApprovalStatus.AWAITING)),
        decider=User(decided_by, host_id=row.get("decider_host_id") or None)
        if decided_by
        else None,
        decided_at_ms=row.get("decided_at_ms"),
        is_applied=row.get("is_applied", False),
        refusal=row.get("refusal"),
        is_verified=is_verified,
    )
    operator, texts = approval.operator, (approval.payee_id or "", approval.decided_by or "")
    is_text = all(isinstance(text, str) for text in (operator.user_id, *texts))
    if not is_text or not all(
        isinstance(number, int) for number in (approval.amount_fen, approval.asked_at_ms)
    ):
        raise TypeError("an attribute has the wrong type")
    return approval


_OF_CAMPAIGN = ("budget_fen", "version", "amount_fen")


def _asked_text(change: PendingChange | None) -> str:
    if isinstance(change, CampaignAsked):
        kept: dict[str, Any] = {name: getattr(change, name) for name in _OF_CAMPAIGN}
        kept["plan"] = plan_row(change.plan)
    elif isinstance(change, PrizeAsked):
        kept = {**asdict(change), "plan": prize_text(change.plan)}
    else:
        assert change is not None
        kept = asdict(change)
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def _asked_of(kind: ApprovalKind, kept: dict[str, Any]) -> PendingChange:
    if kind is ApprovalKind.CAMPAIGN:
        return CampaignAsked(plan_of(kept["plan"]), *(kept[name] for name in _OF_CAMPAIGN))
    if kind is ApprovalKind.PRIZE:
        return PrizeAsked(prize_of(kept["plan"]), kept["version"], kept["amount_fen"])
    if kind is ApprovalKind.CAMPAIGN_MONEY:
        return CampaignMoneyAsked(**kept)
    return DepositAsked(**kept) if kind is ApprovalKind.DEPOSIT else StockAsked(**kept)
