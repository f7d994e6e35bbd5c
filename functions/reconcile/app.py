"""Handler of reconciliation: operators' requests, and two steps of the state machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redpacket.approvals.api.approval_gate import note_reconcile
from redpacket.approvals.api.operator_lists import run_id_of
from redpacket.containers import containers
from redpacket.operations.api.scopes import AUDITORS
from redpacket.packets.api import views
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest
from redpacket.reconciliation.errors import RunNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redpacket.operations.api.answers import Reconciliation, StartedRun

_RESERVE_MS = 60_000
"""The audit that has begun must end before the Lambda does."""

handler = Api()


@handler.route("POST /admin/reconcile", scopes=AUDITORS, statuses=(202,))
def start_reconciliation(request: HttpRequest) -> HttpAnswer[StartedRun]:
    """Start a comparison of all tables; while one runs, answer its id."""
    note_reconcile(request)
    return HttpAnswer({"run_id": containers.reconciliation.start_run()})


@handler.route(
    "GET /admin/reconcile/{run_id}",
    parameters=(run_id_of,),
    scopes=AUDITORS,
    refusals=(RunNotFound,),
)
def read_reconciliation(request: HttpRequest) -> HttpAnswer[Reconciliation]:
    """Read how a comparison stands, and what each check looked at and found."""
    found = containers.reconciliation.find_run(run_id_of(request))
    return HttpAnswer(views.reconciliation_view(found))


@handler.schedule
def step(time_left_ms: int, event: dict[str, Any]) -> Mapping[str, Any]:
    """Return the queries of an export, or the result of a run whose checks have run."""
    return containers.reconciliation.take_step(event, time_left_ms - _RESERVE_MS)
