"""Response types for approvals."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.approvals.api.list_answers import (
    ActionChange,
    NamedSubject,
    OperatorName,
    Summary,
)
from redpacket.approvals.model import ApprovalKind, ApprovalStatus
from redpacket.platform.http.answer_fields import AtMs, HostId, Next, SumFen, UserToken
from redpacket.platform.http.bodies import about

ApprovalId = Annotated[
    str, Field(pattern="^[0-9a-f]{32}$", examples=["0f8c1f2a9d3b4c5e6f708192a3b4c5d6"])
]
ApprovalState = Annotated[ApprovalStatus, about("`expired` after 72 hours without a decision.")]


class AwaitingApproval(TypedDict):
    """Another operator must approve the change, in most cases because it exceeds a daily limit."""

    approval_id: ApprovalId
    status: ApprovalState


class ListedApproval(NamedSubject):
    """Approval as shown to operators, with the decision."""

    approval_id: ApprovalId
    kind: Annotated[ApprovalKind, about("Kind of the requested change.")]
    status: ApprovalState
    operator: Annotated[OperatorName, about("Operator who requested the change, as in `asked_by`.")]
    asked_by: OperatorName
    payee: Annotated[
        UserToken | None, about("User who receives the money; null if the change pays no user.")
    ]
    payee_user: HostId
    summary: Summary
    amount_fen: Annotated[SumFen, about("Amount that the change moves.", 888)]
    version: Annotated[
        int | None,
        about(
            "Version to which the change applies; an approval is refused if the version has "
            "changed. 0 for a creation, null if the change moves money to a user.",
            1,
            ge=0,
        ),
    ]
    changes: Annotated[list[ActionChange], about("Fields that the change affects.")]
    asked_at_ms: AtMs
    decided_by: Annotated[
        UserToken | None, about("Operator who made the decision; null if nobody has decided.")
    ]
    decided_by_user: HostId
    decided_at_ms: AtMs | None
    is_applied: Annotated[bool, about("Whether the change is applied.")]
    refusal: Annotated[
        str | None, about("Problem code if the approved change failed; otherwise null.", None)
    ]


class ApprovalPage(TypedDict):
    """Page of approvals, newest first; it may be short or empty even if more pages follow."""

    items: Annotated[list[ListedApproval], about("Items on this page.")]
    next: Next
