"""The door of reconciliation: every night by the schedule, and on demand by an operator."""

from typing import Any

from redpacket.edge import views, wiring
from redpacket.edge.api import ADMIN_SCOPE, Api, HttpAnswer, HttpRequest
from redpacket.edge.telemetry import logger

_ANSWER_WITHIN_MS = 25_000
"""API Gateway waits 30 seconds; a larger ledger is compared on by the schedule."""

_RESERVE_MS = 30_000
"""The page that is being read must end before the Lambda does."""

handler = Api()


@handler.route("POST /admin/reconcile")
def reconcile(request: HttpRequest) -> HttpAnswer:
    """Compare ledger, packets, cache and queue now, or go on with the comparison there is."""
    request.require_scope(ADMIN_SCOPE)
    return HttpAnswer(views.reconciliation_view(wiring.reconcile(_ANSWER_WITHIN_MS)))


@handler.schedule
def reconcile_nightly(time_left_ms: int, event: dict[str, Any]) -> dict[str, Any]:
    """Compare everything, and tell in the log what was compared.

    What began and is not over is taken up by the schedule that says so; it begins nothing.
    """
    may_begin = event.get("begin") is not False
    found = wiring.reconcile(time_left_ms - _RESERVE_MS, may_begin=may_begin)
    report = views.reconciliation_view(found)
    if not found.is_idle:
        logger().info("reconciled", extra=report)
    return report
