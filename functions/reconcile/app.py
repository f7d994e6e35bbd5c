"""Handler for reconciliation: operators' requests, and three steps of the state machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redpacket.approvals.api.approval_gate import note_reconcile
from redpacket.containers import containers
from redpacket.operations.api.scopes import AUDITORS
from redpacket.packets.api.packet_refs import without_ids
from redpacket.platform.http.api import Api, HttpAnswer
from redpacket.platform.http.request import HttpRequest
from redpacket.platform.settings import settings
from redpacket.reconciliation.api.views import reconciliation_view, run_id_of
from redpacket.reconciliation.errors import RunNotFound
from redpacket.reconciliation.use_cases.reconcile import reconcile
from redpacket.reconciliation.use_cases.runs import (
    batches,
    find_run,
    last_result,
    plan_export,
    read_sums,
    report_views,
    stale_databases,
    start_run,
)
from redpacket.reconciliation.use_cases.statements import Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redpacket.reconciliation.api.answers import Reconciliation, StartedRun

_RESERVE_MS = 60_000
"""Milliseconds reserved for the running audit to end before the function's timeout."""

handler = Api()


@handler.route("POST /admin/reconcile", scopes=AUDITORS, statuses=(202,))
def start_reconciliation(request: HttpRequest) -> HttpAnswer[StartedRun]:
    """Start a reconciliation, or return the id of the running one."""
    note_reconcile(request)
    return HttpAnswer(
        {
            "run_id": start_run(
                containers.platform.new_seed(16).hex(), runs=containers.reconciliation.runs
            )
        }
    )


@handler.route(
    "GET /admin/reconcile/{run_id}",
    parameters=(run_id_of,),
    scopes=AUDITORS,
    refusals=(RunNotFound,),
)
def read_reconciliation(request: HttpRequest) -> HttpAnswer[Reconciliation]:
    """Show a reconciliation's progress, and the rows and differences of each check."""
    run = find_run(run_id_of(request), runs=containers.reconciliation.runs)
    return HttpAnswer(without_ids(request, reconciliation_view(run)))


@handler.schedule
def step(time_left_ms: int, event: dict[str, Any]) -> Mapping[str, Any]:
    """Plan the next export, return its queries, or run the checks and return the result."""
    reconciliation, clock = containers.reconciliation, containers.platform.clock
    database, first = event["database"], event.get("first")
    if "asked_at_ms" in event:
        before = {} if event["is_full"] else first or last_result(runs=reconciliation.runs)
        return plan_export(
            event["asked_at_ms"],
            before,
            window_min_ms=event["window_min_ms"],
            is_second=bool(first),
        )
    export = event["export"]
    has_receipts = reconciliation.audits.ledger.list_receipts([]) is not None
    run = Run(
        event["run_id"],
        export["exported_at_ms"],
        has_receipts=has_receipts,
        base=export["base"],
        alone_fen=settings.approval_fen[2],
    )
    if "places" in event:
        return {
            "batches": batches(run, event["places"]),
            "views": report_views(run, database, event["reports"]),
        }
    engine = reconciliation.engine(database)
    result = reconcile(
        run,
        read_sums(
            {query["name"]: engine.result(query["query_id"])[0] for query in event["queries"]}
        ),
        engine=engine,
        audits=reconciliation.audits,
        before=last_result(runs=reconciliation.runs),
        stop_at_ms=clock.now_ms() + time_left_ms - _RESERVE_MS,
        first=first,
    )
    if first or not result.differences:
        result.report(containers.platform.logger)
    result.export = export
    stale = stale_databases(run.run_id, database, runs=reconciliation.runs)
    return {**result.stored, "stale": stale}
