"""What operators see of what waits for another one."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from redpacket.domain.approvals import ApprovalKind, ApprovalStatus
from redpacket.edge.answers.lists import ActionChange
from redpacket.edge.answers.values import AtMs, Next, SumFen, UserToken, Word

ApprovalId = Annotated[
    str, Field(pattern="^[0-9a-f]{32}$", examples=["0f8c1f2a9d3b4c5e6f708192a3b4c5d6"])
]
ApprovalState = Annotated[
    ApprovalStatus, Field(description="`expired` after 72 hours without a decision.")
]


class AwaitingApproval(TypedDict):
    """It is above what an operator may move alone in a day: another one must approve it."""

    approval_id: ApprovalId
    status: ApprovalState


class ListedApproval(TypedDict):
    """What waits for another operator, and what they decided."""

    approval_id: ApprovalId
    kind: Annotated[ApprovalKind, Field(description="What was asked for.")]
    status: ApprovalState
    operator: Annotated[UserToken, Field(description="Who asked.")]
    payee: Annotated[UserToken | None, Field(description="Who gets a deposit; null for others.")]
    subject: Annotated[Word, Field(description="As in the journal.", examples=["user:FxwabzlgU"])]
    amount_fen: Annotated[SumFen, Field(description="The money that it moves.", examples=[888])]
    version: Annotated[
        int | None,
        Field(
            ge=0,
            description="The version that it applies to, another one by now refuses it; "
            "0 for something new, null for a deposit.",
            examples=[1],
        ),
    ]
    changes: Annotated[list[ActionChange], Field(description="What it changes.")]
    asked_at_ms: AtMs
    decided_by: Annotated[UserToken | None, Field(description="Null while it waits.")]
    decided_at_ms: AtMs | None
    is_applied: Annotated[bool, Field(description="Whether it is done.")]
    refusal: Annotated[
        str | None,
        Field(
            description="The problem code by which it was refused after it was approved.",
            examples=[None],
        ),
    ]


class ApprovalPage(TypedDict):
    """A page of approvals, newest first; it may be short, or empty, and go on."""

    items: Annotated[list[ListedApproval], Field(description="The page.")]
    next: Next
