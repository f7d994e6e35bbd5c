"""The door of reconciliation: every night by the schedule, and on demand by an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redpacket.domain.errors import Unavailable
from redpacket.edge import views
from redpacket.edge.api import Api, HttpAnswer
from redpacket.edge.asking import note_reconcile
from redpacket.edge.request import HttpRequest
from redpacket.edge.scopes import AUDITORS
from redpacket.edge.telemetry import logger
from redpacket.edge.wiring import wiring

if TYPE_CHECKING:
    from redpacket.edge.answers.operators import Reconciliation

_ANSWER_WITHIN_MS = 25_000
"""API Gateway waits 30 seconds; a larger ledger is compared on by the schedule."""

_RESERVE_MS = 30_000
"""The page that is being read must end before the Lambda does."""

handler = Api()


@handler.route("POST /admin/reconcile", scopes=AUDITORS, refusals=(Unavailable,))
def reconcile(request: HttpRequest) -> HttpAnswer[Reconciliation]:
    """Compare ledger, packets, cache and queue now, or go on with the comparison there is."""
    note_reconcile(request)
    return HttpAnswer(views.reconciliation_view(wiring.reconcile(_ANSWER_WITHIN_MS)))


@handler.schedule
def reconcile_nightly(time_left_ms: int, event: dict[str, Any]) -> Reconciliation:
    """Compare everything, and tell in the log what was compared.

    What began and is not over is taken up by the schedule that says so; it begins nothing.
    """
    may_begin = event.get("begin") is not False
    found = wiring.reconcile(time_left_ms - _RESERVE_MS, may_begin=may_begin)
    report = views.reconciliation_view(found)
    if not found.is_idle:
        logger().info("reconciled", extra=report)
    return report
