"""The door of reconciliation: every night by the schedule, and on demand by an operator."""

from typing import Any

from redpacket.edge import views, wiring
from redpacket.edge.api import ADMIN_SCOPE, Api, HttpAnswer, HttpRequest
from redpacket.edge.telemetry import logger

_ANSWER_WITHIN_MS = 25_000
"""API Gateway waits 30 seconds; a ledger that takes longer is compared at night."""

_RESERVE_MS = 30_000
"""Confirming the last candidates must end before the Lambda does."""

handler = Api()


@handler.route("POST /admin/reconcile")
def reconcile(request: HttpRequest) -> HttpAnswer:
    """Compare ledger, packets, cache and queue now."""
    request.require_scope(ADMIN_SCOPE)
    return HttpAnswer(views.reconciliation_view(wiring.reconcile(_ANSWER_WITHIN_MS)))


@handler.schedule
def reconcile_nightly(time_left_ms: int) -> dict[str, Any]:
    """Compare everything, and tell in the log what was compared."""
    report = views.reconciliation_view(wiring.reconcile(time_left_ms - _RESERVE_MS))
    logger().info("reconciled", extra=report)
    return report
