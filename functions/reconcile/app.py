"""Handler for reconciliation: every night by schedule, and on demand for an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redpacket.approvals.api.approval_gate import note_reconcile
from redpacket.containers import containers
from redpacket.operations.api.scopes import AUDITORS
from redpacket.packets.api import views
from redpacket.platform.errors import Unavailable
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest
from redpacket.platform.telemetry import logger

if TYPE_CHECKING:
    from redpacket.operations.api.answers import Reconciliation

_ANSWER_WITHIN_MS = 25_000
"""API Gateway waits 30 seconds; a larger ledger is compared on by the schedule."""

_RESERVE_MS = 30_000
"""The page that is being read must end before the Lambda does."""

handler = Api()


@handler.route("POST /admin/reconcile", scopes=AUDITORS, refusals=(Unavailable,))
def reconcile(request: HttpRequest) -> HttpAnswer[Reconciliation]:
    """Compare ledger, packets, cache and queue now, or go on with the comparison there is."""
    note_reconcile(request)
    return HttpAnswer(
        views.reconciliation_view(containers.reconciliation.reconcile(_ANSWER_WITHIN_MS))
    )


@handler.schedule
def reconcile_nightly(time_left_ms: int, event: dict[str, Any]) -> Reconciliation:
    """Compare everything, and tell in the log what was compared.

    What began and is not over is taken up by the schedule that says so; it begins nothing.
    """
    may_begin = event.get("begin") is not False
    found = containers.reconciliation.reconcile(time_left_ms - _RESERVE_MS, may_begin=may_begin)
    report = views.reconciliation_view(found)
    if not found.is_idle:
        logger().info("reconciled", extra=report)
    return report
