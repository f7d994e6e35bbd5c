"""HTTP handler for approvals: one operator's request waits for another operator's decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from redpacket.approvals.api.operator_lists import list_limit_of
from redpacket.approvals.api.views import (
    APPROVAL_COLUMNS,
    approval_cursor_of,
    approval_id_of,
    approval_status_of,
    approval_views,
)
from redpacket.approvals.errors import ApprovalNotFound, FourEyesNeeded
from redpacket.approvals.use_cases import decide_approval
from redpacket.campaigns.errors import CampaignEnded, CampaignNotFound
from redpacket.containers import containers
from redpacket.ledger.errors import InsufficientFunds
from redpacket.operations.api.reads import noted_read
from redpacket.operations.api.scopes import TREASURERS, TREASURY_READERS, operator_of
from redpacket.packets.api.packet_refs import without_ids
from redpacket.platform.errors import Busy, InvalidRequest, VersionConflict
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest

if TYPE_CHECKING:
    from redpacket.approvals.api.answers import ApprovalPage, ListedApproval

_DECIDING = (ApprovalNotFound, FourEyesNeeded, VersionConflict)

handler = Api()


@handler.route(
    "GET /admin/approvals",
    parameters=(approval_status_of, approval_cursor_of, list_limit_of),
    scopes=TREASURY_READERS,
    csv=APPROVAL_COLUMNS,
)
def read_approvals(request: HttpRequest) -> HttpAnswer[ApprovalPage]:
    """List pending and decided approvals, newest first."""
    page, cursor = containers.editing.approvals.list_approvals(
        approval_cursor_of(request), list_limit_of(request)
    )
    status, now_ms = approval_status_of(request), containers.platform.clock.now_ms()
    listed = [approval for approval in page if status in {None, approval.status_at(now_ms)}]
    items = noted_read(request, "approvals", approval_views(listed), status=status)
    view: ApprovalPage = {"items": items, "next": cursor}
    return HttpAnswer(without_ids(request, view))


@handler.route(
    "POST /admin/approvals/{approval_id}/approve",
    parameters=(approval_id_of,),
    scopes=TREASURERS,
    refusals=(*_DECIDING, CampaignNotFound, CampaignEnded, InsufficientFunds, InvalidRequest, Busy),
)
def approve(request: HttpRequest) -> HttpAnswer[ListedApproval]:
    """Approve another operator's request; it is applied immediately, and only once."""
    approval = decide_approval.approve(
        approval_id_of(request), operator_of(request), ports=containers.operators.decide_ports
    )
    return HttpAnswer(approval_views([approval])[0])


@handler.route(
    "POST /admin/approvals/{approval_id}/reject",
    parameters=(approval_id_of,),
    scopes=TREASURERS,
    refusals=_DECIDING,
)
def reject(request: HttpRequest) -> HttpAnswer[ListedApproval]:
    """Reject another operator's request."""
    approval = decide_approval.reject(
        approval_id_of(request), operator_of(request), ports=containers.operators.decide_ports
    )
    return HttpAnswer(approval_views([approval])[0])
